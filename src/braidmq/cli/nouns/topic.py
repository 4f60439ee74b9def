"""`braid topic`: the topics of a node."""

from typing import Annotated, Any

import typer

from braidmq.cli._api import path_of
from braidmq.cli._call import LIMIT, Call, DryRun, Limit, Search, Sort, Yes, noun, on_node
from braidmq.cli._names import TopicName
from braidmq.cli._pairs import pairs
from braidmq.cli._times import time_ms
from braidmq.model.errors import InvalidSetting

command = noun("Topics: list, make, change, delete.")
lite = noun("Lite topics of a topic: list, show, delete, and who subscribes.")
command.add_typer(lite, name="lite")

Kind = Annotated[
    str | None,
    typer.Option(metavar="KIND", help="normal, fifo, delay, transaction, priority, lite or mixed; what it takes."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", metavar="KEY=VALUE", help="A setting, such as retention.ms=86400000; repeatable."),
]
Partitions = Annotated[int | None, typer.Option("--partitions", "-p", min=1, help="How many; they can only grow.")]


@command.command("list")
@on_node
def list_topics(
    call: Call,
    search: Search = "",
    kind: Kind = None,
    internal: Annotated[bool, typer.Option("--internal", help="Also those that the house keeps for itself.")] = False,
    sort: Sort = "",
    limit: Limit = LIMIT,
) -> None:
    """All topics. Sorted by name, partitions, messages, size, rate_in or lag; --sort -size puts the largest first."""
    call.page(
        path_of("topics"),
        "name", "kind", "partitions", "messages", "size=size_bytes", "in/s=rate_in", "out/s=rate_out", "groups", "lag",
        limit=limit, search=search, kind=kind, internal=internal, sort=sort, instance=call.instance,
        empty="there are no topics yet; make one: braid topic create NAME",
    )  # fmt: skip


def _show(call: Call, topic: TopicName) -> None:
    """A topic with its partitions, settings and groups."""
    found = call.api.get(path_of("topics", topic), instance=call.instance)
    parts = ("partitions", "groups", "producers")
    details = {part: call.api.get(path_of("topics", topic, part), instance=call.instance) for part in parts}
    if call.output != "table":
        call.one(found | {f"{part}_detail" if part in found else part: each for part, each in details.items()})
        return
    call.one(found)
    print()
    call.rows(
        details["partitions"],
        "partition=index", "start=start_offset", "stable=stable_offset", "end=end_offset", "size=size_bytes",
        "in/s=rate_in",
    )  # fmt: skip
    if details["groups"]:
        print()
        call.rows(details["groups"], "group", "lag", "members", "protocols", "paused")
    if details["producers"]:
        print()
        columns = ("protocol", "client_id", "address", "producer_id", "partitions", "last_seen=last_seen_ms")
        call.rows(details["producers"], *columns)


command.command("show")(on_node(_show))
command.command("describe", hidden=True)(on_node(_show))


@command.command("settings")
@on_node
def settings(call: Call, topic: TopicName) -> None:
    """Every setting of a topic as it counts, and who said so."""
    found = call.api.get(path_of("topics", topic, "settings"), instance=call.instance)
    call.rows(found, "name", "value", "default", "origin", "honoured")


@command.command("create")
@on_node
def create(
    call: Call,
    topic: TopicName,
    partitions: Partitions = None,
    kind: Kind = None,
    sets: Settings = None,
    dry_run: DryRun = False,
) -> None:
    """Make a topic."""
    body: dict[str, Any] = {"name": topic, "settings": pairs(sets, "--set")}
    body |= {name: value for name, value in (("partitions", partitions), ("kind", kind)) if value is not None}
    made = call.api.post(path_of("topics"), body, instance=call.instance, dry_run=dry_run)
    verb = "would be made" if dry_run else "is made"
    count = made["partitions"]
    call.done(f"topic {topic} {verb}, with {count} partition{'' if count == 1 else 's'}", made)


@command.command("alter")
@on_node
def alter(
    call: Call,
    topic: TopicName,
    partitions: Partitions = None,
    kind: Kind = None,
    sets: Settings = None,
    unset: Annotated[
        list[str] | None, typer.Option("--unset", metavar="KEY", help="Take a setting back; repeatable.")
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Add partitions, or change the kind or settings."""
    settings = {**pairs(sets, "--set"), **dict.fromkeys(unset or ())}
    body: dict[str, Any] = {"settings": settings}
    body |= {name: value for name, value in (("partitions", partitions), ("kind", kind)) if value is not None}
    if body == {"settings": {}}:
        raise InvalidSetting("say what is to be different: --partitions, --kind, --set or --unset")
    changed = call.api.patch(path_of("topics", topic), body, instance=call.instance, dry_run=dry_run)
    call.one(changed)


@command.command("delete")
@on_node
def delete(call: Call, topic: TopicName, dry_run: DryRun = False, yes: Yes = False) -> None:
    """Delete a topic with all its messages."""
    call.change(
        lambda dry: call.api.delete(path_of("topics", topic), instance=call.instance, dry_run=dry),
        call.one,
        question=f"Delete the topic {topic} with all its messages?",
        dry_run=dry_run,
        yes=yes,
    )


@command.command("empty")
@on_node
def empty(
    call: Call,
    topic: TopicName,
    before: Annotated[
        str | None, typer.Option(metavar="TIME", help="Messages of this time and later stay. Default: none do.")
    ] = None,
    before_offset: Annotated[
        list[str] | None,
        typer.Option(metavar="PARTITION=OFFSET", help="The first offset that stays, by partition; repeatable."),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Forget messages of a topic: all, those before a time, or those before an offset. The topic stays."""
    body = _cut(call, topic, before, before_offset)
    path = path_of("topics", topic, "delete-messages")
    call.change(
        lambda dry: call.api.post(path, body, instance=call.instance, dry_run=dry),
        lambda cut: call.rows(cut["partitions"], "partition", "old=old_start", "new=new_start", "messages", "error"),
        question=f"Forget these messages of {topic}?",
        dry_run=dry_run,
        yes=yes,
    )


def _cut(call: Call, topic: str, before: str | None, before_offset: list[str] | None) -> dict[str, Any]:
    if before is not None and before_offset:
        raise InvalidSetting("take one of --before and --before-offset")
    if before is not None:
        return {"before_time_ms": time_ms(before, "--before")}
    if before_offset:
        return {"before": {name: _offset(value) for name, value in pairs(before_offset, "--before-offset").items()}}
    found = call.api.get(path_of("topics", topic, "partitions"), instance=call.instance)
    return {"before": {str(each["index"]): each["end_offset"] for each in found}}


def _offset(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise InvalidSetting(f"--before-offset: {text!r} is no offset; it is written 0=120")
    return int(text)


LiteName = Annotated[str, typer.Argument(metavar="LITE", help="The lite topic, by its name under the topic.")]


@lite.command("list")
@on_node
def list_lite(call: Call, topic: TopicName, search: Search = "", sort: Sort = "", limit: Limit = LIMIT) -> None:
    """The lite topics of a topic. Sorted by name, messages, size, lag or readers; --sort -lag puts the most behind
    first."""
    call.page(
        path_of("topics", topic, "lite-topics"),
        "name", "messages", "size=size_bytes", "groups", "lag", "readers", "last=last_ms", "expires=ends_ms",
        limit=limit, search=search, sort=sort, instance=call.instance,
        empty=f"{topic} has no such lite topics; the first message to one makes it",
    )  # fmt: skip


@lite.command("show")
@on_node
def show_lite(call: Call, topic: TopicName, name: LiteName) -> None:
    """A lite topic with its groups and who subscribes to it."""
    found = call.api.get(path_of("topics", topic, "lite-topics", name), instance=call.instance)
    if call.output != "table":
        call.one(found)
        return
    call.one({field: value for field, value in found.items() if field not in ("subscribers", "progress")})
    for rows, columns in (
        (found["progress"], ("group", "lag", "members", "protocols", "paused")),
        (found["subscribers"], ("subscriber=client_id", "group", "address")),
    ):
        if rows:
            print()
            call.rows(rows, *columns)


@lite.command("readers")
@on_node
def lite_readers(call: Call, topic: TopicName, search: Search = "", sort: Sort = "", limit: Limit = LIMIT) -> None:
    """Who subscribes to which lite topics, also to such as do not exist yet. Sorted by name, client_id or group."""
    call.page(
        path_of("topics", topic, "lite-subscriptions"),
        "lite=name", "exists", "client=client_id", "group", "address",
        limit=limit, search=search, sort=sort, instance=call.instance,
        empty=f"nobody subscribes to lite topics of {topic} at this node",
    )  # fmt: skip


@lite.command("delete")
@on_node
def delete_lite(call: Call, topic: TopicName, name: LiteName, dry_run: DryRun = False, yes: Yes = False) -> None:
    """Delete a lite topic with all its messages. The next message makes it anew."""
    path = path_of("topics", topic, "lite-topics", name)
    call.change(
        lambda dry: call.api.delete(path, instance=call.instance, dry_run=dry),
        call.one,
        question=f"Delete the lite topic {name} of {topic} with all its messages?",
        dry_run=dry_run,
        yes=yes,
    )
