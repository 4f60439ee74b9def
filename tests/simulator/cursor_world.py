"""A small world of receivers that take messages one by one, on a node that dies a lot.

The service is the real one; log and rows are in memory, and rows that are being kept when the node dies may be lost.
The model is simple: a message is owed to its group until a receiver's word about it was kept, or it is among the dead.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from uuid import UUID, uuid4

from braidmq.core.cursors import Ask, CursorLimits, Cursors, Delivered, Receipt
from braidmq.core.group_offsets import ResetBoard
from braidmq.core.pull import Puller
from braidmq.log import GroupOffset
from braidmq.log.memory import MemoryLog
from braidmq.model import SHARDING_KEY_HEADER, BraidError, Group, Partition, Topic
from braidmq.model.errors import HandleExpired, InvalidHandle, StoreFailed
from braidmq.records import Record, build_batch
from braidmq.store import Change, CursorChange
from contract.harness import BEGAN_MS
from groups_support import FakeClock, settle

GROUP = Group(name="payers", attempts_max=3)
NUMBERS = (1, 2, 3)
SECRET = b"x" * 32
INVISIBLE_MS = 500


class MemoryCursorRows:
    """As `store.CursorRows`; a crash may come while something is being kept, and fails when it is told to."""

    def __init__(self) -> None:
        self.changes: dict[tuple[str, int], list[bytes]] = {}
        self.kept_bytes = 0
        self.is_failing = False
        self.on_kept: Callable[[], None] = lambda: None

    async def load(self) -> Mapping[tuple[str, int], Sequence[bytes]]:
        return {place: list(changes) for place, changes in self.changes.items()}

    async def keep(self, changes: Sequence[CursorChange]) -> None:
        await asyncio.sleep(0)
        if self.is_failing:
            raise StoreFailed("as the test wants it")
        for change in changes:
            place = (change.group, change.number)
            if change.is_whole or change.content is None:
                self.changes.pop(place, None)
            if change.content is not None:
                self.changes.setdefault(place, []).append(change.content)
                self.kept_bytes += len(change.content)
        self.on_kept()


class MemoryOffsets:
    """How far groups have come."""

    def __init__(self, log: MemoryLog) -> None:
        self._log = log

    async def commit(self, group: str, member: None, offsets: Mapping[int, GroupOffset], *, client: str = "") -> None:
        assert (member, client) == (None, "")
        await asyncio.sleep(0)
        await self._log.commit_offsets(group, offsets)

    def offsets(self, group: str) -> Mapping[int, GroupOffset]:
        return self._log.fetch_offsets(group)


class Graveyard:
    """Takes what nobody could work on; fails when it is told to."""

    def __init__(self) -> None:
        self.dead: Counter[tuple[int, int]] = Counter()
        self.is_failing = False

    async def send_back(
        self,
        group: str,
        number: int,
        offset: int,
        *,
        delay_ms: int | None = None,
        attempts: int | None = None,
    ) -> None:
        await asyncio.sleep(0)
        if self.is_failing:
            raise StoreFailed("as the test wants it")
        assert delay_ms == -1
        assert group == GROUP.name
        assert attempts is not None
        self.dead[number, offset] += 1


class CursorWorld:
    """See the module's opening. It is the catalog, too."""

    def __init__(self, seed: int = 0, *, ordered: bool = False, limits: CursorLimits | None = None) -> None:
        self.random = Random(seed)
        self.is_ordered = ordered
        self.limits = limits or CursorLimits()
        self.clock = FakeClock(BEGAN_MS)
        self.log = MemoryLog(self.clock.now_ms)
        self.rows = MemoryCursorRows()
        self.graveyard = Graveyard()
        self.resets = ResetBoard(self.clock)
        self.orders = Topic(id=uuid4(), name="orders", partition_numbers=NUMBERS, retention_ms=-1)
        self.offsets = MemoryOffsets(self.log)
        self.listeners: list[Callable[[Change], None]] = []
        self.cursors = self._born()
        self.written: dict[tuple[int, int], bytes] = {}
        self._lines: dict[tuple[int, bytes | None], set[tuple[int, int]]] = {}
        self._earlier: dict[tuple[int, int], set[tuple[int, int]]] = {}
        self.in_hand: list[Delivered] = []
        self.said: set[tuple[int, int]] = set()
        """Acknowledged, and perhaps not kept yet."""
        self.kept: set[tuple[int, int]] = set()
        self.forgotten: set[tuple[int, int]] = set()
        """Done in an earlier life, which did not come to keep it."""
        self.given: Counter[tuple[int, int]] = Counter()

    def _born(self) -> Cursors:
        self.rows.on_kept = lambda: None
        return Cursors(
            self,
            self.log,
            Puller(self.log),
            self.offsets,
            self.resets,
            self.graveyard,
            self.rows,
            self.clock,
            SECRET,
            limits=self.limits,
        )

    # The catalog.

    def group(self, instance: str, name: str) -> Group | None:  # noqa: ARG002 - as `store.Catalog` has it
        return GROUP if name == GROUP.name else None

    def topic(self, instance: str, name: str) -> Topic | None:
        return self.orders if (instance, name) == (self.orders.instance, self.orders.name) else None

    def topic_by_id(self, topic_id: UUID) -> Topic | None:
        return self.orders if topic_id == self.orders.id else None

    def partition_by_number(self, number: int) -> Partition | None:
        numbers = self.orders.partition_numbers
        return Partition(self.orders.id, numbers.index(number), number) if number in numbers else None

    def subscribe(self, callback: Callable[[Change], None]) -> Callable[[], None]:
        self.listeners.append(callback)
        return lambda: self.listeners.remove(callback)

    # What happens.

    async def begin(self) -> "CursorWorld":
        await self.log.create_topic(self.orders)
        await self.cursors.open()
        return self

    async def die(self) -> None:
        """Everything that is only in memory is gone; some of what was being kept, too."""
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        self.clock.forget()
        await settle()
        self.listeners.clear()
        self.said &= self.done  # what was answered before its turn was only remembered
        self.forgotten |= self.done - self.kept
        self.cursors = self._born()
        await self.cursors.open()

    async def write(self, number: int, *values: bytes, key: bytes | None = None) -> None:
        headers = () if key is None else ((SHARDING_KEY_HEADER, key),)
        records = [Record(delta, BEGAN_MS, key, value, headers) for delta, value in enumerate(values)]
        first = self.log.bounds(number).end
        await self.log.append([(number, build_batch(records))])
        for delta, value in enumerate(values):
            self.written[number, first + delta] = value
            if self.is_ordered:
                line = self._lines.setdefault((number, key), set())
                self._earlier[number, first + delta] = set(line)
                line.add((number, first + delta))
        await settle()

    def ask(self, **more: object) -> Ask:
        named = {"invisible_ms": INVISIBLE_MS, "is_ordered": self.is_ordered} | more
        return Ask(group=GROUP.name, topic=self.orders, **named)  # type: ignore[arg-type]  # a test's own words

    async def receive(self, wait_s: float = 0.0, places: Sequence[int] = (), **more: object) -> list[Delivered]:
        """From anywhere, or from these partitions at once."""
        if places:
            asks = [self.ask(partition=place, **more) for place in places]
            batch = await self.cursors.receive_any(asks, wait_s=wait_s)
        else:
            batch = await self.cursors.receive(self.ask(**more), wait_s=wait_s)
        for delivered in batch:
            place = delivered.receipt.number, delivered.receipt.offset
            assert place not in self.done_for_good, f"{place} is done, and is given out again"
            assert delivered.record.value == self.written[place]
            self.given[place] += 1
            self.said -= {each for each in self.said if place in self._before(each)}  # they come again behind it
        self.in_hand += batch
        return batch

    def acknowledge(self, receipt: Receipt) -> None:
        place = receipt.number, receipt.offset
        self.cursors.acknowledge(GROUP.name, receipt)
        self.said.add(place)
        before = self._before(place)
        if not before or before <= self.done_for_good:  # else it is only answered, and may come again behind those
            self.forgotten.discard(place)

    @property
    def done(self) -> set[tuple[int, int]]:
        """In order, a message is done when all of its key are that came before it."""
        ended = self.said | set(self.graveyard.dead)
        return {place for place in ended if place in self.graveyard.dead or self._before(place) <= ended}

    @property
    def done_for_good(self) -> set[tuple[int, int]]:
        """But for what this life does not know, and for what lies behind such in order: that is only answered."""
        return {place for place in self.done - self.forgotten if not self._before(place) & self.forgotten}

    def _before(self, place: tuple[int, int]) -> set[tuple[int, int]]:
        """Where the messages of the same key are that came before it, if that matters."""
        return set() if not self.is_ordered else self._earlier[place]

    async def peace(self) -> None:
        """Let everything be kept."""
        await self.go_on(60)
        self.kept |= self.done_for_good

    async def go_on(self, delay_ms: int) -> None:
        """Let time pass, for what has begun already."""
        await settle()
        await self.clock.advance(delay_ms)

    # One life by chance.

    async def live(self, steps: int) -> None:
        for _ in range(steps):
            await self.random.choice(
                [self._write, self._receive, self._receive, self._answer, self._answer, self._wait]
            )()

    async def _write(self) -> None:
        key = self.random.choice([b"a", b"b", b"c"]) if self.is_ordered else None
        await self.write(self.random.choice(NUMBERS), *[b"%d" % self.random.randrange(1000)] * 2, key=key)

    async def _receive(self) -> None:
        places = self.random.sample(range(len(NUMBERS)), self.random.randint(0, len(NUMBERS)))
        await self.receive(places=places, count_max=self.random.randint(1, 6))

    async def _answer(self) -> None:
        if not self.in_hand:
            return
        delivered = self.in_hand.pop(self.random.randrange(len(self.in_hand)))
        act = self.random.random()
        try:
            if act < 0.6:
                self.acknowledge(delivered.receipt)
            elif act < 0.8:
                new = self.cursors.extend(GROUP.name, delivered.receipt, self.random.choice([0, 100, 2000]))
                self.in_hand.append(delivered._replace(receipt=new))
            elif act < 0.85:
                await self.cursors.bury(GROUP.name, delivered.receipt)
        except (HandleExpired, InvalidHandle, BraidError):
            pass

    async def _wait(self) -> None:
        before = self.done_for_good
        await self.go_on(self.random.choice([10, 60, 300, 700]))
        if not self.rows.is_failing:
            await self.go_on(60)
            self.kept |= before

    async def drain(self) -> None:
        """Work on everything that is still owed; all of it must come."""
        for _ in range(2000):
            batch = await self.receive(count_max=32)
            for delivered in batch:
                self.acknowledge(delivered.receipt)
            if not batch:
                if all(view.floor == view.end for view in self.cursors.views(GROUP.name)):
                    break
                await self.go_on(1000)
        owed = set(self.written) - self.done
        assert not owed, f"never given out: {sorted(owed)[:5]}"
