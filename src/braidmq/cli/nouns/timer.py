"""`braid timer`: delayed messages."""

from typing import Annotated

import typer

from braidmq.cli._api import path_of
from braidmq.cli._call import LIMIT, Call, DryRun, Limit, Yes, noun, on_node
from braidmq.cli._names import OfTopic, topic_names
from braidmq.cli._times import optional_time_ms

command = noun("Delayed messages that wait for their time.")

Handle = Annotated[str, typer.Argument(metavar="HANDLE", help="Of the list, or of what sending answered.")]


@command.command("list")
@on_node
def list_timers(
    call: Call,
    topic: OfTopic = None,
    begin: Annotated[str | None, typer.Option("--from", metavar="TIME", help="Due then or later.")] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Due before then.")] = None,
    parked: Annotated[bool, typer.Option("--parked", help="Only those that wait for an operator.")] = False,
    limit: Limit = LIMIT,
) -> None:
    """Delayed messages by their time."""
    times = {"from_ms": optional_time_ms(begin, "--from"), "until_ms": optional_time_ms(end, "--to")}
    items, more = call.api.through(
        path_of("timers"), limit=limit, topic=topic, parked=parked, instance=call.instance, **times
    )
    columns = ("due=due_ms", "topic", "handle", "message_id", "size=size_bytes", "attempts", "parked")
    call.rows(items, *columns, empty="no message is delayed; send one: braid message send TOPIC BODY --delay 10s")
    if more:
        call.note(f"there are more: --limit {limit * 10}")


@command.command("show")
@on_node
def show(call: Call, handle: Handle) -> None:
    """A delayed message with its content."""
    call.one(call.api.get(path_of("timers", handle)))


@command.command("cancel")
@on_node
def cancel(call: Call, handle: Handle, dry_run: DryRun = False, yes: Yes = False) -> None:
    """Cancel a delayed message."""
    call.change(
        lambda dry: call.api.delete(path_of("timers", handle), dry_run=dry),
        call.one,
        question="Cancel this message?",
        dry_run=dry_run,
        yes=yes,
    )


@command.command("release")
@on_node
def release(
    call: Call,
    handle: Handle,
    to: Annotated[str, typer.Option(metavar="TOPIC", help="Where it goes.", autocompletion=topic_names)],
) -> None:
    """Deliver a parked message to a topic after all."""
    call.api.post(path_of("timers", handle, "release"), {"topic": to}, instance=call.instance)
    call.done(f"{handle} goes to {to}", {"handle": handle, "topic": to})
