"""`braid up`: a node in the foreground. Usual lines do not come here: see `_start_line`."""

from pathlib import Path
from typing import Annotated

import typer

from braidmq.cli._options import (
    ConfigFile,
    Data,
    Flush,
    Http,
    Kafka,
    RocketMQ,
    RocketMQGrpc,
    Sets,
)
from braidmq.cli._start_line import StartLine
from braidmq.settings import READY_FILE_VARIABLE

ReadyFile = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        envvar=READY_FILE_VARIABLE,
        help="Write the bound addresses there, as JSON, once the node is ready.",
    ),
]


def command(
    data: Data = None,
    config: ConfigFile = None,
    flush: Flush = None,
    http: Http = None,
    kafka: Kafka = None,
    rocketmq: RocketMQ = None,
    rocketmq_grpc: RocketMQGrpc = None,
    sets: Sets = None,
    ready_file: ReadyFile = None,
    pipeline: Annotated[bool, typer.Option("--pipeline", help="Run the data pipeline beside the node.")] = False,
) -> None:
    """Start a node here, in the foreground. Ctrl-C stops it.

    Exit status: 0 stopped, 1 failed, 2 wrong usage or setting, 3 storage full, damaged or failed.
    """
    line = StartLine(
        data=data,
        config=config,
        flush=flush,
        http=http,
        kafka=kafka,
        rocketmq=rocketmq,
        rocketmq_grpc=rocketmq_grpc,
        sets=tuple(sets or ()),
        ready_file=ready_file,
        pipeline=pipeline,
    )
    raise typer.Exit(line.run())
