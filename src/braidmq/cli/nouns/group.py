"""`braid group`: the groups of a node, whatever their members speak."""

from typing import Annotated, Any

import typer

from braidmq.cli._api import path_of
from braidmq.cli._call import LIMIT, Call, DryRun, Limit, Search, Sort, Yes, noun, on_node
from braidmq.cli._names import GroupName, TopicName
from braidmq.cli._pairs import pairs
from braidmq.model.errors import InvalidSetting

command = noun("Groups: list, make, change, pause, delete.")

Attempts = Annotated[
    int | None,
    typer.Option("--attempts", min=1, help="How often a message is delivered again before it is a dead letter."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", metavar="KEY=VALUE", help="A setting, such as 'retry.steps=10s 1m'; repeatable."),
]
ClientName = Annotated[
    str, typer.Argument(metavar="CLIENT", help="The member's client id, as `braid group members` shows it.")
]
WaitSeconds = Annotated[
    float, typer.Option("--wait", min=0.1, max=30.0, help="How many seconds the client may take for its answer.")
]


@command.command("list")
@on_node
def list_groups(
    call: Call,
    search: Search = "",
    internal: Annotated[bool, typer.Option("--internal", help="Also groups of the house itself.")] = False,
    sort: Sort = "",
    limit: Limit = LIMIT,
) -> None:
    """All groups. Sorted by name, lag, members, topics, rate_out or in_flight; --sort -lag puts the latest first."""
    call.page(
        path_of("groups"),
        "name", "state", "protocols", "members", "topics", "lag", "oldest=oldest_ms", "out/s=rate_out", "in_flight",
        "ordered", "paused",
        limit=limit, search=search, internal=internal, sort=sort, instance=call.instance,
        empty="there are no groups yet; a consumer makes one by reading, or: braid group create NAME",
    )  # fmt: skip


def _show(call: Call, group: GroupName) -> None:
    """A group with its offsets, its members, and where they do not want the same."""
    found = call.api.get(path_of("groups", group), instance=call.instance)
    parts = ("offsets", "members", "differences")
    details = {part: call.api.get(path_of("groups", group, part), instance=call.instance) for part in parts}
    if call.output != "table":
        call.one(found | {f"{part}_detail" if part in found else part: each for part, each in details.items()})
        return
    call.one(found)
    for part, columns in _DETAILS.items():
        if details[part]:
            print()
            call.rows(details[part], *columns)


_DETAILS = {
    "offsets": ("topic", "partition", "start", "committed", "end", "lag", "oldest=oldest_ms", "in_flight"),
    "members": ("client_id", "protocol", "address", "version", "topics", "since=since_ms"),
    "differences": ("topic", "wishes"),
}

command.command("show")(on_node(_show))
command.command("describe", hidden=True)(on_node(_show))


@command.command("members")
@on_node
def members(call: Call, group: GroupName) -> None:
    """The live members of a group, on every protocol."""
    found = call.api.get(path_of("groups", group, "members"), instance=call.instance)
    columns = ("client_id", "member_id", "protocol", "address", "version", "topics", "partitions", "since=since_ms")
    call.rows(found, *columns, empty=f"nobody is in {group} now")


@command.command("stack-trace")
@on_node
def stack_trace(call: Call, group: GroupName, client: ClientName, wait: WaitSeconds = 10.0) -> None:
    """What the threads of a member do now. Members of RocketMQ's protocols can be asked."""
    path = path_of("groups", group, "members", client, "stack-trace")
    found = call.api.post(path, wait_s=wait)
    call.done(found["stack_trace"], found)


@command.command("verify")
@on_node
def verify(
    call: Call,
    group: GroupName,
    client: ClientName,
    topic: TopicName,
    partition: Annotated[int, typer.Argument(metavar="PARTITION", min=0, help="The partition.")],
    offset: Annotated[int, typer.Argument(metavar="OFFSET", min=0, help="The offset.")],
    wait: WaitSeconds = 10.0,
) -> None:
    """Let a push consumer of RocketMQ's protocols try one message; nothing is acknowledged, no attempt is counted."""
    path = path_of("groups", group, "members", client, "verify")
    place = {"topic": topic, "partition": partition, "offset": offset}
    call.one(call.api.post(path, place, wait_s=wait, instance=call.instance))


@command.command("create")
@on_node
def create(
    call: Call,
    group: GroupName,
    attempts: Attempts = None,
    ordered: Annotated[bool, typer.Option("--ordered", help="Messages of one key go one after the other.")] = False,
    broadcast: Annotated[bool, typer.Option("--broadcast", help="Every member gets every message.")] = False,
    sets: Settings = None,
) -> None:
    """Make a group before its first member comes."""
    body: dict[str, Any] = {"name": group, "ordered": ordered, "broadcast": broadcast, "settings": pairs(sets, "--set")}
    if attempts is not None:
        body["attempts_max"] = attempts
    call.done(f"group {group} is made", call.api.post(path_of("groups"), body, instance=call.instance))


@command.command("alter")
@on_node
def alter(
    call: Call,
    group: GroupName,
    attempts: Attempts = None,
    ordered: Annotated[bool | None, typer.Option(help="Whether messages of one key go one after the other.")] = None,
    broadcast: Annotated[bool | None, typer.Option(help="Whether every member gets every message.")] = None,
    sets: Settings = None,
    unset: Annotated[
        list[str] | None, typer.Option("--unset", metavar="KEY", help="Take a setting back; repeatable.")
    ] = None,
) -> None:
    """Change what a group may do."""
    said = {"attempts_max": attempts, "ordered": ordered, "broadcast": broadcast}
    body: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
    settings = {**pairs(sets, "--set"), **dict.fromkeys(unset or ())}
    if not body and not settings:
        raise InvalidSetting("say what is to be different: --attempts, --ordered, --broadcast, --set or --unset")
    call.one(call.api.patch(path_of("groups", group), body | {"settings": settings}, instance=call.instance))


@command.command("delete")
@on_node
def delete(call: Call, group: GroupName, dry_run: DryRun = False, yes: Yes = False) -> None:
    """Delete a group without members, with its offsets and subscriptions."""
    call.change(
        lambda dry: call.api.delete(path_of("groups", group), instance=call.instance, dry_run=dry),
        call.one,
        question=f"Delete the group {group} with its offsets?",
        dry_run=dry_run,
        yes=yes,
    )


@command.command("pause")
@on_node
def pause(call: Call, group: GroupName) -> None:
    """Give a group's members nothing for now."""
    found = call.api.post(path_of("groups", group, "pause"), instance=call.instance)
    call.done(f"group {group} is paused", found)
    if count := found["members_not_paused"]:
        call.note(f"{count} members with an assignor of their own go on: stop them where they run")


@command.command("resume")
@on_node
def resume(call: Call, group: GroupName) -> None:
    """Let a paused group go on where it was."""
    found = call.api.post(path_of("groups", group, "resume"), instance=call.instance)
    call.done(f"group {group} goes on", found)
