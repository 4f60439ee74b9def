"""`braid top`: a running node at a glance, live. Where nobody looks, one look in plain text."""

import contextlib
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from braidmq.cli._api import path_of
from braidmq.cli._call import Call, on_node
from braidmq.cli._formats import as_json
from braidmq.cli._render import show_rows

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

SHOWN_MAX: Final = 10
LOOK_EVERY: Final = 5
"""Lists of topics and groups are looked up with every fifth event."""

Look = Mapping[str, list[Any]]


@on_node
def command(
    call: Call,
    count: Annotated[
        int | None, typer.Option("--count", "-n", min=1, help="End after so many looks, one in a second.")
    ] = None,
) -> None:
    """Rates by protocol, the busiest topics, the groups that are behind, and alarms. Ctrl-C ends it."""
    events = call.api.events(path_of("events"))
    with contextlib.suppress(KeyboardInterrupt):
        if call.output == "json":
            _print_lines(events, count)
        elif sys.stdout.isatty():
            _live(call, events, count)
        else:
            _print_plain(next(event for _, event in events), _look(call))


def _print_lines(events: Any, count: int | None) -> None:
    for number, (_, event) in enumerate(events, 1):
        sys.stdout.buffer.write(as_json(event))
        sys.stdout.buffer.flush()
        if number == count:
            return


def _print_plain(event: Mapping[str, Any], look: Look) -> None:
    show_rows(_rates(event), ("protocol", *_RATE_COLUMNS), "table")
    print(f"\nlag {event['lag']}, connections {event['connections']}, alarms firing {event['alarms_firing']}\n")
    show_rows(look["topics"], _TOPIC_COLUMNS, "table")
    print()
    show_rows(look["groups"], _GROUP_COLUMNS, "table")


_RATE_COLUMNS = ("in/s=messages_in", "out/s=messages_out", "in=bytes_in:bytes", "out=bytes_out:bytes")
_TOPIC_COLUMNS = ("topic=name", "messages", "in/s=rate_in", "out/s=rate_out", "lag")
_GROUP_COLUMNS = ("group=name", "state", "members", "lag", "out/s=rate_out", "in_flight")


def _rates(event: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"protocol": name, **rate} for name, rate in event["rates"].items()]


def _look(call: Call) -> Look:
    asked = {"page_size": SHOWN_MAX, "instance": call.instance}
    return {
        "topics": call.api.get(path_of("topics"), sort="-rate_in", **asked)["items"],
        "groups": call.api.get(path_of("groups"), sort="-lag", **asked)["items"],
    }


def _live(call: Call, events: Any, count: int | None) -> None:
    from rich.live import Live

    look = _look(call)
    with Live(auto_refresh=False, screen=count is None) as live:
        for number, (_, event) in enumerate(events, 1):
            if number % LOOK_EVERY == 0:
                look = _look(call)
            live.update(_screen(call, event, look), refresh=True)
            if number == count:
                return


def _screen(call: Call, event: Mapping[str, Any], look: Look) -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    head = Text.assemble(
        ("BraidMQ ", "bold"), call.api.url, f"   lag {event['lag']:,}   connections {event['connections']:,}   "
    )
    head.append(f"alarms {event['alarms_firing']}", "bold red" if event["alarms_firing"] else "green")
    alarms = [Text(f"{each['severity']}: {each['text']}", "red") for each in event["alarms"]]
    return Group(
        head,
        *alarms,
        _table(_rates(event), "protocol", "messages_in", "messages_out", "bytes_in", "bytes_out"),
        _table(look["topics"], "name", "messages", "rate_in", "rate_out", "lag", title="topics"),
        _table(look["groups"], "name", "state", "members", "lag", "rate_out", title="groups"),
    )


def _table(rows: list[Any], *fields: str, title: str = "") -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, title=title or None, title_justify="left", pad_edge=False, expand=False)
    for field in fields:
        table.add_column(field, justify="left" if field in ("name", "protocol", "state") else "right")
    for row in rows:
        table.add_row(
            *(Text(f"{each:,.1f}" if isinstance(each, float) else str(each)) for each in map(row.get, fields))
        )
    return table
