"""`braid context`: names for nodes, so that nobody types addresses."""

from typing import Annotated

import msgspec
import typer

from braidmq.cli._call import DryRun, Format, Yes, is_asked, noun
from braidmq.cli._contexts import Context, Contexts, checked, contexts_file, read_contexts, resolve, write_contexts
from braidmq.cli._names import context_names
from braidmq.cli._render import checked_format, show_one, show_rows
from braidmq.settings import redact_url

command = noun("Which node the commands speak with.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The context.", autocompletion=context_names)]


@command.command("add")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="The node's HTTP address.")],
    instance: Annotated[str, typer.Option(metavar="NAME", help="The instance of topics and groups.")] = "default",
    select: Annotated[bool, typer.Option("--select", help="And use it from now on.")] = False,
) -> None:
    """Give a node a name. The first one is also selected."""
    kept = read_contexts()
    context = checked(name, Context(url, instance))
    selected = name if select or not kept.contexts else kept.selected
    write_contexts(msgspec.structs.replace(kept, contexts={**kept.contexts, name: context}, selected=selected))
    print(f"{name} is {redact_url(url)}{', and selected' if selected == name else ''}")


@command.command("select")
def select(name: Name) -> None:
    """Use a context from now on."""
    kept = read_contexts()
    kept.named(name)
    write_contexts(msgspec.structs.replace(kept, selected=name))
    print(f"{name} is selected")


@command.command("list")
def list_contexts(output: Format = "table") -> None:
    """All contexts."""
    kept = read_contexts()
    rows = [
        {"name": name, "url": redact_url(each.url), "instance": each.instance, "selected": name == kept.selected}
        for name, each in kept.contexts.items()
    ]
    show_rows(rows, ("name", "url", "instance", "selected"), checked_format(output))


@command.command("show")
def show(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="A context. Default: what counts now.")] = "",
    output: Format = "table",
) -> None:
    """A context, or what counts now from flags, environment and file."""
    found = read_contexts().named(name) if name else resolve("", "", "")
    shown = {"url": redact_url(found.url), "instance": found.instance, "file": str(contexts_file())}
    show_one(shown, checked_format(output))


@command.command("remove")
def remove(name: Name, dry_run: DryRun = False, yes: Yes = False) -> None:
    """Forget a context. The node is not touched."""
    kept = read_contexts()
    kept.named(name)
    if dry_run:
        print(f"{name} would be forgotten")
        return
    if not yes and is_asked() and not typer.confirm(f"Forget the context {name}?", err=True):
        raise typer.Exit(1)
    others = {each: context for each, context in kept.contexts.items() if each != name}
    selected = "" if kept.selected == name else kept.selected
    write_contexts(Contexts(contexts=others, selected=selected))
    print(f"{name} is forgotten")
