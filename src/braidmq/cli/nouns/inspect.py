"""`braid inspect`: what the node finds when it looks at itself."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from braidmq.cli._api import path_of
from braidmq.cli._call import LIMIT, Call, Limit, noun, on_node

command = noun("Let the node inspect itself, and read what it found.")


@command.command("run")
@on_node
def run(call: Call) -> None:
    """Inspect the node now. Exit status 1 when something fails."""
    report = call.api.post(path_of("inspections"))
    _show(call, report)
    raise typer.Exit(1 if report["standing"] == "fail" else 0)


@command.command("list")
@on_node
def list_inspections(call: Call, limit: Limit = LIMIT) -> None:
    """The last hundred inspections, the latest first."""
    call.page(
        path_of("inspections"),
        "id", "at=at_ms", "node", "cause", "standing", "counts", "took=took_ms",
        limit=limit,
        empty="there was no inspection yet; make one: braid inspect run",
    )  # fmt: skip


@command.command("show")
@on_node
def show(
    call: Call,
    id: Annotated[str, typer.Argument(metavar="[ID]", help="Of the list. Default: the latest.")] = "",
) -> None:
    """One inspection with all that it found."""
    _show(call, call.api.get(path_of("inspections", id or _latest(call))))


def _latest(call: Call) -> str:
    found, _ = call.api.all(path_of("inspections"), limit=1)
    if not found:
        call.note("there was no inspection yet; make one: braid inspect run")
        raise typer.Exit(1)
    return str(found[0]["id"])


def _show(call: Call, report: Mapping[str, Any]) -> None:
    if call.output != "table":
        call.one(report)
        return
    call.rows(report["findings"], "standing", "check", "subject", "found", "to do=advice", "command")
