"""`braid alarm`: what is wrong, what counts as wrong, who is told, and silences."""

from typing import Annotated, Any

import typer

from braidmq.cli._api import path_of
from braidmq.cli._call import LIMIT, Call, DryRun, Limit, Search, Yes, noun, on_node
from braidmq.cli._times import now_ms, span_ms

command = noun("What is wrong, what counts as wrong, and who is told.")

RuleName = Annotated[str, typer.Argument(metavar="RULE", help="The rule's name.")]


@command.command("list")
@on_node
def list_alarms(
    call: Call,
    state: Annotated[str, typer.Option(metavar="firing|ended", help="Only those.")] = "",
    search: Search = "",
    limit: Limit = LIMIT,
) -> None:
    """What fires and what has ended, the latest first."""
    call.page(
        path_of("alarms"),
        "state", "severity", "rule", "subject", "text", "since=since_ms", "ended=ended_ms", "silenced",
        limit=limit, state=state, search=search,
        empty="nothing is wrong, and nothing was",
    )  # fmt: skip


@command.command("rules")
@on_node
def rules(call: Call, search: Search = "", limit: Limit = LIMIT) -> None:
    """What counts as wrong."""
    call.page(
        path_of("alarms", "rules"),
        "name=rule.name", "kind=rule.kind", "threshold=rule.threshold", "measures", "for_s=rule.for_s",
        "scope=rule.scope", "severity=rule.severity", "notify=rule.notify", "enabled=rule.enabled", "firing",
        limit=limit, search=search,
    )  # fmt: skip


@command.command("add")
@on_node
def add(
    call: Call,
    rule: RuleName,
    kind: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="lag, oldest_message, dead_letters, retries, disk, storage, no_producer, inconsistent_subscription or "
            "not_ready.",
        ),
    ],
    threshold: Annotated[float, typer.Option(min=0, help="More than this is wrong.")] = 0.0,
    wrong_for: Annotated[str, typer.Option("--for", metavar="SPAN", help="For how long, such as 1m.")] = "0s",
    scope: Annotated[str, typer.Option(metavar="PATTERN", help="Which groups or topics; * is any text.")] = "*",
    severity: Annotated[str, typer.Option(metavar="NAME", help="info, warning or critical.")] = "warning",
    notify: Annotated[
        list[str] | None, typer.Option(metavar="ADDRESS", help="A web or mail address to tell; repeatable.")
    ] = None,
    disabled: Annotated[bool, typer.Option("--disabled", help="Kept, and not looked at.")] = False,
    description: Annotated[str, typer.Option(metavar="TEXT", help="What it is for.")] = "",
) -> None:
    """Make a rule, or replace it."""
    body = {
        "name": rule,
        "kind": kind,
        "threshold": threshold,
        "for_s": span_ms(wrong_for, "--for") // 1000,
        "scope": scope,
        "severity": severity,
        "notify": notify or [],
        "enabled": not disabled,
        "description": description,
    }
    call.done(f"rule {rule} is kept", call.api.put(path_of("alarms", "rules", rule), body))


@command.command("remove")
@on_node
def remove(call: Call, rule: RuleName, dry_run: DryRun = False, yes: Yes = False) -> None:
    """Forget a rule; what it has found is over."""
    path = path_of("alarms", "rules", rule)

    def do(dry: bool) -> Any:
        found = call.api.get(path)
        if not dry:
            call.api.delete(path)
        return found

    call.change(do, call.one, question=f"Forget the rule {rule}?", dry_run=dry_run, yes=yes)


@command.command("test")
@on_node
def test(call: Call, rule: RuleName) -> None:
    """Send a test to all that a rule tells. Exit status 1 when one was not told."""
    outcomes = call.api.post(path_of("alarms", "rules", rule, "test"))["outcomes"]
    call.rows(outcomes, "target", "outcome", "attempts")
    raise typer.Exit(0 if all(each["outcome"] == "sent" for each in outcomes) else 1)


@command.command("silence")
@on_node
def silence(
    call: Call,
    reason: Annotated[str, typer.Argument(metavar="REASON", help="Why, for those who wonder.")],
    length: Annotated[str, typer.Option("--for", metavar="SPAN", help="How long, such as 2h.")] = "1h",
    rule: Annotated[str, typer.Option(metavar="PATTERN", help="Which rules; * is any text.")] = "*",
    subject: Annotated[str, typer.Option(metavar="PATTERN", help="What about, such as 'group billing'.")] = "*",
) -> None:
    """Tell nobody of something for a while. Alarms still show."""
    until_ms = now_ms() + span_ms(length, "--for")
    body = {"reason": reason, "until_ms": until_ms, "rule": rule, "subject": subject}
    call.one(call.api.post(path_of("alarms", "silences"), body))


@command.command("silences")
@on_node
def silences(call: Call) -> None:
    """Of what nobody is told at the moment."""
    found = call.api.get(path_of("alarms", "silences"))["items"]
    call.rows(found, "id", "rule", "subject", "reason", "until=until_ms", empty="everything is told")


@command.command("unsilence")
@on_node
def unsilence(call: Call, id: Annotated[str, typer.Argument(metavar="ID", help="Of the list of silences.")]) -> None:
    """End a silence before its time."""
    call.api.delete(path_of("alarms", "silences", id))
    call.done("the silence is over", {"id": id})
