"""`braid pipeline`: the data pipeline on Spark."""

from pathlib import Path
from typing import Annotated

import typer

from braidmq.cli._call import noun
from braidmq.cli._options import ConfigFile, Data, Output, Sets
from braidmq.cli._places import Begin, Bootstrap, End, KafkaSets, TablesPath, place
from braidmq.cli._render import checked_format

command = noun("Archive, reports and audits of messages, on Spark.")

Jobs = Annotated[
    str, typer.Argument(metavar="[JOB,JOB...]", help="archive, trace, usage, audit, dlq, lag. Default: all.")
]
Master = Annotated[
    str | None, typer.Option(metavar="URL", help="Spark's master, such as spark://host:7077. Default: local[*]")
]
Conf = Annotated[list[str] | None, typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark; repeatable.")]


@command.command("run")
def pipeline_run(
    jobs: Jobs = "",
    once: Annotated[
        bool,
        typer.Option(
            "--once", help="Work on all that is there now, and end: 1 a job failed, 7 the archive is unsound."
        ),
    ] = False,
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
    keep_pressure: Annotated[
        str | None, typer.Option(metavar="AGE", help="How long the archive keeps pressure-test traffic. Default: 1d.")
    ] = None,
    keep_history: Annotated[
        str | None, typer.Option(metavar="AGE", help="How long history by the minute is kept, such as 90d.")
    ] = None,
    allow_data_loss: Annotated[
        bool, typer.Option("--allow-data-loss", help="Archive on behind messages that were gone before they were read.")
    ] = False,
    kafka: KafkaSets = None,
    data: Data = None,
    config: ConfigFile = None,
    sets: Sets = None,
) -> None:
    """Run jobs of the data pipeline, all in one Spark session. Ctrl-C stops between two batches."""
    from braidmq.cli import _pipeline

    where = place(data, config, sets, path, bootstrap)
    raise typer.Exit(
        _pipeline.run(
            where,
            jobs,
            once=once,
            topics=topics,
            master=master,
            remote=remote,
            conf=conf or [],
            kafka=kafka or [],
            keep=keep,
            keep_topics=keep_topic or [],
            keep_pressure=keep_pressure,
            keep_history=keep_history,
            allow_data_loss=allow_data_loss,
        )
    )


@command.command("submit", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
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

    where = place(data, config, sets, path, bootstrap)
    raise typer.Exit(_pipeline.submit(where, jobs, master, conf or [], context.args, dry_run=dry_run))


@command.command("status")
def pipeline_status(
    path: TablesPath = None, data: Data = None, config: ConfigFile = None, sets: Sets = None, output: Output = "table"
) -> None:
    """How the jobs are. Exit status 1 when no pipeline runs."""
    from braidmq.cli import _pipeline

    checked_format(output)
    where = place(data, config, sets, path, "")
    raise typer.Exit(_pipeline.status(where, output=output))


@command.command("doctor")
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

    checked_format(output)
    where = place(data, config, sets, path, bootstrap)
    raise typer.Exit(_pipeline.doctor(where, output=output))


@command.command("report")
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

    where = place(data, config, sets, path, "")
    raise typer.Exit(_pipeline.report(where, begin=begin, end=end, folder=folder, pressure=pressure))
