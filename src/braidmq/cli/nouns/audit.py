"""`braid audit`: who changed what."""

from typing import Annotated

import typer

from braidmq.cli._api import path_of
from braidmq.cli._call import Call, Limit, Search, on_node
from braidmq.cli._times import optional_time_ms


@on_node
def command(
    call: Call,
    search: Search = "",
    actor: Annotated[str, typer.Option(metavar="TEXT", help="A part of the protocol and address.")] = "",
    begin: Annotated[str | None, typer.Option("--from", metavar="TIME", help="Then or later, such as 2h.")] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Before then.")] = None,
    limit: Limit = 100,
) -> None:
    """Who changed what, the latest first."""
    times = {"from_ms": optional_time_ms(begin, "--from"), "until_ms": optional_time_ms(end, "--to")}
    call.page(
        path_of("audit"),
        "at=at_ms", "actor", "operation", "resource", "name", "outcome", "detail:text",
        limit=limit, search=search, actor=actor, **times,
        empty="nobody has changed anything",
    )  # fmt: skip
