"""`braid offset`: how far groups are, and moving them, always with a preview from old to new."""

from typing import Annotated, Any

import typer

from braidmq.cli._api import path_of
from braidmq.cli._call import Call, DryRun, Yes, noun, on_node
from braidmq.cli._names import GroupName, OfTopic, OfTopics, group_names
from braidmq.cli._times import time_ms
from braidmq.model.errors import InvalidSetting

command = noun("How far groups are, and moving them.")

_MOVES = ("topic", "partition", "old", "new", "lag_before", "lag_after", "error")


@command.command("show")
@on_node
def show(call: Call, group: GroupName, topic: OfTopic = None) -> None:
    """How far a group is, by partition."""
    found = call.api.get(path_of("groups", group, "offsets"), topic=topic, instance=call.instance)
    columns = (
        "topic",
        "partition",
        "start",
        "committed",
        "end",
        "lag",
        "oldest=oldest_ms",
        "in_flight",
        "committed_ms",
    )
    call.rows(found, *columns, empty=f"{group} has committed nothing yet")


@command.command("reset")
@on_node
def reset(
    call: Call,
    group: GroupName,
    to: Annotated[
        str,
        typer.Option(metavar="WHERE", help="earliest, latest, an offset, +N or -N (a shift), or a time such as 2h."),
    ],
    topic: OfTopics = None,
    partition: Annotated[list[int] | None, typer.Option(min=0, help="Only this partition; repeatable.")] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Let a group go on elsewhere: at the start or end, an offset, a time, or so many messages before or after."""
    body: dict[str, Any] = where(to) | {"topics": topic or None, "partitions": partition or None}
    _move(call, group, "reset", body, f"Move the group {group} so?", dry_run=dry_run, yes=yes)


def where(text: str) -> dict[str, Any]:
    """What the node calls the place. Raises InvalidSetting."""
    if text in ("earliest", "latest"):
        return {"to": text}
    if text[:1] in "+-" and text[1:].isascii() and text[1:].isdigit():
        return {"to": "shift", "value": int(text)}
    if text.isascii() and text.isdigit() and len(text) < 12:
        return {"to": "offset", "value": int(text)}
    try:
        return {"to": "time", "value": time_ms(text, "--to")}
    except InvalidSetting as error:
        raise InvalidSetting(
            f"--to: {text!r} is no place; it is earliest, latest, an offset, +N or -N, or a time such as 2h"
        ) from error


@command.command("skip")
@on_node
def skip(call: Call, group: GroupName, topic: OfTopics = None, dry_run: DryRun = False, yes: Yes = False) -> None:
    """Let a group pass over all that waits."""
    question = f"Let the group {group} pass over all that waits?"
    _move(call, group, "skip", {"topics": topic or None}, question, dry_run=dry_run, yes=yes)


@command.command("clone")
@on_node
def clone(
    call: Call,
    group: GroupName,
    from_group: Annotated[
        str, typer.Option("--from", metavar="GROUP", help="The group to follow.", autocompletion=group_names)
    ],
    topic: OfTopics = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Let a group go on where another one is."""
    body = {"from_group": from_group, "topics": topic or None}
    _move(call, group, "clone", body, f"Move the group {group} to where {from_group} is?", dry_run=dry_run, yes=yes)


@command.command("delete")
@on_node
def delete(call: Call, group: GroupName, topic: OfTopic = None, dry_run: DryRun = False, yes: Yes = False) -> None:
    """Forget how far a group is."""
    path = path_of("groups", group, "offsets")
    call.change(
        lambda dry: call.api.delete(path, topic=topic, instance=call.instance, dry_run=dry),
        lambda moved: _show_moves(call, moved),
        question=f"Forget how far the group {group} is?",
        dry_run=dry_run,
        yes=yes,
    )


def _move(call: Call, group: str, verb: str, body: dict[str, Any], question: str, *, dry_run: bool, yes: bool) -> None:
    path = path_of("groups", group, "offsets", verb)
    moved = call.change(
        lambda dry: call.api.post(path, body, instance=call.instance, dry_run=dry),
        lambda moved: _show_moves(call, moved),
        question=question,
        dry_run=dry_run,
        yes=yes,
    )
    if not dry_run and any(move["error"] for move in moved["moves"]):
        raise typer.Exit(1)


def _show_moves(call: Call, moved: dict[str, Any]) -> None:
    call.rows(moved["moves"], *_MOVES, empty="the group has committed nothing there; name topics with --topic")
