"""Alarms: what fires, what has ended, the rules by which that is judged, and silences."""

import time
from typing import Any, Final, TypeVar

import msgspec
from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery

from braidmq.console._form_fields import form_of, wanted, whole_number
from braidmq.console._render import ConsoleRequest, render
from braidmq.console.pages._asked import operations_of, page_of_query, told
from braidmq.core.access import Action, ResourceKind
from braidmq.core.alarms import Rule, RuleKind, Severity, SilenceAsk
from braidmq.core.desk import PageAsk
from braidmq.model.errors import InvalidRequest
from braidmq.model.saying import say
from braidmq.protocols.http import HttpServices, needs

VIEWS: Final = {"firing": "Firing", "ended": "History", "rules": "Rules", "silences": "Silences"}
KINDS: Final = {
    RuleKind.LAG: ("Lag", "messages that a group has not come to"),
    RuleKind.OLDEST_MESSAGE: ("Oldest message", "seconds that the oldest message waits for its group"),
    RuleKind.DEAD_LETTERS: ("Dead letters", "messages in a minute that a group gives up"),
    RuleKind.RETRIES: ("Retries", "messages in a minute that a group sends back"),
    RuleKind.DISK: ("Disk", "percent of the disk that are taken"),
    RuleKind.STORAGE: ("Storage failed", ""),
    RuleKind.NO_PRODUCER: ("No producer", "seconds in which nothing comes to a topic"),
    RuleKind.INCONSISTENT_SUBSCRIPTION: ("Inconsistent subscription", ""),
    RuleKind.NOT_READY: ("Node not ready", ""),
}
"""What a kind is called, and in what its threshold is; empty where it has none."""
SEVERITIES: Final = {Severity.INFO: "Info", Severity.WARNING: "Warning", Severity.CRITICAL: "Critical"}
SILENCE_S: Final = {
    "1h": ("1 hour", 3600),
    "4h": ("4 hours", 4 * 3600),
    "24h": ("1 day", 86400),
    "7d": ("7 days", 604800),
}
AskT = TypeVar("AskT")
_CHANGE: Final = needs(Action.CHANGE, ResourceKind.SETTING)


