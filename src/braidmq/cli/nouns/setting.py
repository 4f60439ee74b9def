"""`braid setting`: what running nodes go by, from the centre. A node's own flags and environment beat it."""

from typing import Annotated, Any

import typer

from braidmq.cli._api import path_of
from braidmq.cli._call import LIMIT, Call, DryRun, Limit, Search, Yes, noun, on_node

command = noun("Settings of running nodes, from the centre.")

Key = Annotated[str, typer.Argument(metavar="KEY", help="Such as trace.events.")]


@command.command("list")
@on_node
def list_settings(
    call: Call,
    search: Search = "",
    changed: Annotated[bool, typer.Option("--changed", help="Only those that are not as by default.")] = False,
    limit: Limit = LIMIT,
) -> None:
    """Every setting of the node with its value and origin."""
    items, _ = call.api.all(path_of("settings"), limit=limit, search=search)
    shown = [item for item in items if not changed or item["origin"] != "default"]
    call.rows(shown, "key", "value", "origin", "default", "changeable")


@command.command("get")
@on_node
def get(call: Call, key: Key) -> None:
    """One setting with all that is known of it."""
    call.one(call.api.get(path_of("settings", key)))


@command.command("set")
@on_node
def set_value(
    call: Call, key: Key, value: Annotated[str, typer.Argument(metavar="VALUE", help="Such as off or 32MiB.")]
) -> None:
    """Have all nodes go by a value, at once."""
    kept = call.api.put(path_of("settings", key), {"value": value})
    call.done(f"{key} is {kept['central']} for all nodes", kept)
    if kept["value"] != kept["central"]:
        call.note(f"this node goes by {kept['value']}, from {kept['origin']}, which beats the centre")


@command.command("unset")
@on_node
def unset(call: Call, key: Key, dry_run: DryRun = False, yes: Yes = False) -> None:
    """Have each node go by what it was started with."""

    def do(dry: bool) -> Any:
        path = path_of("settings", key)
        return call.api.get(path) if dry else call.api.delete(path)

    question = f"Take back the central value of {key}?"
    call.change(do, call.one, question=question, dry_run=dry_run, yes=yes)
