"""`braid report`: who used what, from the pipeline's tables, as the node reads them."""

from typing import Annotated

import typer

from braidmq.cli._api import path_of
from braidmq.cli._call import Call, noun, on_node
from braidmq.cli._times import optional_time_ms

command = noun("Who used what, from the pipeline's tables.")


@command.command("list")
@on_node
def list_reports(call: Call) -> None:
    """The reports that can be had."""
    found = call.api.get(path_of("reports"))["items"]
    columns = ("name", "title", "from=from_ms", "until=until_ms")
    call.rows(found, *columns, empty="there are none yet; the pipeline makes them: braid pipeline run --once")


@command.command("show")
@on_node
def show(
    call: Call,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the list.")],
    begin: Annotated[str | None, typer.Option("--from", metavar="TIME", help="Then or later.")] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Before then.")] = None,
    pressure: Annotated[bool, typer.Option("--pressure", help="With pressure-test traffic.")] = False,
) -> None:
    """One report, of its own span or another; best read with -o json."""
    times = {"from_ms": optional_time_ms(begin, "--from"), "until_ms": optional_time_ms(end, "--to")}
    call.one(call.api.get(path_of("reports", name), pressure=pressure, **times))
