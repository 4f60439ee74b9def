"""`braid node`: the nodes that there are, and everything at a glance."""

from braidmq.cli._api import path_of
from braidmq.cli._call import Call, noun, on_node

command = noun("The nodes that there are, and everything at a glance.")


@command.command("list")
@on_node
def list_nodes(call: Call) -> None:
    """The nodes that have reported of late, and where they listen."""
    call.rows(call.api.get(path_of("nodes")), "name", "seen=seen_ms", "listeners")


@command.command("overview")
@on_node
def overview(call: Call) -> None:
    """How much there is, comes and goes, and what needs somebody."""
    found = call.api.get(path_of("overview"))
    if call.output != "table":
        call.one(found)
        return
    call.one({name: value for name, value in found.items() if name not in ("rates_by_protocol", "nodes")})
    print()
    rates = [{"protocol": name, **each} for name, each in found["rates_by_protocol"].items()]
    call.rows(rates, "protocol", "in/s=messages_in", "out/s=messages_out", "in=bytes_in:bytes", "out=bytes_out:bytes")
