"""`braid doctor`: is this machine fit to run a node?"""

import typer

from braidmq.cli._given import listeners, load_settings
from braidmq.cli._options import (
    ConfigFile,
    Data,
    Http,
    Kafka,
    Output,
    RocketMQ,
    RocketMQGrpc,
    Sets,
)
from braidmq.cli._render import checked_format


def command(
    data: Data = None,
    config: ConfigFile = None,
    http: Http = None,
    kafka: Kafka = None,
    rocketmq: RocketMQ = None,
    rocketmq_grpc: RocketMQGrpc = None,
    sets: Sets = None,
    output: Output = "table",
) -> None:
    """Check whether this machine is fit to run a node, and say what to do where it is not.

    Exit status 1 when a check fails.
    """
    from braidmq.cli._doctor import run_doctor

    checked_format(output)
    loaded = load_settings(config, sets, data=("node.data", data), **listeners(http, kafka, rocketmq, rocketmq_grpc))
    raise typer.Exit(run_doctor(loaded.settings, output=output))
