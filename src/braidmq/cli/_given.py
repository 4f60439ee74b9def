"""From what a command line says to the settings of a node."""

import os
from collections.abc import Iterable
from pathlib import Path

from braidmq.cli._contexts import VARIABLES
from braidmq.model.errors import InvalidSetting
from braidmq.settings import CONFIG_VARIABLE, Given, Loaded, flag, load


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
