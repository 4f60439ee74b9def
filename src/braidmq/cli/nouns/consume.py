"""`braid consume`: messages to a pipe or a screen."""

import contextlib
import itertools
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from braidmq.cli._call import Call, on_node
from braidmq.cli._formats import Writer, as_json, parsed_format
from braidmq.cli._names import TopicName, group_names
from braidmq.cli._reading import Reading, received
from braidmq.model.errors import InvalidSetting


@on_node
def command(
    call: Call,
    topic: TopicName,
    place: Annotated[
        str,
        typer.Option(
            "--from", metavar="PLACE", help="earliest, latest, an offset, -N (the last N), or a time such as 2h."
        ),
    ] = "latest",
    partition: Annotated[
        list[int] | None, typer.Option("--partition", "-p", min=0, help="Only this one; repeatable.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="End after so many.")] = None,
    follow: Annotated[
        bool, typer.Option("--follow/--exit-at-end", "-F/-e", help="Wait for more, or end at what is there now.")
    ] = True,
    tag: Annotated[str, typer.Option(metavar="EXPRESSION", help="Tags, such as 'paid || refunded'.")] = "",
    sql: Annotated[str, typer.Option(metavar="EXPRESSION", help="SQL92 over properties, such as 'amount > 10'.")] = "",
    format: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            metavar="TEXT",
            help="%t topic, %p partition, %o offset, %k key, %v body, %h headers, %T born, %i id, %g tag, %s size.",
        ),
    ] = r"%v\n",
    json_lines: Annotated[bool, typer.Option("--json", "-J", help="Each message as JSON in a line.")] = False,
    group: Annotated[
        str | None,
        typer.Option(
            metavar="GROUP", help="As a member of it: what it has had does not come again.", autocompletion=group_names
        ),
    ] = None,
) -> None:
    """Read messages. Ctrl-C ends it."""
    writer = as_json if json_lines or call.output == "json" else parsed_format(format)
    chosen = _chosen(tag, sql)
    if group is not None:
        messages = received(call, group, topic, chosen, follow=follow, limit=limit)
    else:
        reading = Reading(call, topic, partition, chosen)
        messages = reading.follow(place) if follow else reading.to_end(place)
    with contextlib.suppress(KeyboardInterrupt):
        _write_all(itertools.islice(messages, limit) if group is None else messages, writer)


def _chosen(tag: str, sql: str) -> dict[str, Any]:
    if tag and sql:
        raise InvalidSetting("take one of --tag and --sql")
    return {"filter": tag or sql, "filter_kind": "sql" if sql else "tag"} if tag or sql else {}


def _write_all(messages: Iterator[Any], writer: Writer) -> None:
    out = sys.stdout.buffer
    for message in messages:
        out.write(writer(message))
        out.flush()
