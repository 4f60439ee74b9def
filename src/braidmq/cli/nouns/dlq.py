"""`braid dlq`: what groups could not work on."""

from pathlib import Path
from typing import Annotated, Any

import typer

from braidmq.cli._api import path_of
from braidmq.cli._call import LIMIT, Call, DryRun, Limit, Yes, noun, on_node
from braidmq.cli._names import OfGroup, OfTopic, group_names
from braidmq.cli._progress import bar
from braidmq.cli._times import optional_time_ms
from braidmq.model.errors import InvalidSetting

command = noun("Dead letters: what groups could not work on.")

Group = Annotated[str, typer.Option("--group", metavar="GROUP", help="Whose dead letters.", autocompletion=group_names)]
Key = Annotated[str | None, typer.Option(metavar="KEY", help="Only those with this key.")]
Id = Annotated[str | None, typer.Option(metavar="ID", help="Only the one with this id.")]
Begin = Annotated[str | None, typer.Option("--from", metavar="TIME", help="Died then or later, such as 2h.")]
End = Annotated[str | None, typer.Option("--to", metavar="TIME", help="Died before then.")]


@command.command("list")
@on_node
def list_dead_letters(
    call: Call,
    group: OfGroup = None,
    topic: OfTopic = None,
    key: Key = None,
    id: Id = None,
    begin: Begin = None,
    end: End = None,
    limit: Limit = LIMIT,
) -> None:
    """Dead letters of a group, or of all, with cause and age."""
    chosen = _chosen(topic, key, id, begin, end)
    items, more = call.api.through(path_of("dead-letters"), limit=limit, group=group, instance=call.instance, **chosen)
    call.rows(
        items,
        "group", "partition=place.partition", "offset=place.offset", "topic=origin_topic", "id=message.id",
        "attempts", "age=age_ms", "cause:text", "body=message.body:text",
        empty="there are no dead letters",
    )  # fmt: skip
    if more:
        call.note(f"there are more: --limit {limit * 10}")


def _chosen(topic: str | None, key: str | None, id: str | None, begin: str | None, end: str | None) -> dict[str, Any]:
    times = {"from_ms": optional_time_ms(begin, "--from"), "until_ms": optional_time_ms(end, "--to")}
    return {"topic": topic, "key": key, "id": id, **times}


@command.command("groups")
@on_node
def groups(call: Call) -> None:
    """Which groups have dead letters, and how many."""
    found = call.api.get(path_of("dead-letters", "groups"), instance=call.instance)
    call.rows(found["items"], "group", "letters", empty="no group has dead letters")


@command.command("ages")
@on_node
def ages(call: Call, group: OfGroup = None) -> None:
    """How many dead letters of a group, or of all, are how old."""
    found = call.api.get(path_of("dead-letters", "ages"), group=group, instance=call.instance)
    call.rows(found["items"], "older=from_age_ms", "letters", empty="there are no dead letters")
    if not found["complete"]:
        call.note("there are more than were looked at")


@command.command("show")
@on_node
def show(
    call: Call,
    group: Group,
    place: Annotated[str, typer.Argument(metavar="PARTITION:OFFSET", help="Where it lies, as the list shows it.")],
) -> None:
    """One dead letter, with its message."""
    at = _place(place)
    path = path_of("dead-letters", group, at["partition"], at["offset"])
    call.one(call.api.get(path, instance=call.instance))


@command.command("replay")
@on_node
def replay(
    call: Call,
    group: Group,
    place: Annotated[
        list[str] | None,
        typer.Option(metavar="PARTITION:OFFSET", help="Only this one, as the list shows it; repeatable."),
    ] = None,
    topic: OfTopic = None,
    key: Key = None,
    id: Id = None,
    begin: Begin = None,
    end: End = None,
    to: Annotated[
        str, typer.Option("--into", metavar="group|topic", help="To the group alone, or to all of the topic.")
    ] = "group",
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Give dead letters out again: those that were named, or all that agree. Exit status 1 when one could not be."""
    body: dict[str, Any] = {"group": group, "to": to}
    if place:
        body["places"] = [_place(each) for each in place]
    else:
        body |= {"all": True, "filter": _chosen(topic, key, id, begin, end)}
    results = call.change(
        lambda dry: _replayed(call, body, dry),
        lambda found: call.rows(
            found,
            "partition=place.partition", "offset=place.offset", "id=message_id", "to=topic", "error=error.detail",
            empty="there is nothing to replay",
        ),
        question=f"Give these to the {to} again?",
        dry_run=dry_run,
        yes=yes,
    )  # fmt: skip
    if any(each["error"] for each in results):
        raise typer.Exit(1)


def _place(text: str) -> dict[str, int]:
    partition, _, offset = text.partition(":")
    if not (partition.isdigit() and offset.isdigit()):
        raise InvalidSetting(f"{text!r} is no place; it is written 0:17, partition and offset of the list")
    return {"partition": int(partition), "offset": int(offset)}


def _replayed(call: Call, body: dict[str, Any], dry: bool) -> list[Any]:
    """All results, however many answers they take."""
    results: list[Any] = []
    with bar("replaying") as advance:
        while True:
            answer = call.api.post(path_of("dead-letters", "replay"), body, instance=call.instance, dry_run=dry)
            results += answer["results"]
            advance(len(results), None)
            if answer["cursor"] is None:
                return results
            body = body | {"cursor": answer["cursor"]}


@command.command("export")
@on_node
def export(
    call: Call,
    group: OfGroup = None,
    format: Annotated[str, typer.Option(metavar="ndjson|json|csv", help="The form of the file.")] = "ndjson",
    file: Annotated[
        Path | None, typer.Option("--file", "-f", metavar="FILE", help="Where to. Default: the output.")
    ] = None,
) -> None:
    """Write all dead letters of a group, or of all, as a file."""
    lines = call.api.lines(path_of("dead-letters", "export"), group=group, format=format, instance=call.instance)
    if file is None:
        for line in lines:
            print(line)
        return
    count = 0
    with bar(str(file)) as advance, file.open("w", encoding="utf-8") as out:
        for line in lines:
            out.write(line + "\n")
            count += 1
            advance(count, None)
    call.note(f"{file} is written")


@command.command("delete")
@on_node
def delete(
    call: Call,
    group: Group,
    until: Annotated[
        str | None,
        typer.Option(metavar="PARTITION:OFFSET", help="Those of this partition up to this one. Default: all."),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Forget dead letters for good."""
    body: dict[str, Any] = {"group": group, "all": True} if until is None else {"group": group, "last": _place(until)}
    path = path_of("dead-letters", "delete")
    call.change(
        lambda dry: call.api.post(path, body, instance=call.instance, dry_run=dry),
        call.one,
        question=f"Forget these dead letters of {group} for good?",
        dry_run=dry_run,
        yes=yes,
    )
