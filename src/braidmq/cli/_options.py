"""Options that several commands share, and how they become settings."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from braidmq.cli._contexts import VARIABLES
from braidmq.model.errors import InvalidSetting
from braidmq.settings import CONFIG_VARIABLE, Given, Loaded, flag, load

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


def load_settings(config: Path | None, sets: Iterable[str] | None, **named: tuple[str, str | None]) -> Loaded:
    """Settings from the file, the environment and the flags. `named` maps a flag to its key and what was given."""
    given = [_split(text) for text in sets or ()]
    given += [flag(key, value, f"--{name}") for name, (key, value) in named.items() if value is not None]
    file = config or (Path(os.environ[CONFIG_VARIABLE]) if os.environ.get(CONFIG_VARIABLE) else None)
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    return load(file=file, environment=environment, flags={item.path: item for item in given})


def listeners(
    http: str | None, kafka: str | None, rocketmq: str | None, rocketmq_grpc: str | None
) -> dict[str, tuple[str, str | None]]:
    """Flags of listeners, by the settings that they are."""
    return {
        "http": ("http.listen", http),
        "kafka": ("kafka.listen", kafka),
        "rocketmq": ("rocketmq.listen", rocketmq),
        "grpc": ("rocketmq_grpc.listen", rocketmq_grpc),
    }


def _split(text: str) -> Given:
    key, equals, value = text.partition("=")
    if not equals:
        raise InvalidSetting(f"--set: {text!r} is not KEY=VALUE, such as log.flush=interval")
    return flag(key, value, "--set")
