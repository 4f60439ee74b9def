"""A node that kills itself at a chosen point of a transaction: mortal_node.py FOLDER POINT

It prints its port when it is ready. The points are the names of functions below; each of them makes one call of the
node deadly, before or after it is done.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from braidmq.core.groups import Groups
from braidmq.core.groups._pending import PendingOffsets
from braidmq.core.transactions import Transactions
from braidmq.log.embedded import EmbeddedLog
from braidmq.model import Transaction, TransactionState
from braidmq.node import Node
from braidmq.protocols.listener import Address, Endpoint
from braidmq.settings import (
    HttpSettings,
    KafkaSettings,
    LogSettings,
    NodeSettings,
    RocketMQGrpcSettings,
    RocketMQSettings,
    Settings,
)
from braidmq.store import TransactionRows

Call = Callable[..., Awaitable[Any]]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def deadly(kind: type, name: str, *, before: bool, when: Callable[..., bool] = lambda *_, **__: True) -> None:
    """From now on, the call of this name is the node's last."""
    real: Call = getattr(kind, name)

    async def call(*arguments: Any, **named: Any) -> Any:
        if before and when(*arguments, **named):
            die()
        result = await real(*arguments, **named)
        if when(*arguments, **named):
            die()
        return result

    setattr(kind, name, call)


def saving(*states: TransactionState) -> Callable[[TransactionRows, Transaction], bool]:
    return lambda _, transaction: transaction.state in states


def _save(*states: TransactionState, before: bool) -> None:
    deadly(TransactionRows, "save", before=before, when=saving(*states))


def beginning_unsaved() -> None:
    _save(TransactionState.EMPTY, before=True)


def beginning_saved() -> None:
    _save(TransactionState.EMPTY, before=False)


def partitions_unsaved() -> None:
    _save(TransactionState.ONGOING, before=True)


def partitions_saved() -> None:
    _save(TransactionState.ONGOING, before=False)


def record_stored() -> None:
    """The record is on the disk, and nobody was told."""
    real = EmbeddedLog.append_then

    def append_then(self: EmbeddedLog, entries: Any, answer: Any) -> None:
        is_record = any(batch.is_transactional and not batch.is_control for _, batch in entries)
        real(self, entries, (lambda _: die()) if is_record else answer)

    setattr(EmbeddedLog, "append_then", append_then)  # noqa: B010 - a method is replaced, which the type checker must not see


def offsets_pending() -> None:
    deadly(Groups, "commit_in_transaction", before=False)


def decision_unsaved() -> None:
    _save(TransactionState.COMMITTING, TransactionState.ABORTING, before=True)


def decision_saved() -> None:
    _save(TransactionState.COMMITTING, TransactionState.ABORTING, before=False)


def partitions_told() -> None:
    deadly(Transactions, "_tell_partitions", before=False)


def offsets_counted() -> None:
    deadly(PendingOffsets, "end", before=True)


def groups_told() -> None:
    deadly(Groups, "end_transaction", before=False)


def end_unsaved() -> None:
    _save(TransactionState.COMMITTED, TransactionState.ABORTED, before=True)


def end_saved() -> None:
    _save(TransactionState.COMMITTED, TransactionState.ABORTED, before=False)


async def main(folder: str, point: str) -> None:
    settings = Settings(
        node=NodeSettings(data=Path(folder)),
        http=HttpSettings(listen=None),
        kafka=KafkaSettings(listen=(Endpoint(Address("127.0.0.1", 0)),)),
        rocketmq=RocketMQSettings(listen=()),
        rocketmq_grpc=RocketMQGrpcSettings(listen=()),
        log=LogSettings(journal_file_bytes=1 << 20),
    )
    node = await Node.start(settings)
    if node.catalog.topic("default", "orders") is None:
        await node.topics.create("orders", partitions=2)
    if point != "none":
        globals()[point]()
    print("port", node.addresses["kafka"][0].port, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
