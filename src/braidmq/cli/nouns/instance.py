"""`braid instance`: tenants that see nothing of each other."""

from typing import Annotated

import typer

from braidmq.cli._api import path_of
from braidmq.cli._call import LIMIT, Call, DryRun, Limit, Search, Yes, noun, on_node

command = noun("Instances: tenants that see nothing of each other.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The instance.")]


@command.command("list")
@on_node
def list_instances(call: Call, search: Search = "", limit: Limit = LIMIT) -> None:
    """All instances."""
    call.page(path_of("instances"), "name", "description", "topics", "groups", limit=limit, search=search)


@command.command("show")
@on_node
def show(call: Call, name: Name) -> None:
    """One instance, and how much is in it."""
    call.one(call.api.get(path_of("instances", name)))


@command.command("create")
@on_node
def create(
    call: Call, name: Name, description: Annotated[str, typer.Option(metavar="TEXT", help="What it is for.")] = ""
) -> None:
    """Make an instance."""
    made = call.api.post(path_of("instances"), {"name": name, "description": description})
    call.done(f"instance {name} is made", made)


@command.command("delete")
@on_node
def delete(call: Call, name: Name, dry_run: DryRun = False, yes: Yes = False) -> None:
    """Delete an instance without topics, with its groups and subscriptions."""
    call.change(
        lambda dry: call.api.delete(path_of("instances", name), dry_run=dry),
        call.one,
        question=f"Delete the instance {name}?",
        dry_run=dry_run,
        yes=yes,
    )
