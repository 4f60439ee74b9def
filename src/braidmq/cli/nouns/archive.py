"""`braid archive`: messages of long ago."""

from typing import Annotated

import typer

from braidmq.cli._api import path_of
from braidmq.cli._call import Call, DryRun, noun, on_node
from braidmq.cli._options import ConfigFile, Data, Output, Sets
from braidmq.cli._places import Begin, Bootstrap, End, KafkaSets, TablesPath, place
from braidmq.cli._render import checked_format
from braidmq.cli._times import optional_time_ms

command = noun("Find archived messages, and send them again.")


@command.command("find")
def archive_find(
    id: Annotated[str | None, typer.Option(metavar="ID", help="The message's id.")] = None,
    key: Annotated[str | None, typer.Option(metavar="KEY", help="One of the message's keys.")] = None,
    topic: Annotated[str | None, typer.Option(metavar="TOPIC", help="Its topic.")] = None,
    begin: Begin = None,
    end: End = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many.")] = 100,
    path: TablesPath = None,
    data: Data = None,
    config: ConfigFile = None,
    sets: Sets = None,
    output: Output = "table",
) -> None:
    """Find archived messages, oldest first. Exit status 1 when there are none."""
    from braidmq.cli import _archive

    checked_format(output)
    where = place(data, config, sets, path, "")
    raise typer.Exit(
        _archive.find(where, id=id, key=key, topic=topic, begin=begin, end=end, limit=limit, output=output)
    )


@command.command("search")
@on_node
def archive_search(
    call: Call,
    id: Annotated[str, typer.Option(metavar="ID", help="The message's id.")] = "",
    key: Annotated[str, typer.Option(metavar="KEY", help="One of the message's keys.")] = "",
    topic: Annotated[str, typer.Option(metavar="TOPIC", help="Its topic.")] = "",
    begin: Begin = None,
    end: End = None,
    limit: Annotated[int, typer.Option(min=1, max=999, help="At most so many.")] = 50,
) -> None:
    """Find archived messages where a running node keeps them, oldest first. Exit status 1 when there are none."""
    times = {"from_ms": optional_time_ms(begin, "--from"), "until_ms": optional_time_ms(end, "--to")}
    asked = {"id": id, "key": key, "topic": topic, "limit": limit, "instance": call.instance}
    found = call.api.get(path_of("archive", "messages"), **asked, **times)
    columns = ("stored=stored_ms", "topic", "partition", "offset", "id", "keys", "tag", "body:text")
    call.rows(found["items"], *columns, empty="nothing was found")
    if found["more"]:
        call.note(f"there are more: --limit {min(999, limit * 10)}")
    raise typer.Exit(0 if found["items"] else 1)


@command.command("replay")
def archive_replay(
    topic: Annotated[str, typer.Option(metavar="TOPIC", help="Whose history.")],
    into: Annotated[str, typer.Option(metavar="TOPIC", help="Where to; it must be there.")],
    begin: Begin = None,
    end: End = None,
    name: Annotated[str, typer.Option(metavar="NAME", help="With another name, the same is sent once more.")] = "",
    kafka: KafkaSets = None,
    bootstrap: Bootstrap = None,
    path: TablesPath = None,
    data: Data = None,
    config: ConfigFile = None,
    sets: Sets = None,
    dry_run: DryRun = False,
) -> None:
    """Send history to a topic again. Cut off and called again, it goes on where it was."""
    from braidmq.cli import _archive

    where = place(data, config, sets, path, bootstrap)
    raise typer.Exit(
        _archive.replay(
            where, topic=topic, into=into, begin=begin, end=end, name=name, kafka=kafka or [], dry_run=dry_run
        )
    )
