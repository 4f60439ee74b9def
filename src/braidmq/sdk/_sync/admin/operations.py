# Made by tools/unasync.py from ../_async: change it there.
"""Running nodes: alarms, figures, settings, inspections, reports, the audit log, instances and connections."""

from collections.abc import Generator
from typing import Any

import msgspec

from braidmq.sdk._requests import given, if_match, new_key
from braidmq.sdk._sync.admin._asking import Asking
from braidmq.sdk._targets import path_of
from braidmq.sdk.views import (
    Alarm,
    ArchivedMessages,
    AuditEntry,
    ConnectionView,
    InstanceView,
    LiveEvent,
    NodeSetting,
    NodeView,
    Overview,
    Page,
    Report,
    ReportLine,
    Reports,
    RuleView,
    SamplesView,
    Silence,
    Silences,
    Tested,
)


class NodeOperations(Asking):
    """A part of `Admin`: see there."""

    def listen_to_events(self) -> Generator[LiveEvent, None]:
        """Rates, lag and alarms, once a second, until the node stops or the iterator is closed. Raises
        TooManyListeners, Unreachable."""
        for content in self._transport.events(path_of("events")):
            yield msgspec.json.decode(content, type=LiveEvent)

    def list_alarms(
        self, *, state: str = "", search: str = "", sort: str = "", page: int = 1, page_size: int = 50
    ) -> Page[Alarm]:
        """What fires and what has ended, the latest first."""
        return self._transport.ask(
            Page[Alarm],
            "GET",
            path_of("alarms"),
            query={"state": state, "search": search, "sort": sort, "page": page, "page_size": page_size},
        )

    def list_alarm_rules(
        self, *, search: str = "", sort: str = "", page: int = 1, page_size: int = 50
    ) -> Page[RuleView]:
        """What counts as wrong."""
        return self._transport.ask(
            Page[RuleView],
            "GET",
            path_of("alarms", "rules"),
            query={"search": search, "sort": sort, "page": page, "page_size": page_size},
        )

    def create_alarm_rule(
        self,
        name: str,
        kind: str,
        *,
        threshold: float = 0.0,
        for_s: int = 0,
        scope: str = "*",
        severity: str = "warning",
        notify: list[str] | None = None,
        enabled: bool = True,
        description: str = "",
    ) -> RuleView:
        """Make a rule."""
        return self._transport.ask(
            RuleView,
            "POST",
            path_of("alarms", "rules"),
            body=given(
                {
                    "name": name,
                    "kind": kind,
                    "threshold": threshold,
                    "for_s": for_s,
                    "scope": scope,
                    "severity": severity,
                    "notify": notify,
                    "enabled": enabled,
                    "description": description,
                }
            ),
            key=new_key(),
        )

    def describe_alarm_rule(self, name: str) -> RuleView:
        """One rule."""
        return self._transport.ask(RuleView, "GET", path_of("alarms", "rules", name))

    def save_alarm_rule(
        self,
        name: str,
        kind: str,
        *,
        threshold: float = 0.0,
        for_s: int = 0,
        scope: str = "*",
        severity: str = "warning",
        notify: list[str] | None = None,
        enabled: bool = True,
        description: str = "",
    ) -> RuleView:
        """Make or replace a rule."""
        return self._transport.ask(
            RuleView,
            "PUT",
            path_of("alarms", "rules", name),
            body=given(
                {
                    "name": name,
                    "kind": kind,
                    "threshold": threshold,
                    "for_s": for_s,
                    "scope": scope,
                    "severity": severity,
                    "notify": notify,
                    "enabled": enabled,
                    "description": description,
                }
            ),
        )

    def delete_alarm_rule(self, name: str) -> None:
        """Forget a rule; what it has found is over."""
        self._transport.ask(type(None), "DELETE", path_of("alarms", "rules", name))

    def test_alarm_rule(self, name: str) -> Tested:
        """Send a test to all that the rule tells, and say what became of each."""
        return self._transport.ask(Tested, "POST", path_of("alarms", "rules", name, "test"), key=new_key())

    def list_silences(self) -> Silences:
        """Of what nobody is told at the moment."""
        return self._transport.ask(Silences, "GET", path_of("alarms", "silences"))

    def create_silence(self, reason: str, until_ms: int, *, rule: str = "*", subject: str = "*") -> Silence:
        """Tell nobody of something until a time."""
        return self._transport.ask(
            Silence,
            "POST",
            path_of("alarms", "silences"),
            body=given({"reason": reason, "until_ms": until_ms, "rule": rule, "subject": subject}),
            key=new_key(),
        )

    def end_silence(self, id: str) -> None:
        """End a silence before its time."""
        self._transport.ask(type(None), "DELETE", path_of("alarms", "silences", id))

    def list_audit(
        self,
        *,
        search: str = "",
        actor: str = "",
        from_ms: int = 0,
        until_ms: int = 9007199254740992,
        page: int = 1,
        page_size: int = 50,
    ) -> Page[AuditEntry]:
        """Who changed what, the latest first."""
        return self._transport.ask(
            Page[AuditEntry],
            "GET",
            path_of("audit"),
            query={
                "search": search,
                "actor": actor,
                "from_ms": from_ms,
                "until_ms": until_ms,
                "page": page,
                "page_size": page_size,
            },
        )

    def list_connections(
        self,
        *,
        search: str = "",
        sort: str = "",
        page: int = 1,
        page_size: int = 50,
        protocol: str = "",
        instance: str = "",
    ) -> Page[ConnectionView]:
        """All connections to the node, or those that work in an instance; sorted by client_id, protocol, address,
        since or last_seen."""
        return self._transport.ask(
            Page[ConnectionView],
            "GET",
            path_of("connections"),
            query={
                "search": search,
                "sort": sort,
                "page": page,
                "page_size": page_size,
                "protocol": protocol,
                "instance": instance,
            },
        )

    def find_archived_messages(
        self,
        *,
        id: str = "",
        key: str = "",
        topic: str = "",
        from_ms: int | None = None,
        until_ms: int | None = None,
        limit: int = 50,
    ) -> ArchivedMessages:
        """Find archived messages by id, key or topic."""
        return self._transport.ask(
            ArchivedMessages,
            "GET",
            path_of("archive", "messages"),
            query={
                "id": id,
                "key": key,
                "topic": topic,
                "from_ms": from_ms,
                "until_ms": until_ms,
                "limit": limit,
                "instance": self._instance,
            },
        )

    def list_reports(self) -> Reports:
        """The reports that can be had."""
        return self._transport.ask(Reports, "GET", path_of("reports"))

    def describe_report(
        self, name: str, *, from_ms: int | None = None, until_ms: int | None = None, pressure: bool = False
    ) -> dict[str, Any]:
        """One report, of its own span or another."""
        return self._transport.ask(
            dict[str, Any],
            "GET",
            path_of("reports", name),
            query={"from_ms": from_ms, "until_ms": until_ms, "pressure": pressure},
        )

    def list_inspections(
        self, *, search: str = "", sort: str = "", page: int = 1, page_size: int = 50
    ) -> Page[ReportLine]:
        """The last hundred inspections, the latest first."""
        return self._transport.ask(
            Page[ReportLine],
            "GET",
            path_of("inspections"),
            query={"search": search, "sort": sort, "page": page, "page_size": page_size},
        )

    def create_inspection(self) -> Report:
        """Inspect the node now."""
        return self._transport.ask(Report, "POST", path_of("inspections"), key=new_key())

    def describe_inspection(self, id: str) -> Report:
        """One inspection with all that it found."""
        return self._transport.ask(Report, "GET", path_of("inspections", id))

    def list_instances(
        self, *, search: str = "", sort: str = "", page: int = 1, page_size: int = 50
    ) -> Page[InstanceView]:
        """All instances; sorted by name."""
        return self._transport.ask(
            Page[InstanceView],
            "GET",
            path_of("instances"),
            query={"search": search, "sort": sort, "page": page, "page_size": page_size},
        )

    def create_instance(self, name: str, *, description: str = "") -> InstanceView:
        """Make an instance."""
        return self._transport.ask(
            InstanceView,
            "POST",
            path_of("instances"),
            body=given({"name": name, "description": description}),
            key=new_key(),
        )

    def describe_instance(self, name: str) -> InstanceView:
        """One instance."""
        return self._transport.ask(InstanceView, "GET", path_of("instances", name))

    def delete_instance(self, name: str, *, dry_run: bool = False) -> InstanceView:
        """Delete an instance without topics, with its groups and subscriptions."""
        return self._transport.ask(InstanceView, "DELETE", path_of("instances", name), query={"dry_run": dry_run})

    def overview(self) -> Overview:
        """How much there is, comes and goes, and what needs somebody."""
        return self._transport.ask(Overview, "GET", path_of("overview"))

    def list_nodes(self) -> list[NodeView]:
        """The nodes that there are, and where they listen."""
        return self._transport.ask(list[NodeView], "GET", path_of("nodes"))

    def list_samples(
        self,
        *,
        names: str = "",
        topic: str = "",
        group: str = "",
        from_ms: int = -1,
        until_ms: int = -1,
        step_s: int = 0,
        maximum: bool = False,
    ) -> SamplesView:
        """Figures of the node, a topic or a group over the last day."""
        return self._transport.ask(
            SamplesView,
            "GET",
            path_of("samples"),
            query={
                "names": names,
                "topic": topic,
                "group": group,
                "instance": self._instance,
                "from_ms": from_ms,
                "until_ms": until_ms,
                "step_s": step_s,
                "maximum": maximum,
            },
        )

    def list_settings(
        self, *, search: str = "", sort: str = "", page: int = 1, page_size: int = 1000
    ) -> Page[NodeSetting]:
        """Every setting of this node."""
        return self._transport.ask(
            Page[NodeSetting],
            "GET",
            path_of("settings"),
            query={"search": search, "sort": sort, "page": page, "page_size": page_size},
        )

    def describe_setting(self, key: str) -> NodeSetting:
        """One setting."""
        return self._transport.ask(NodeSetting, "GET", path_of("settings", key))

    def save_setting(self, key: str, value: str, *, etag: str | None = None) -> NodeSetting:
        """Have all nodes go by a value."""
        return self._transport.ask(
            NodeSetting, "PUT", path_of("settings", key), body=given({"value": value}), headers=if_match(etag)
        )

    def delete_setting(self, key: str, *, etag: str | None = None) -> NodeSetting:
        """Have each node go by what it was started with."""
        return self._transport.ask(NodeSetting, "DELETE", path_of("settings", key), headers=if_match(etag))