class AlarmsPage(Controller):
    path = "/alarms"
    opt = needs(Action.DESCRIBE, ResourceKind.NODE)

    @get("/")
    async def alarms(
        self, request: ConsoleRequest, services: NamedDependency[HttpServices], view: FromQuery[str] = "firing"
    ) -> Response[Any]:
        if view not in VIEWS:
            raise InvalidRequest(say("view: it is one of {choices}", choices=", ".join(VIEWS)))
        alarms, ask = operations_of(services).alarms, page_of_query(request)
        firing = await alarms.alarms(ask if view == "firing" else PageAsk(), "firing")
        shown: dict[str, Any] = {"firing": firing, "counts": {"firing": firing.total}}
        if view == "ended":
            shown["ended"] = await alarms.alarms(ask, "ended")
        elif view == "rules":
            shown["rules"] = await alarms.rules(ask)
        silences = await alarms.silences()
        shown |= {"silences": silences, "view": view, "views": VIEWS, "kinds": KINDS, "severities": SEVERITIES}
        shown["counts"]["silences"] = len(silences)
        return render(request, "alarms.html.j2", place="alarms", **shown)

    # Rules.

    @get("/rules/new")
    async def new_rule(self, request: ConsoleRequest) -> Response[Any]:
        return _rule_form(request, Rule(name="new", kind=RuleKind.LAG, threshold=10_000, for_s=60), is_new=True)

    @get("/rules/{name:str}")
    async def rule(
        self, request: ConsoleRequest, services: NamedDependency[HttpServices], name: FromPath[str]
    ) -> Response[Any]:
        return _rule_form(request, (await operations_of(services).alarms.rule(name)).rule, is_new=False)

    @post(
        "/rules",
        opt=needs(Action.CREATE, ResourceKind.SETTING),
        operation_id="create_alarm_rule",
        status_code=200,
    )
    async def create_rule(self, request: ConsoleRequest, services: NamedDependency[HttpServices]) -> Response[Any]:
        form = await form_of(request)
        made = await operations_of(services).alarms.create_rule(_rule(wanted(form, "name"), form))
        return told(request, "The rule {name} is made", name=made.rule.name)

    @post("/rules/{name:str}", opt=_CHANGE, operation_id="save_alarm_rule", status_code=200)
    async def save_rule(
        self, request: ConsoleRequest, services: NamedDependency[HttpServices], name: FromPath[str]
    ) -> Response[Any]:
        saved = await operations_of(services).alarms.save_rule(_rule(name, await form_of(request)))
        return told(request, "The rule {name} is saved", name=saved.rule.name)

    @post("/rules/{name:str}/test", opt=_CHANGE, operation_id="test_alarm_rule", status_code=200)
    async def test_rule(
        self, request: ConsoleRequest, services: NamedDependency[HttpServices], name: FromPath[str]
    ) -> Response[Any]:
        outcomes = await operations_of(services).alarms.test_rule(name)
        all_sent = all(each.outcome == "sent" for each in outcomes)
        lines = "; ".join(f"{each.target}: {each.outcome}" for each in outcomes)
        return told(request, "Test notification", lines, tone="success" if all_sent else "warning", refresh=False)

    @post(
        "/rules/{name:str}/delete",
        opt=needs(Action.DELETE, ResourceKind.SETTING),
        operation_id="delete_alarm_rule",
        status_code=200,
    )
    async def delete_rule(
        self, request: ConsoleRequest, services: NamedDependency[HttpServices], name: FromPath[str]
    ) -> Response[Any]:
        await operations_of(services).alarms.delete_rule(name)
        return told(request, "The rule {name} is deleted", name=name)

    # Silences.

    @get("/silences/new")
    async def new_silence(
        self, request: ConsoleRequest, rule: FromQuery[str] = "*", subject: FromQuery[str] = "*"
    ) -> Response[Any]:
        return render(request, "alarms_silence.html.j2", rule=rule, subject=subject, lengths=SILENCE_S)

    @post(
        "/silences",
        opt=needs(Action.CREATE, ResourceKind.SETTING),
        operation_id="create_silence",
        status_code=200,
    )
    async def silence(self, request: ConsoleRequest, services: NamedDependency[HttpServices]) -> Response[Any]:
        form = await form_of(request)
        length = form.get("length", "")
        if length not in SILENCE_S:
            raise InvalidRequest(say("length: it is one of {choices}", choices=", ".join(SILENCE_S)))
        until_ms = int((time.time() + SILENCE_S[length][1]) * 1000)
        fields = {"rule": form.get("rule", "*"), "subject": form.get("subject", "*"), "reason": wanted(form, "reason")}
        ask = _converted({**fields, "until_ms": until_ms}, SilenceAsk)
        await operations_of(services).alarms.silence(ask)
        return told(request, "Silenced: nobody is told of it")

    @post(
        "/silences/{silence_id:str}/end",
        opt=needs(Action.DELETE, ResourceKind.SETTING),
        operation_id="end_silence",
        status_code=200,
    )
    async def end_silence(
        self, request: ConsoleRequest, services: NamedDependency[HttpServices], silence_id: FromPath[str]
    ) -> Response[Any]:
        await operations_of(services).alarms.end_silence(silence_id)
        return told(request, "The silence is ended")


def _rule_form(request: ConsoleRequest, rule: Rule, *, is_new: bool) -> Response[Any]:
    webhooks = [target for target in rule.notify if target.startswith(("http://", "https://"))]
    mails = [target for target in rule.notify if target not in webhooks]
    shown: dict[str, Any] = {"rule": rule, "is_new": is_new, "webhooks": webhooks, "mails": mails}
    return render(request, "alarms_rule.html.j2", kinds=KINDS, severities=SEVERITIES, **shown)


def _rule(name: str, form: dict[str, str]) -> Rule:
    """Raises InvalidRequest."""
    targets = " ".join((form.get("webhooks", ""), form.get("mails", ""))).split()
    try:
        threshold = float(form.get("threshold", "0"))
    except ValueError as error:
        raise InvalidRequest("threshold: a number is wanted") from error
    fields = {
        "name": name,
        "kind": form.get("kind", ""),
        "threshold": threshold,
        "for_s": whole_number("for_s", form.get("for_s", "0")),
        "scope": form.get("scope", "*"),
        "severity": form.get("severity", "warning"),
        "notify": targets,
        "enabled": "enabled" in form,
        "description": form.get("description", ""),
    }
    return _converted(fields, Rule)


def _converted(fields: dict[str, Any], kind: type[AskT]) -> AskT:
    """Raises InvalidRequest."""
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        raise InvalidRequest(str(error)) from error
