"""What tests of timers and halves share: rows in memory that outlive their service, topics, a clock turned by hand."""

import asyncio
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar
from uuid import UUID, uuid4

from msgspec.structs import replace

from braidmq.core.admission import Admissions
from braidmq.core.delivery import Delivery
from braidmq.core.halves import HalfLimits, Halves, Question, WaitingRoom
from braidmq.core.timers import Timers
from braidmq.log import AppendResult
from braidmq.log.memory import MemoryLog
from braidmq.model import DEFAULT_INSTANCE, NEVER_MS, BraidError, Group, Half, Message, Partition, Timer, Topic
from braidmq.model.errors import StoreFailed
from braidmq.records import messages_of
from braidmq.store import Page
from contract.harness import BEGAN_MS
from groups_support import FakeClock, settle

RowT = TypeVar("RowT", bound=Timer | Half)
GROUP = "payers"
WAITING = 1_000_000
"""The number of the partition in which halves wait."""


class MemoryRows(Generic[RowT]):
    """As `store.DeferredRows`, and fails when it is told to. `write` is where a test comes between."""

    def __init__(self, *, is_shared: bool = False) -> None:
        self.by_id: dict[UUID, RowT] = {}
        self.is_shared = is_shared
        self.is_failing = False
        self.deletes_fail = False
        self.claims = 0

    async def write(self, change: Callable[[], object]) -> None:
        """Carry a change out."""
        if self.is_failing:
            raise StoreFailed("as the test wants it")
        change()

    async def add(self, row: RowT) -> None:
        await self.write(lambda: self.by_id.update({row.id: row}))

    async def next_wake_ms(self) -> int:
        return min((row.wake_ms for row in self.by_id.values()), default=NEVER_MS)

    async def latest_id(self) -> UUID | None:
        return max(self.by_id, default=None)

    async def claim(
        self,
        now_ms: int,
        change: Callable[[RowT], RowT | None],
        *,
        rows_max: int,
        bytes_max: int,
        for_others: bool = False,
        without: Sequence[UUID] = (),
    ) -> tuple[list[RowT], int]:
        claimed: list[RowT] = []
        taken: set[UUID] = set()

        def work() -> None:
            self.claims += 1
            for each in without:
                self.by_id.pop(each, None)
            due = sorted((row.wake_ms, row.id) for row in self.by_id.values() if row.wake_ms <= now_ms)
            left = bytes_max
            for _, each in due[:rows_max]:
                left -= self.by_id[each].size_bytes
                if left < 0 and claimed:
                    break
                if for_others and not self.is_shared:
                    new = change(self.by_id[each])
                    claimed.extend(() if new is None else (new,))
                    taken.add(each)
                else:
                    claimed.extend(self._change([each], change))

        if without and self.deletes_fail:
            raise StoreFailed("as the test wants it")
        await self.write(work)
        left_ms = (row.wake_ms for row in self.by_id.values() if row.id not in taken)
        return claimed, min(left_ms, default=NEVER_MS)

    async def revise(self, ids: Iterable[UUID], change: Callable[[RowT], RowT | None]) -> list[RowT]:
        wanted = sorted(ids)
        changed: list[RowT] = []
        await self.write(lambda: changed.extend(self._change(wanted, change)))
        return changed

    async def delete(self, ids: Iterable[UUID]) -> None:
        gone = list(ids)
        if self.deletes_fail:
            raise StoreFailed("as the test wants it")
        await self.write(lambda: [self.by_id.pop(each, None) for each in gone])

    async def wake_claims(self, owner: str, now_ms: int, lease_ms: int) -> None:
        def wake(row: RowT) -> RowT:
            is_mine = row.owner == owner and now_ms < row.wake_ms <= now_ms + lease_ms
            return _woken(row, now_ms) if is_mine else row

        await self.write(lambda: self._change(list(self.by_id), wake))

    async def find(self, id: UUID) -> RowT | None:
        return self.by_id.get(id)

    async def page(self, page: Page) -> list[RowT]:
        return [
            row
            for row in sorted(self.by_id.values(), key=lambda row: row.id)
            if (page.after is None or row.id > page.after)
            and (page.topic_id is None or row.topic_id == page.topic_id)
            and (page.from_id is None or row.id >= page.from_id)
            and (page.until_id is None or row.id < page.until_id)
            and (not page.parked or row.wake_ms == NEVER_MS)
        ][: page.limit]

    def _change(self, ids: Iterable[UUID], change: Callable[[RowT], RowT | None]) -> list[RowT]:
        pairs = [(each, change(self.by_id[each])) for each in ids if each in self.by_id]
        for each, row in pairs:
            if row is None:
                del self.by_id[each]
            else:
                self.by_id[each] = row
        return [row for _, row in pairs if row is not None]


def _woken(row: RowT, now_ms: int) -> RowT:
    return replace(row, wake_ms=now_ms)


