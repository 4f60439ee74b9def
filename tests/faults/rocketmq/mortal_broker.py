"""A RocketMQ broker for tests that kill it: mortal_broker.py FOLDER [POINT]

It prints its port when it is ready. A point is the name of a function below: it makes one call of the node its last.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from braidmq.core.delivery import Delivery
from braidmq.core.groups import Groups
from braidmq.core.halves import WaitingRoom
from braidmq.core.timers import Timers
from braidmq.log.embedded import EmbeddedLog
from braidmq.node import Node
from braidmq.protocols.listener import Address, Endpoint
from braidmq.settings import (
    HalvesSettings,
    HttpSettings,
    KafkaSettings,
    LogSettings,
    NodeSettings,
    RocketMQGrpcSettings,
    RocketMQSettings,
    Settings,
)
from braidmq.store import HalfRows, TimerRows

TOPIC = "orders"
QUEUES = 4


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _deadly(kind: type, name: str, *, before: bool = False, calls: int = 1) -> None:
    """Of the calls of this name, this one is the last thing that the node does."""
    real: Callable[..., Any] = getattr(kind, name)
    left = [calls]

    async def call(*arguments: Any, **named: Any) -> Any:
        left[0] -= 1
        if before and left[0] <= 0:
            die()
        result = await real(*arguments, **named)
        if left[0] <= 0:
            die()
        return result

    setattr(kind, name, call)


def message_stored() -> None:
    """Messages are on the disk, and their senders were not told."""
    real = EmbeddedLog.append

    def append(self: EmbeddedLog, entries: Any) -> Any:
        future = real(self, entries)
        future.add_done_callback(lambda _: die())
        return future

    setattr(EmbeddedLog, "append", append)  # noqa: B010 - a method is replaced, which the type checker must not see


def half_unsaved() -> None:
    """A half was taken in, and is not in the log."""
    setattr(WaitingRoom, "_append", lambda _: die())  # noqa: B010


def half_saved() -> None:
    """A half is in the log, and its sender was not told."""
    setattr(WaitingRoom, "_noted", lambda *_: die())  # noqa: B010


def half_unmoved() -> None:
    _deadly(HalfRows, "add", before=True)


def half_moved() -> None:
    """A half is in the store, and the log does not say so."""
    _deadly(HalfRows, "add")


def end_undecided() -> None:
    _deadly(HalfRows, "revise", before=True)


def end_decided() -> None:
    _deadly(HalfRows, "revise")


def commit_appended() -> None:
    _deadly(Delivery, "deliver")


def timer_saved() -> None:
    _deadly(TimerRows, "add")


def timers_claimed() -> None:
    _deadly(TimerRows, "claim")


def timers_delivered() -> None:
    _deadly(Delivery, "deliver")


def timers_forgotten() -> None:
    _deadly(TimerRows, "delete")


def retry_unsaved() -> None:
    _deadly(Timers, "add", before=True)


def retry_saved() -> None:
    _deadly(Timers, "add")


def offset_unsaved() -> None:
    _deadly(Groups, "commit", before=True)


def offset_saved() -> None:
    _deadly(Groups, "commit")


async def main(folder: str, point: str) -> None:
    settings = Settings(
        node=NodeSettings(data=Path(folder), name="mortal"),
        http=HttpSettings(listen=None),
        kafka=KafkaSettings(listen=()),
        rocketmq=RocketMQSettings(listen=(Endpoint(Address("127.0.0.1", 0)),)),
        rocketmq_grpc=RocketMQGrpcSettings(listen=()),
        log=LogSettings(journal_file_bytes=1 << 20),
        halves=HalvesSettings(immunity_s=1, check_interval_s=1),
    )
    node = await Node.start(settings)
    if node.catalog.topic("default", TOPIC) is None:
        await node.topics.create(TOPIC, partitions=QUEUES)
    if point != "none":
        globals()[point]()
    print("port", node.addresses["rocketmq"][0].port, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
