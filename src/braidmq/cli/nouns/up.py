"""`braid up`: a node in the foreground."""

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
    listeners,
    load_settings,
)
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
    named = {"data": ("node.data", data), "flush": ("log.flush", flush)}
    loaded = load_settings(config, sets, **named, **listeners(http, kafka, rocketmq, rocketmq_grpc))
    from braidmq.cli._up import run_node  # the whole node: not before the settings are known to be right

    raise typer.Exit(run_node(loaded.settings, ready_file, with_pipeline=pipeline, origins=loaded.origins))
