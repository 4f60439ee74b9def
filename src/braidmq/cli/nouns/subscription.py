"""`braid subscription`: which group wants which messages of which topic."""

from typing import Annotated

import typer

from braidmq.cli._api import path_of
from braidmq.cli._call import LIMIT, Call, DryRun, Limit, Search, Yes, noun, on_node
from braidmq.cli._names import GroupName, OfGroup, OfTopic, TopicName

command = noun("Which group wants which messages of which topic.")

EventCode = Annotated[str, typer.Option(metavar="CODE", help="The event code; * is all.")]


@command.command("list")
@on_node
def list_subscriptions(
    call: Call, group: OfGroup = None, topic: OfTopic = None, search: Search = "", limit: Limit = LIMIT
) -> None:
    """All subscriptions, or those of a group or topic."""
    call.page(
        path_of("subscriptions"),
        "group", "topic", "event_code", "filter_kind", "expression",
        limit=limit, group=group, topic=topic, search=search, instance=call.instance,
        empty="there are no subscriptions; make one: braid subscription save GROUP TOPIC",
    )  # fmt: skip


@command.command("save")
@on_node
def save(
    call: Call,
    group: GroupName,
    topic: TopicName,
    event_code: EventCode = "*",
    tag: Annotated[str, typer.Option(metavar="EXPRESSION", help="Tags, such as 'paid || refunded'.")] = "",
    sql: Annotated[str, typer.Option(metavar="EXPRESSION", help="SQL92 over properties, such as 'amount > 10'.")] = "",
) -> None:
    """Make a subscription, or replace it."""
    kind = "tag" if tag else "sql" if sql else "all"
    body = {"group": group, "topic": topic, "event_code": event_code, "filter_kind": kind, "expression": tag or sql}
    call.one(call.api.put(path_of("subscriptions"), body, instance=call.instance))


@command.command("delete")
@on_node
def delete(
    call: Call,
    group: GroupName,
    topic: TopicName,
    event_code: EventCode = "*",
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Take a subscription back."""
    named = {"group": group, "topic": topic, "event_code": event_code, "instance": call.instance}
    call.change(
        lambda dry: call.api.delete(path_of("subscriptions"), **named, dry_run=dry),
        call.one,
        question=f"Take back what {group} wants of {topic}?",
        dry_run=dry_run,
        yes=yes,
    )
