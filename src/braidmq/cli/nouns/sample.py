"""`braid sample`: figures of the last day, as the node has kept them."""

from typing import Annotated, Any

import typer

from braidmq.cli._api import path_of
from braidmq.cli._call import Call, noun, on_node
from braidmq.cli._names import OfGroup, OfTopic
from braidmq.cli._times import optional_time_ms, span_ms

command = noun("Figures of the last day, of the node, a topic or a group.")


@command.command("list")
@on_node
def list_names(call: Call, topic: OfTopic = None, group: OfGroup = None) -> None:
    """Which figures there are of the node, a topic or a group."""
    found = call.api.get(path_of("samples"), topic=topic, group=group, instance=call.instance)
    call.rows([{"name": name, "says": says} for name, says in found["names"].items()], "name", "says")


@command.command("show")
@on_node
def show(
    call: Call,
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Figures of the list.")],
    topic: OfTopic = None,
    group: OfGroup = None,
    begin: Annotated[str | None, typer.Option("--from", metavar="TIME", help="Default: the last hour.")] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Default: now.")] = None,
    step: Annotated[str, typer.Option(metavar="SPAN", help="One point for so long, such as 5m.")] = "1m",
    maximum: Annotated[bool, typer.Option("--maximum", help="The maximum of a step, not its average.")] = False,
) -> None:
    """Figures over time, one row for each point."""
    asked = {"names": ",".join(names), "topic": topic, "group": group, "step_s": span_ms(step, "--step") // 1000}
    times = {"from_ms": optional_time_ms(begin, "--from"), "until_ms": optional_time_ms(end, "--to")}
    found = call.api.get(path_of("samples"), **asked, **times, maximum=maximum, instance=call.instance)
    call.rows(_rows(found["series"]), "at=at_ms", "name", "value", empty="nothing was kept of that time yet")


def _rows(series: list[Any]) -> list[dict[str, Any]]:
    return [
        {"at_ms": at_ms, "name": each["name"], "value": value} for each in series for at_ms, value in each["points"]
    ]
