"""What `braid up` is told, and the quick way to read it.

The machinery that reads all other commands knows help and many kinds of values. It takes longer to import than the log
takes to open, and would stay in the node's memory. So the words with which a node is usually started are read here.
What `plain_line` makes of them is what `nouns/up.py` would make of them, which a test holds; anything else (help, a
wrong option, a value that looks like one) it leaves to that.
"""

import gc
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from braidmq.cli._given import listeners, load_settings
from braidmq.settings import READY_FILE_VARIABLE

_FIELDS: Final = {
    "--data": "data",
    "--config": "config",
    "--flush": "flush",
    "--http": "http",
    "--kafka": "kafka",
    "--rocketmq": "rocketmq",
    "--grpc": "rocketmq_grpc",
    "--rocketmq-grpc": "rocketmq_grpc",
    "--ready-file": "ready_file",
}
"""Options with a value, of which the last one counts."""
_SHORT: Final = {"-c": "--config", "-s": "--set"}
_PATHS: Final = frozenset({"config", "ready_file"})


class StartLine(NamedTuple):
    """What `braid up` was told."""

    data: str | None = None
    config: Path | None = None
    flush: str | None = None
    http: str | None = None
    kafka: str | None = None
    rocketmq: str | None = None
    rocketmq_grpc: str | None = None
    sets: tuple[str, ...] = ()
    ready_file: Path | None = None
    pipeline: bool = False

    def run(self) -> int:
        """Run the node; the exit status. Raises what prevents the start."""
        named = {"data": ("node.data", self.data), "flush": ("log.flush", self.flush)}
        listening = listeners(self.http, self.kafka, self.rocketmq, self.rocketmq_grpc)
        loaded = load_settings(self.config, self.sets, **named, **listening)
        gc.disable()  # imports make much that stays: the node sets the collector to work when it is ready
        from braidmq.cli._up import run_node  # the whole node: not before the settings are known to be right

        return run_node(loaded.settings, self.ready_file, with_pipeline=self.pipeline, origins=loaded.origins)


def plain_line(words: Sequence[str], environment: Mapping[str, str]) -> StartLine | None:
    """What the words behind `braid up` say; None where they are not plain."""
    said: dict[str, Any] = {}
    if environment.get(READY_FILE_VARIABLE):
        said["ready_file"] = Path(environment[READY_FILE_VARIABLE])
    sets: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--pipeline":
            said["pipeline"] = True
            continue
        option, equals, value = _SHORT.get(word, word).partition("=")
        field = _FIELDS.get(option)
        if not equals:
            value = next(rest, "")
        if not value or value.startswith("-") or (field is None and option != "--set"):
            return None
        if field is None:
            sets.append(value)
        else:
            said[field] = Path(value) if field in _PATHS else value
    return StartLine(**said, sets=tuple(sets))
