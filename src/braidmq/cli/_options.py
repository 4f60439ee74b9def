"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from braidmq.settings import CONFIG_VARIABLE

ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", "-c", metavar="FILE", help=f"Settings in TOML; also {CONFIG_VARIABLE}."),
]
Data = Annotated[str | None, typer.Option(metavar="DIR", help="The data folder. Default: ./braid-data")]
Flush = Annotated[str | None, typer.Option(metavar="commit|interval", help="When a message counts as kept.")]
Http = Annotated[str | None, typer.Option(metavar="HOST:PORT|off", help="Where HTTP listens. Default: 127.0.0.1:8400")]
Kafka = Annotated[
    str | None, typer.Option(metavar="HOST:PORT|off", help="Where Kafka clients connect. Default: 127.0.0.1:9092")
]
RocketMQ = Annotated[
    str | None,
    typer.Option(
        "--rocketmq",
        metavar="HOST:PORT|off",
        help="Where RocketMQ clients find name server and broker. Default: 127.0.0.1:9876",
    ),
]
RocketMQGrpc = Annotated[
    str | None,
    typer.Option(
        "--grpc",
        "--rocketmq-grpc",
        metavar="HOST:PORT|off",
        help="Where RocketMQ 5 clients connect. Default: 127.0.0.1:8081",
    ),
]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", metavar="KEY=VALUE", help="Any setting, such as log.segment_bytes=32MiB; repeatable."),
]
Output = Annotated[
    str,
    typer.Option(
        "--output", "-o", metavar="table|json|yaml|csv", help="table for people; json, yaml or csv for scripts."
    ),
]
