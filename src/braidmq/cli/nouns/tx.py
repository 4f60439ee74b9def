"""`braid tx`: transactional messages whose producers have not decided yet, or whose topic is gone."""

from typing import Annotated, Any

import typer

from braidmq.cli._api import path_of
from braidmq.cli._call import LIMIT, Call, DryRun, Limit, Yes, noun, on_node
from braidmq.cli._names import OfTopic, topic_names

command = noun("Transactional messages that wait for a decision.")

Handle = Annotated[str, typer.Argument(metavar="HANDLE", help="Of the list, or of what sending answered.")]


@command.command("list")
@on_node
def list_halves(
    call: Call,
    group: Annotated[str | None, typer.Option(metavar="GROUP", help="Only of these producers.")] = None,
    state: Annotated[
        str | None, typer.Option(metavar="STATE", help="prepared, committing, committed or rolled_back.")
    ] = None,
    topic: OfTopic = None,
    parked: Annotated[bool, typer.Option("--parked", help="Only those that wait for an operator.")] = False,
    limit: Limit = LIMIT,
) -> None:
    """Transactional messages by the time of their preparation."""
    items, more = call.api.through(
        path_of("halves"), limit=limit, group=group, state=state, topic=topic, parked=parked, instance=call.instance
    )
    columns = ("prepared=prepared_ms", "topic", "group", "state", "checks", "handle", "message_id", "parked")
    call.rows(items, *columns, empty="no message waits for a decision; `braid demo` makes some")
    if more:
        call.note(f"there are more: --limit {limit * 10}")


@command.command("show")
@on_node
def show(call: Call, handle: Handle) -> None:
    """A transactional message with its content."""
    call.one(call.api.get(path_of("halves", handle)))


@command.command("commit")
@on_node
def commit(call: Call, handle: Handle, dry_run: DryRun = False, yes: Yes = False) -> None:
    """Decide that the message counts."""
    _decide(call, handle, "commit", dry_run=dry_run, yes=yes)


@command.command("rollback")
@on_node
def rollback(call: Call, handle: Handle, dry_run: DryRun = False, yes: Yes = False) -> None:
    """Decide that the message does not count."""
    _decide(call, handle, "rollback", dry_run=dry_run, yes=yes)


@command.command("discard")
@on_node
def discard(call: Call, handle: Handle, dry_run: DryRun = False, yes: Yes = False) -> None:
    """Give up a committed message whose topic is gone."""
    _decide(call, handle, "discard", dry_run=dry_run, yes=yes)


def _decide(call: Call, handle: str, verb: str, *, dry_run: bool, yes: bool) -> None:
    def do(dry: bool) -> Any:
        if dry:
            return call.api.get(path_of("halves", handle))
        body: dict[str, Any] | None = None if verb == "discard" else {}
        return call.api.post(path_of("halves", handle, verb), body) or {"handle": handle, "discarded": True}

    call.change(do, call.one, question=f"{verb.capitalize()} this message?", dry_run=dry_run, yes=yes)


@command.command("release")
@on_node
def release(
    call: Call,
    handle: Handle,
    to: Annotated[str, typer.Option(metavar="TOPIC", help="Where it goes.", autocompletion=topic_names)],
) -> None:
    """Append a committed message whose topic is gone to another topic."""
    call.api.post(path_of("halves", handle, "release"), {"topic": to}, instance=call.instance)
    call.done(f"{handle} goes to {to}", {"handle": handle, "topic": to})
