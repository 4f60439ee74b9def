# Made by tools/unasync.py from ../_async: change it there.
"""Groups, how far they are, and what they want."""

from braidmq.model import FilterKind
from braidmq.sdk._requests import given, new_key
from braidmq.sdk._sync.admin._asking import Asking
from braidmq.sdk._targets import path_of
from braidmq.sdk.views import (
    DifferenceView,
    GroupDeleted,
    GroupDetail,
    GroupItem,
    GroupMember,
    Moves,
    OffsetView,
    Page,
    StackTrace,
    SubscriptionView,
    Verified,
)


class GroupOperations(Asking):
    """A part of `Admin`: see there."""

    def list_groups(
        self, *, search: str = "", sort: str = "", page: int = 1, page_size: int = 50, internal: bool = False
    ) -> Page[GroupItem]:
        """All groups; sorted by name, lag, members, topics, rate_out or in_flight."""
        return self._transport.ask(
            Page[GroupItem],
            "GET",
            path_of("groups"),
            query={
                "search": search,
                "sort": sort,
                "page": page,
                "page_size": page_size,
                "internal": internal,
                "instance": self._instance,
            },
        )

    def create_group(
        self,
        name: str,
        *,
        attempts_max: int = 16,
        ordered: bool = False,
        broadcast: bool = False,
        settings: dict[str, str] | None = None,
    ) -> GroupDetail:
        """Make a group."""
        return self._transport.ask(
            GroupDetail,
            "POST",
            path_of("groups"),
            query={"instance": self._instance},
            body=given(
                {
                    "name": name,
                    "attempts_max": attempts_max,
                    "ordered": ordered,
                    "broadcast": broadcast,
                    "settings": settings,
                }
            ),
            key=new_key(),
        )

    def describe_group(self, name: str) -> GroupDetail:
        """One group."""
        return self._transport.ask(GroupDetail, "GET", path_of("groups", name), query={"instance": self._instance})

    def change_group(
        self,
        name: str,
        *,
        attempts_max: int | None = None,
        ordered: bool | None = None,
        broadcast: bool | None = None,
        settings: dict[str, str | None] | None = None,
    ) -> GroupDetail:
        """Change what a group may do."""
        return self._transport.ask(
            GroupDetail,
            "PATCH",
            path_of("groups", name),
            query={"instance": self._instance},
            body=given(
                {"attempts_max": attempts_max, "ordered": ordered, "broadcast": broadcast, "settings": settings}
            ),
        )

    def delete_group(self, name: str, *, dry_run: bool = False) -> GroupDeleted:
        """Delete a group without members, with its offsets and subscriptions."""
        return self._transport.ask(
            GroupDeleted, "DELETE", path_of("groups", name), query={"instance": self._instance, "dry_run": dry_run}
        )

    def pause_group(self, name: str) -> GroupDetail:
        """Give a group's members nothing for now."""
        return self._transport.ask(
            GroupDetail, "POST", path_of("groups", name, "pause"), query={"instance": self._instance}, key=new_key()
        )

    def resume_group(self, name: str) -> GroupDetail:
        """Let a paused group go on where it was."""
        return self._transport.ask(
            GroupDetail, "POST", path_of("groups", name, "resume"), query={"instance": self._instance}, key=new_key()
        )

    def list_members(self, name: str) -> list[GroupMember]:
        """Live members on every protocol."""
        return self._transport.ask(
            list[GroupMember], "GET", path_of("groups", name, "members"), query={"instance": self._instance}
        )

    def print_stack_trace(self, name: str, client_id: str, *, wait_s: float = 10.0) -> StackTrace:
        """Ask a member of a RocketMQ protocol what its threads do."""
        return self._transport.ask(
            StackTrace,
            "POST",
            path_of("groups", name, "members", client_id, "stack-trace"),
            query={"wait_s": wait_s},
            wait_s=wait_s,
        )

    def verify_message(
        self, name: str, client_id: str, topic: str, partition: int, offset: int, *, wait_s: float = 10.0
    ) -> Verified:
        """Let a push consumer of a RocketMQ protocol try one message, and hear what it made of it."""
        return self._transport.ask(
            Verified,
            "POST",
            path_of("groups", name, "members", client_id, "verify"),
            query={"wait_s": wait_s, "instance": self._instance},
            body={"topic": topic, "partition": partition, "offset": offset},
            wait_s=wait_s,
        )

    def list_differences(self, name: str) -> list[DifferenceView]:
        """Where members of a group do not want the same."""
        return self._transport.ask(list[DifferenceView], "GET", path_of("groups", name, "differences"))

    def list_offsets(self, name: str, *, topic: str = "") -> list[OffsetView]:
        """How far a group is, by partition."""
        return self._transport.ask(
            list[OffsetView],
            "GET",
            path_of("groups", name, "offsets"),
            query={"topic": topic, "instance": self._instance},
        )

    def reset_offsets(
        self,
        name: str,
        to: str,
        *,
        value: int | None = None,
        topics: list[str] | None = None,
        partitions: list[int] | None = None,
        online: bool | None = None,
        dry_run: bool = False,
    ) -> Moves:
        """Let a group go on elsewhere: by time, offset or shift, at the start or the end."""
        return self._transport.ask(
            Moves,
            "POST",
            path_of("groups", name, "offsets", "reset"),
            query={"instance": self._instance, "dry_run": dry_run},
            body=given({"to": to, "value": value, "topics": topics, "partitions": partitions, "online": online}),
            key=new_key(),
        )

    def skip_offsets(self, name: str, *, topics: list[str] | None = None, dry_run: bool = False) -> Moves:
        """Let a group pass over all that waits."""
        return self._transport.ask(
            Moves,
            "POST",
            path_of("groups", name, "offsets", "skip"),
            query={"instance": self._instance, "dry_run": dry_run},
            body=given({"topics": topics}),
            key=new_key(),
        )

    def clone_offsets(
        self, name: str, from_group: str, *, topics: list[str] | None = None, dry_run: bool = False
    ) -> Moves:
        """Let a group go on where another one is."""
        return self._transport.ask(
            Moves,
            "POST",
            path_of("groups", name, "offsets", "clone"),
            query={"instance": self._instance, "dry_run": dry_run},
            body=given({"from_group": from_group, "topics": topics}),
            key=new_key(),
        )

    def delete_offsets(self, name: str, *, topic: str = "", dry_run: bool = False) -> Moves:
        """Forget how far a group is."""
        return self._transport.ask(
            Moves,
            "DELETE",
            path_of("groups", name, "offsets"),
            query={"topic": topic, "instance": self._instance, "dry_run": dry_run},
        )

    def list_subscriptions(
        self, *, search: str = "", sort: str = "", page: int = 1, page_size: int = 50, group: str = "", topic: str = ""
    ) -> Page[SubscriptionView]:
        """All subscriptions; sorted by group or topic."""
        return self._transport.ask(
            Page[SubscriptionView],
            "GET",
            path_of("subscriptions"),
            query={
                "search": search,
                "sort": sort,
                "page": page,
                "page_size": page_size,
                "group": group,
                "topic": topic,
                "instance": self._instance,
            },
        )

    def save_subscription(
        self,
        group: str,
        topic: str,
        *,
        event_code: str = "*",
        filter_kind: FilterKind = FilterKind.ALL,
        expression: str = "",
    ) -> SubscriptionView:
        """Make a subscription, or replace it."""
        return self._transport.ask(
            SubscriptionView,
            "PUT",
            path_of("subscriptions"),
            query={"instance": self._instance},
            body=given(
                {
                    "group": group,
                    "topic": topic,
                    "event_code": event_code,
                    "filter_kind": filter_kind,
                    "expression": expression,
                }
            ),
        )

    def delete_subscription(
        self, group: str, topic: str, *, event_code: str = "*", dry_run: bool = False
    ) -> SubscriptionView:
        """Take a subscription back."""
        return self._transport.ask(
            SubscriptionView,
            "DELETE",
            path_of("subscriptions"),
            query={
                "group": group,
                "topic": topic,
                "event_code": event_code,
                "instance": self._instance,
                "dry_run": dry_run,
            },
        )
