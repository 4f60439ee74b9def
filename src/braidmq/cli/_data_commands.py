"""The commands of the data pipeline and of the archive: their options and help."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from braidmq.cli._options import ConfigFile, Data, Output, Sets, load_settings, wants_json

if TYPE_CHECKING:
    from braidmq.cli._pipeline import Place

pipeline_app = typer.Typer(
    help="Archive, reports and audits of messages, on Spark.", no_args_is_help=True, rich_markup_mode=None
)
archive_app = typer.Typer(
    help="Find archived messages, and send them again.", no_args_is_help=True, rich_markup_mode=None
)

Bootstrap = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Where to read. Default: the Kafka port of the settings.")
]
TablesPath = Annotated[
    str | None,
    typer.Option("--path", metavar="DIR", help="Where the tables lie. Default: DATA/pipeline"),
]
Jobs = Annotated[
    str, typer.Argument(metavar="[JOB,JOB...]", help="archive, trace, usage, audit, dlq, lag. Default: all.")
]
Master = Annotated[
    str | None, typer.Option(metavar="URL", help="Spark's master, such as spark://host:7077. Default: local[*]")
]
Conf = Annotated[list[str] | None, typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark; repeatable.")]
KafkaSets = Annotated[
    list[str] | None, typer.Option("--kafka", metavar="KEY=VALUE", help="A setting of the Kafka client; repeatable.")
]
Begin = Annotated[str | None, typer.Option("--from", metavar="TIME", help="Stored then or later, such as 2026-11-16.")]
End = Annotated[str | None, typer.Option("--to", metavar="TIME", help="Stored before then.")]


def _place(
    data: str | None, config: Path | None, sets: list[str] | None, path: str | None, bootstrap: str | None
) -> "Place":
    """Where a command reads, and where its tables lie; an empty bootstrap is that of one that reads no topic."""
    from braidmq.cli._pipeline import place_of

    return place_of(load_settings(config, sets, data=("node.data", data)).settings, bootstrap, path)


@pipeline_app.command("run")
def pipeline_run(
    jobs: Jobs = "",
    once: Annotated[bool, typer.Option("--once", help="Work on all that is there now, and end.")] = False,
    master: Master = None,
    remote: Annotated[str | None, typer.Option(metavar="sc://HOST:PORT", help="A Spark Connect server.")] = None,
    conf: Conf = None,
    bootstrap: Bootstrap = None,
    path: TablesPath = None,
    topics: Annotated[str, typer.Option(metavar="A,B", help="What to archive. Default: as the topics say.")] = "",
    keep: Annotated[str | None, typer.Option(metavar="AGE", help="How long the archive keeps, such as 400d.")] = None,
    keep_topic: Annotated[
        list[str] | None, typer.Option(metavar="TOPIC=AGE", help="The same for one topic; repeatable.")
    ] = None,
    kafka: KafkaSets = None,
    data: Data = None,
    config: ConfigFile = None,
    sets: Sets = None,
) -> None:
    """Run jobs of the data pipeline, all in one Spark session. Ctrl-C stops between two batches."""
    from braidmq.cli import _pipeline

    place = _place(data, config, sets, path, bootstrap)
    raise typer.Exit(
        _pipeline.run(
            place,
            jobs,
            once=once,
            topics=topics,
            master=master,
            remote=remote,
            conf=conf or [],
            kafka=kafka or [],
            keep=keep,
            keep_topics=keep_topic or [],
        )
    )


@pipeline_app.command("submit", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def pipeline_submit(
    context: typer.Context,
    jobs: Jobs = "",
    master: Annotated[str, typer.Option(metavar="URL", help="spark://host:7077, yarn or k8s://...")] = "",
    conf: Conf = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the command.")] = False,
    bootstrap: Bootstrap = None,
    path: TablesPath = None,
    data: Data = None,
    config: ConfigFile = None,
    sets: Sets = None,
) -> None:
    """Run jobs on a Spark cluster: packs this environment, prints the command, and runs it. Downloads nothing.

    Options of `braid pipeline run` may follow.
    """
    from braidmq.cli import _pipeline

    place = _place(data, config, sets, path, bootstrap)
    raise typer.Exit(_pipeline.submit(place, jobs, master, conf or [], context.args, dry_run=dry_run))


@pipeline_app.command("status")
def pipeline_status(
    path: TablesPath = None, data: Data = None, config: ConfigFile = None, sets: Sets = None, output: Output = "table"
) -> None:
    """How the jobs are. Exit status 1 when no pipeline runs."""
    from braidmq.cli import _pipeline

    as_json = wants_json(output)
    place = _place(data, config, sets, path, "")
    raise typer.Exit(_pipeline.status(place, as_json=as_json))


@pipeline_app.command("doctor")
def pipeline_doctor(
    bootstrap: Bootstrap = None,
    path: TablesPath = None,
    data: Data = None,
    config: ConfigFile = None,
    sets: Sets = None,
    output: Output = "table",
) -> None:
    """Check what the pipeline needs: Java, Python of the workers, the folder of the tables, the brokers."""
    from braidmq.cli import _pipeline

    as_json = wants_json(output)
    place = _place(data, config, sets, path, bootstrap)
    raise typer.Exit(_pipeline.doctor(place, as_json=as_json))


@pipeline_app.command("report")
def pipeline_report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where HTML, JSON and CSV are written.")],
    begin: Begin = None,
    end: End = None,
    pressure: Annotated[bool, typer.Option("--pressure", help="With pressure-test traffic.")] = False,
    path: TablesPath = None,
    data: Data = None,
    config: ConfigFile = None,
    sets: Sets = None,
) -> None:
    """The resource report: who used what, as a page with charts and as files. Default: the last day."""
    from braidmq.cli import _pipeline

    place = _place(data, config, sets, path, "")
    raise typer.Exit(_pipeline.report(place, begin=begin, end=end, folder=folder, pressure=pressure))


@archive_app.command("find")
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

    as_json = wants_json(output)
    place = _place(data, config, sets, path, "")
    raise typer.Exit(
        _archive.find(place, id=id, key=key, topic=topic, begin=begin, end=end, limit=limit, as_json=as_json)
    )


@archive_app.command("replay")
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
) -> None:
    """Send history to a topic again. Cut off and called again, it goes on where it was."""
    from braidmq.cli import _archive

    place = _place(data, config, sets, path, bootstrap)
    raise typer.Exit(_archive.replay(place, topic=topic, into=into, begin=begin, end=end, name=name, kafka=kafka or []))
