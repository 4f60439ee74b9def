"""What tests of transactions share: rows and pending offsets in memory, a clock, and short ways to write and read."""

import asyncio
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from braidmq.core.transactions import ProducerIdentity, Transactions
from braidmq.log import AppendResult, GroupOffset
from braidmq.log.memory import MemoryLog
from braidmq.model import BraidError, Topic, Transaction
from braidmq.model.errors import StoreFailed
from braidmq.records import Batch, Record, build_batch
from contract.harness import Clock, LogUnderTest

TIMEOUT_MS = 60_000
PARTITIONS = (1, 2, 3)


class Rows:
    """Rows that outlive a coordinator, and fail when they are told to."""

    def __init__(self) -> None:
        self.by_id: dict[str, Transaction] = {}
        self.next_producer_id = 1000
        self.saves = 0
        self.is_failing = False
        self.keeps_what_fails = False
        """Whether a write that is answered as failed was carried out all the same."""
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()

    async def load(self) -> list[Transaction]:
        return list(self.by_id.values())

    async def save(self, transaction: Transaction) -> None:
        await self.may_go_on.wait()
        if not self.is_failing or self.keeps_what_fails:
            self.by_id[transaction.id] = transaction
            self.saves += 1
        self._check()

    async def delete(self, id: str) -> None:
        self._check()
        self.by_id.pop(id, None)

    async def take_producer_ids(self, count: int) -> range:
        self._check()
        self.next_producer_id += count
        return range(self.next_producer_id - count, self.next_producer_id)

    def _check(self) -> None:
        if self.is_failing:
            raise StoreFailed("as the test wants it")


class Offsets:
    """Pending and committed group offsets."""

    def __init__(self) -> None:
        self.pending: dict[int, dict[str, dict[int, GroupOffset]]] = {}
        self.committed: dict[str, dict[int, GroupOffset]] = {}
        self.refusal: BraidError | None = None

    async def commit_in_transaction(
        self, group: str, producer_id: int, _member: object, offsets: Mapping[int, GroupOffset]
    ) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.pending.setdefault(producer_id, {}).setdefault(group, {}).update(offsets)

    async def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        if self.refusal is not None:
            raise self.refusal
        for group, offsets in self.pending.pop(producer_id, {}).items():
            if commit:
                self.committed.setdefault(group, {}).update(offsets)


class Broken(MemoryLog):
    """A log that refuses when it is told to."""

    refusal: BraidError | None = None

    def append(self, entries: Any) -> "asyncio.Future[list[AppendResult]]":
        if self.refusal is None:
            return super().append(entries)
        refused: asyncio.Future[list[AppendResult]] = asyncio.get_running_loop().create_future()
        refused.set_result([self.refusal for _ in entries])
        return refused


class Desk:
    """A coordinator with all that it works on. `restart` is another life of it."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.rows = Rows()
        self.offsets = Offsets()
        self.log = Broken(self.clock)
        self.transactions = self._coordinator()

    def _coordinator(self) -> Transactions:
        return Transactions(self.rows, self.log, self.offsets, now_ms=self.clock)

    @classmethod
    async def make(cls) -> "Desk":
        desk = cls()
        await desk.log.create_topic(Topic(id=uuid4(), name="orders", partition_numbers=PARTITIONS))
        await desk.transactions.recover()
        return desk

    async def restart(self) -> None:
        """As after a kill: nothing is told to the coordinator that was."""
        self.transactions = self._coordinator()
        await self.transactions.recover(PARTITIONS)

    async def begin(self, id: str = "tx", timeout_ms: int = TIMEOUT_MS) -> ProducerIdentity:
        return await self.transactions.begin(id, timeout_ms)

    async def write(self, producer: ProducerIdentity, number: int, *values: bytes, sequence: int = 0) -> AppendResult:
        """What a producer gets for a batch in its transaction."""
        batch = batch_in(producer, *values, sequence=sequence)
        if (refused := self.transactions.check_batch(batch, number)) is not None:
            return refused
        (result,) = await self.log.append([(number, batch)])
        return result

    async def committed(self, number: int) -> list[bytes | None]:
        """What committed readers see."""
        reader = LogUnderTest(lambda _: self._open(), self.clock, self.log)
        return await reader.committed_values(number)

    async def _open(self) -> MemoryLog:
        return self.log

    def open_partitions(self) -> list[int]:
        """Where the stable offset is held back."""
        bounds = {number: self.log.bounds(number) for number in PARTITIONS}
        return [number for number, each in bounds.items() if each.stable != each.end]


def batch_in(producer: ProducerIdentity, *values: bytes, sequence: int = 0) -> Batch:
    """A batch of a producer's transaction."""
    return build_batch(
        [Record(delta, 0, None, value) for delta, value in enumerate(values)],
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        base_sequence=sequence,
        transactional=True,
    )


async def turns(count: int = 20) -> None:
    """Let everything that can go on without waiting go on."""
    for _ in range(count):
        await asyncio.sleep(0)
