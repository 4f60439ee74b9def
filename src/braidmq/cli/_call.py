"""What every command that speaks with a node has: options for the node and for the form of results, and the means.

A command is a function whose first parameter is a `Call`; `on_node` makes it one that typer understands, with the
shared options behind its own.
"""

import contextlib
import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Concatenate, Final, ParamSpec

import typer

from braidmq.cli._api import Api
from braidmq.cli._contexts import resolve
from braidmq.cli._render import checked_format, show_one, show_rows

P = ParamSpec("P")

LIMIT: Final = 1_000


class Call:
    """A node, an instance of it, and the form in which results are wanted."""

    def __init__(self, api: Api, instance: str, output: str) -> None:
        self.api = api
        self.instance = instance
        self.output = output

    def rows(self, items: Sequence[Mapping[str, Any]], *columns: str, empty: str = "") -> None:
        """Show many; where there are none, a table says so instead."""
        if not items and self.output == "table" and empty:
            self.note(empty)
            return
        show_rows(items, columns, self.output)

    def page(self, path: str, *columns: str, limit: int, empty: str = "", **query: Any) -> None:
        """Show a list with pages, and say what was left out."""
        items, total = self.api.all(path, limit=limit, **query)
        self.rows(items, *columns, empty=empty)
        if total > len(items):
            self.note(f"{total - len(items)} more are there: --limit {total}")

    def one(self, item: Mapping[str, Any]) -> None:
        """Show one thing."""
        show_one(item, self.output)

    def done(self, text: str, item: Mapping[str, Any] | None = None) -> None:
        """A sentence for people; for scripts, the thing that it is about."""
        if self.output == "table":
            print(text)
        else:
            show_one(item if item is not None else {"done": text}, self.output)

    def note(self, text: str) -> None:
        """For a person who looks: never in what a script reads."""
        if self.output == "table":
            print(f"braid: {text}", file=sys.stderr)

    def change(
        self,
        do: Callable[[bool], Any],
        show: Callable[[Any], None],
        *,
        question: str,
        dry_run: bool,
        yes: bool,
    ) -> Any:
        """Do what cannot be undone: `do(True)` says what would be. At a terminal that is shown first, and then the
        question is put."""
        if dry_run:
            preview = do(True)
            show(preview)
            self.note("nothing was changed: this was a dry run")
            return preview
        if not yes and is_asked():
            with contextlib.redirect_stdout(sys.stderr):  # the output is for the result alone
                show(do(True))
            if not typer.confirm(question, err=True):
                raise typer.Exit(1)
        result = do(False)
        show(result)
        return result


def is_asked() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


Url = Annotated[str, typer.Option(metavar="URL", help="The node's HTTP address; also BRAID_URL.")]
ContextName = Annotated[str, typer.Option(metavar="NAME", help="A context; also BRAID_CONTEXT.")]
InstanceName = Annotated[str, typer.Option(metavar="NAME", help="The instance of topics and groups.")]
Format = Annotated[
    str, typer.Option("--output", "-o", metavar="table|json|yaml|csv", help="The form of what is printed.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Limit = Annotated[int, typer.Option(min=1, max=1_000_000, help="At most so many.")]
Search = Annotated[str, typer.Option(metavar="TEXT", help="Only those that have this in them.")]
Sort = Annotated[str, typer.Option(metavar="FIELD", help="By what; with - before it, the other way round.")]

_SHARED: Final[Mapping[str, tuple[Any, str]]] = {
    "url": (Url, ""),
    "context": (ContextName, ""),
    "instance": (InstanceName, ""),
    "output": (Format, "table"),
}


def on_node(function: Callable[Concatenate[Call, P], None]) -> Callable[..., None]:
    """A command that speaks with a node."""

    def run(**given: Any) -> None:
        output = checked_format(given.pop("output"))
        chosen = resolve(given.pop("url"), given.pop("context"), given.pop("instance"))
        with Api(chosen.url) as api, _enough_is_enough():
            function(Call(api, chosen.instance, output), **given)  # type: ignore[call-arg]  # typer gives what it wants

    own = list(inspect.signature(function).parameters.values())[1:]
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in _SHARED.items()
    ]
    parameters = [*own, *shared]
    functools.update_wrapper(run, function, assigned=("__module__", "__name__", "__qualname__", "__doc__"))
    del run.__wrapped__  # type: ignore[attr-defined]  # else typer would read the options of the function within
    run.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": None}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # inspect reads it
    return run


@contextlib.contextmanager
def _enough_is_enough() -> Iterator[None]:
    """Who reads from the pipe may have had enough, as `head` has; that is no failure."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None


def noun(help: str) -> typer.Typer:
    """The commands about one kind of thing."""
    return typer.Typer(
        help=help,
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