class CountedLog(MemoryLog):
    """Counts its appends, and refuses when it is told to."""

    refusal: BraidError | None = None
    appends = 0
    batches = 0

    def append(self, entries: Any) -> "asyncio.Future[list[AppendResult]]":
        if self.refusal is None:
            self.appends += 1
            self.batches += len(entries)
            return super().append(entries)
        refused: asyncio.Future[list[AppendResult]] = asyncio.get_running_loop().create_future()
        refused.set_result([self.refusal for _ in entries])
        return refused


class KnownTopics:
    """The topics of a test."""

    def __init__(self, log: MemoryLog) -> None:
        self._log = log
        self._numbers = itertools.count(1)
        self.by_id: dict[UUID, Topic] = {}
        self.groups: dict[tuple[str, str], Group] = {}

    def topic_by_id(self, topic_id: UUID) -> Topic | None:
        return self.by_id.get(topic_id)

    async def make(self, name: str, partitions: int = 1, **settings: str) -> Topic:
        numbers = tuple(itertools.islice(self._numbers, partitions))
        named = {name.replace("_", "."): value for name, value in settings.items()}
        topic = Topic(id=uuid4(), name=name, partition_numbers=numbers, settings=named, retention_ms=-1)
        self.by_id[topic.id] = topic
        await self._log.create_topic(topic)
        return topic

    def topic(self, instance: str, name: str) -> Topic | None:
        return next((each for each in self.by_id.values() if (each.instance, each.name) == (instance, name)), None)

    def partition_by_number(self, number: int) -> Partition | None:
        each = (partition for topic in self.by_id.values() for partition in topic.partitions)
        return next((partition for partition in each if partition.number == number), None)

    def group(self, instance: str, name: str) -> Group | None:
        return self.groups.get((instance, name))

    async def ensure_own(
        self, name: str, *, partitions: int | None, instance: str, settings: Mapping[str, str]
    ) -> Topic:
        assert instance == DEFAULT_INSTANCE
        return self.topic(instance, name) or await self.make(name, partitions or 1, **settings)

    async def delete(self, topic: Topic) -> None:
        del self.by_id[topic.id]
        await self._log.delete_topic(topic.id)


class Producers:
    """Producers that are asked, and remember it. A name in `gone` does not answer."""

    def __init__(self) -> None:
        self.names: dict[str, list[str]] = {}
        self.gone: set[str] = set()
        self.asked: list[tuple[str, Question]] = []

    def live(self) -> dict[str, list[str]]:
        return self.names

    def ask(self, group: str, producer: str, question: Question) -> bool:
        assert producer in self.names[group]
        if producer in self.gone:
            return False
        self.asked.append((producer, question))
        return True


class Place:
    """Timers and halves with all that they work on, with a waiting room for halves or without. `restart` is another
    life of them."""

    def __init__(
        self,
        log_type: type[MemoryLog] = MemoryLog,
        limits: HalfLimits | None = None,
        *,
        is_shared: bool = False,
        has_room: bool = False,
    ) -> None:
        self.clock = FakeClock(BEGAN_MS)
        self.log = log_type(self.clock.now_ms)
        self.topics = KnownTopics(self.log)
        self.timer_rows: MemoryRows[Timer] = MemoryRows(is_shared=is_shared)
        self.half_rows: MemoryRows[Half] = MemoryRows(is_shared=is_shared)
        self.producers = Producers()
        self.limits = limits or HalfLimits()
        self.waiting = Topic(id=uuid4(), name="waiting", partition_numbers=(WAITING,), retention_ms=-1)
        self.has_room = has_room
        self.make_services()

    def make_services(self) -> None:
        delivery = self.delivery = Delivery(self.topics, self.log, Admissions(), self.clock.now_ms, draw=lambda _: 0)
        self.timers = Timers(self.timer_rows, delivery, self.clock, owner="me")
        self.room = WaitingRoom(self.half_rows, self.log, WAITING, self.clock) if self.has_room else None
        self.halves = Halves(self.room or self.half_rows, delivery, self.clock, owner="me", limits=self.limits)
        self.halves.ask_through(self.producers)

    async def start(self) -> None:
        if self.room is not None:
            await self.log.create_topic(self.waiting)
            await self.room.open()
        await self.timers.start()
        await self.halves.start()
        await settle()

    async def close(self) -> None:
        await self.timers.close()
        await self.halves.close()
        if self.room is not None:
            await self.room.close()

    async def restart(self) -> None:
        """As after a kill: what was under way is gone, and nothing was told to the services."""
        self.clock.forget()
        self.make_services()
        await self.start()

    def messages(self, topic: Topic, partition: int = 0) -> list[Message]:
        """All that the partition holds."""
        stored = self.log._partitions[topic.partition_numbers[partition]].batches
        return [message for each in stored for message in messages_of(each.batch)]

    def bodies(self, topic: Topic, partition: int = 0) -> list[bytes | None]:
        return [message.body for message in self.messages(topic, partition)]


def log_of(place: Place) -> CountedLog:
    assert isinstance(place.log, CountedLog)
    return place.log
