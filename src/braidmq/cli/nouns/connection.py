"""`braid connection`: who is connected."""

from typing import Annotated

import typer

from braidmq.cli._api import path_of
from braidmq.cli._call import LIMIT, Call, Limit, Search, Sort, noun, on_node

command = noun("Who is connected, on every protocol.")


@command.command("list")
@on_node
def list_connections(
    call: Call,
    protocol: Annotated[str, typer.Option(metavar="NAME", help="Only those of kafka, rocketmq, ...")] = "",
    search: Search = "",
    sort: Sort = "",
    limit: Limit = LIMIT,
) -> None:
    """Connections to the node that work in the instance, or may. Kafka's and RocketMQ's clients work in default; who
    speaks HTTP names one with each request. Sorted by client_id, protocol, address, since or last_seen."""
    call.page(
        path_of("connections"),
        "protocol", "client_id", "address", "groups", "topics", "since=since_ms", "last_seen=last_seen_ms", "version",
        limit=limit, protocol=protocol, search=search, sort=sort, instance=call.instance,
        empty="nobody is connected",
    )  # fmt: skip
