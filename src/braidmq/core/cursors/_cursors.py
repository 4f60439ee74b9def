"""The service: all groups that take messages one by one.

Receivers are given messages and say of each what became of it; see `_cursor` for what is remembered. What they say is
kept a moment later, all that came together in one write: after a crash at most what was said in that moment is given
out again, and nothing is passed over. How far a group has come without a gap is also committed as its offset, so that
whoever looks at groups sees these like all others. If somebody else moves that offset, the group goes on there.
"""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Protocol
from uuid import UUID

import structlog

from braidmq.core.cursors._cursor import NO_LANE, Cursor, Found, OpenMessage
from braidmq.core.cursors._keeping import Keeping, Kept, Offsets, Place, Rows
from braidmq.core.cursors._line import Line
from braidmq.core.cursors._seals import Seals
from braidmq.core.cursors._words import Ask, Beginning, CursorLimits, CursorView, Delivered, Receipt
from braidmq.core.filters import Everything
from braidmq.core.group_offsets import ResetBoard
from braidmq.core.lookup import is_young
from braidmq.core.metrics import Metric, MetricKind
from braidmq.core.pull import Puller
from braidmq.core.timing import Clock
from braidmq.core.trace import UNTRACED, Tracer
from braidmq.log import Log
from braidmq.model import DEFAULT_INSTANCE, SHARDING_KEY_HEADER, BraidError, Group, Topic, TraceKind
from braidmq.model.errors import (
    HandleExpired,
    InvalidHandle,
    OffsetOutOfRange,
    TooManyReceivers,
    UnknownMessage,
    UnknownPartition,
)
from braidmq.records import Record
from braidmq.store import Change, GroupChanged, TopicChanged

REMEMBERED_MAX: Final = 10_000
"""How many batches are remembered for receivers who ask again."""
BURY_RETRY_MS: Final = 1000
BURIAL_MS: Final = 60_000

_logger = structlog.get_logger(__name__)


class Catalog(Protocol):
    """What exists; see `store.Catalog`."""

    def group(self, instance: str, name: str) -> Group | None: ...

    def topic_by_id(self, topic_id: UUID) -> Topic | None: ...

    def subscribe(self, callback: Callable[[Change], None]) -> Callable[[], None]: ...


class Undertaker(Protocol):
    """Who brings messages to the dead letters; see `core.retry.Retries`."""

    async def send_back(
        self, group: str, number: int, offset: int, *, delay_ms: int | None = None, attempts: int | None = None
    ) -> Any: ...


class _Bag:
    """What one receiver is given."""

    __slots__ = ("bytes_left", "delivered", "room")

    def __init__(self, ask: Ask) -> None:
        self.room = ask.count_max
        self.bytes_left = ask.bytes_max
        self.delivered: list[Delivered] = []

    @property
    def is_full(self) -> bool:
        return self.room <= 0 or self.bytes_left <= 0

    def put(self, delivered: Delivered) -> None:
        self.delivered.append(delivered)
        self.room -= 1
        self.bytes_left -= len(delivered.record.value or b"")


class Cursors:
    """Made by `open`."""

    def __init__(
        self,
        catalog: Catalog,
        log: Log,
        puller: Puller,
        offsets: Offsets,
        resets: ResetBoard,
        undertaker: Undertaker,
        rows: Rows,
        clock: Clock,
        secret: bytes,
        *,
        limits: CursorLimits | None = None,
        tracer: Tracer = UNTRACED,
    ) -> None:
        self._catalog = catalog
        self._log = log
        self._puller = puller
        self._resets = resets
        self._undertaker = undertaker
        self._clock = clock
        self._seals = Seals(secret)
        self._limits = limits or CursorLimits()
        self._tracer = tracer
        self._began_ms = clock.now_ms() - clock.passed_ms()
        self._keeping = Keeping(rows, offsets, clock)
        self._kept = self._keeping.kept
        self._open_counts: dict[str, int] = {}
        self._lines: dict[tuple[str, UUID], Line] = {}
        self._turns: dict[tuple[str, UUID], int] = {}
        self._remembered: OrderedDict[tuple[str, str], list[Delivered]] = OrderedDict()
        self._burials: set[asyncio.Task[None]] = set()
        self._closing = False
        self._counts = dict.fromkeys(_COUNTERS, 0)
        self._unsubscribe = catalog.subscribe(self._heed)

    async def open(self) -> None:
        """Take up what the last life of this node has left."""
        await self._keeping.load(renewal_ms=self._limits.renewal_ms)
        for place, kept in self._kept.items():
            self._count_open(place.group, kept.cursor.open_count)

    async def close(self) -> None:
        """Receivers go with nothing; what is known is kept."""
        self._closing = True
        self._unsubscribe()
        for line in list(self._lines.values()):
            await line.close()
        if self._burials:
            await asyncio.wait(self._burials)
        await self._keeping.close()

    def now_ms(self) -> int:
        """The time of day when this began, and what has passed since: it does not jump when the clock is set."""
        return int(self._began_ms + self._clock.passed_ms())

    # For receivers.

    async def receive(self, ask: Ask, *, wait_s: float = 0.0) -> list[Delivered]:
        """Messages that are the receiver's from now on, the oldest first; or none, after so long a wait.

        Raises UnknownPartition, TooManyReceivers, and the log's errors.
        """
        if ask.attempt_id and (again := self._again(ask)):
            return again
        batch = await self._collect(ask)
        if not batch and wait_s > 0 and not self._closing:
            if sum(map(len, self._lines.values())) >= self._limits.waiting_max:
                raise TooManyReceivers(f"{self._limits.waiting_max} receivers wait (cursors.waiting_max)")
            batch = await self._line(ask).wait(ask, wait_s)
        if ask.attempt_id and batch:
            self._remember(ask, batch)
        return batch

    def acknowledge(self, group: str, receipt: Receipt) -> None:
        """The message is done. Raises InvalidHandle, HandleExpired."""
        kept, message = self._message_of(group, receipt)
        self._finish(Place(group, receipt.number), kept, message)
        self._counts["acknowledged"] += 1

    def extend(self, group: str, receipt: Receipt, invisible_ms: int, *, counts: bool = True) -> Receipt:
        """The message is nobody else's for so long from now on; then it is given out again. Whoever goes on working on
        it does so under the receipt that this returns; whoever has failed has said when to try again. Without `counts`
        the delivery does not count as an attempt. Raises InvalidHandle, HandleExpired."""
        kept, message = self._message_of(group, receipt)
        due_ms = self.now_ms() + max(invisible_ms, 0)
        (kept.cursor.extend if counts else kept.cursor.suspend)(message, due_ms)
        self._keeping.changed(Place(group, receipt.number), kept)
        self._tell(Place(group, receipt.number), kept)
        return self._seals.receipt(group, receipt.number, message.offset, message.serial)

    async def bury(self, group: str, receipt: Receipt) -> None:
        """Bring the message to the group's dead letters; done when it is there. Raises InvalidHandle, HandleExpired,
        and the errors of log and store."""
        kept, message = self._message_of(group, receipt)
        await self._bury(Place(group, receipt.number), kept, message)

    def current(self, group: str, number: int, offset: int) -> Receipt:
        """The receipt of a message that is with a receiver now, for protocols whose receipts are shorter than ours and
        are compared with it. Raises HandleExpired."""
        kept = self._kept.get(Place(group, number))
        message = None if kept is None else kept.cursor.find(offset)
        if message is None or not message.is_out:
            raise HandleExpired
        return self._seals.receipt(group, number, offset, message.serial)

    async def peek(self, ask: Ask) -> list[tuple[int, Record]]:
        """New messages that a receiver would be given, with their partitions; they stay for others."""
        found: list[tuple[int, Record]] = []
        for partition, number in self._in_turn(ask):
            kept = self._cursor(ask, Place(ask.group, number))
            count_max = ask.count_max - len(found)
            if count_max <= 0:
                break
            pulled = await self._puller.pull(
                number, kept.cursor.next, ask.chosen, count_max=count_max, bytes_max=ask.bytes_max
            )
            found += [(partition, record) for record in pulled.records]
        return found

    async def arrival(self, ask: Ask, wait_s: float) -> bool:
        """Whether there is something for this receiver now, or comes before so long a wait is over. Somebody else may
        have it then."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_s
        while True:
            cursors = {number: self._cursor(ask, Place(ask.group, number)).cursor for _, number in self._in_turn(ask)}
            for cursor in cursors.values():
                cursor.expire(self.now_ms())
            if any(self._has_any(number, cursor) for number, cursor in cursors.items()):
                return True
            left_s = deadline - loop.time()
            if left_s <= 0:
                return False
            due_ms = self._due_in_ms(ask)
            timeout_s = left_s if due_ms is None else min(left_s, max(due_ms, 1) / 1000)
            await self._log.wait({number: cursor.next for number, cursor in cursors.items()}, timeout_s)

    def _has_any(self, number: int, cursor: Cursor) -> bool:
        return cursor.has_ready or self._log.bounds(number).stable > cursor.next

    # For operators.

    def views(self, group: str, topic: Topic | None = None) -> list[CursorView]:
        """How far the group is, in the partitions in which it takes messages one by one."""
        found = [
            self._view(place, kept)
            for place, kept in self._kept.items()
            if place.group == group and (topic is None or place.number in topic.partition_numbers)
        ]
        return sorted(found)

    def lag(self, group: str, topic: Topic) -> int:
        """How many messages of the topic the group has not done; see `CursorView.lag`."""
        found = ((number, self._kept.get(Place(group, number))) for number in topic.partition_numbers)
        return sum(
            kept.cursor.open_count + self._log.bounds(number).stable - kept.cursor.next
            for number, kept in found
            if kept is not None
        )

    def waiting(self, group: str, topic: Topic) -> int:
        """How many receivers wait."""
        line = self._lines.get((group, topic.id))
        return 0 if line is None else len(line)

    def metrics(self) -> Iterator[Metric]:
        """What is open, for each group, and what was done on this node."""
        for name, text in _COUNTERS.items():
            yield Metric(f"braid_cursors_{name}", MetricKind.COUNTER, text, self._counts[name])
        waiting = sum(map(len, self._lines.values()))
        yield Metric("braid_cursors_receivers", MetricKind.GAUGE, "Receivers that wait for messages.", waiting)
        for group, count in self._open_counts.items():
            labels = {"group": group}
            yield Metric("braid_cursors_open", MetricKind.GAUGE, "Messages given out and not done.", count, labels)

    def _view(self, place: Place, kept: Kept) -> CursorView:
        cursor = kept.cursor
        end = self._log.bounds(place.number).stable
        return CursorView(
            place.number, cursor.floor, cursor.next, end, cursor.open_count, cursor.out_count, cursor.redelivered
        )

    # Giving out.

    async def _collect(self, ask: Ask) -> list[Delivered]:
        bag = _Bag(ask)
        try:
            for partition, number in self._in_turn(ask):
                await self._collect_from(ask, partition, number, bag)
                if bag.is_full:
                    break
        except BaseException:
            self.take_back(ask.group, bag.delivered)
            raise
        return bag.delivered

    def _in_turn(self, ask: Ask) -> list[tuple[int, int]]:
        """The partitions that a receiver may have messages of, another one first each time."""
        numbers = list(enumerate(ask.topic.partition_numbers))
        if ask.partition is not None:
            if not 0 <= ask.partition < len(numbers):
                raise UnknownPartition(f"the topic {ask.topic.name!r} has no partition {ask.partition}")
            return [numbers[ask.partition]]
        key = (ask.group, ask.topic.id)
        first = self._turns[key] = (self._turns.get(key, -1) + 1) % len(numbers)
        return numbers[first:] + numbers[:first]

    async def _collect_from(self, ask: Ask, partition: int, number: int, bag: _Bag) -> None:
        place = Place(ask.group, number)
        kept = self._cursor(ask, place)
        cursor = kept.cursor
        cursor.expire(self.now_ms())
        at_hand: dict[int, Record] = {}
        while True:
            await self._give_ready(ask, place, partition, kept, bag, at_hand)
            if bag.is_full or kept.is_reading or self._open_counts.get(ask.group, 0) >= self._limits.open_max:
                return
            found = await self._look_further(ask, place, kept, bag)
            if found is None:
                return
            at_hand = found

    async def _give_ready(
        self, ask: Ask, place: Place, partition: int, kept: Kept, bag: _Bag, at_hand: Mapping[int, Record]
    ) -> None:
        cursor = kept.cursor
        deliveries_max = self._deliveries_max(ask.group)
        while not bag.is_full and (first := cursor.take_ready()) is not None:
            for message in cursor.together(first, bag.room):
                if message.attempts >= deliveries_max:
                    self._begin_burial(place, kept, message)
                    break
                await self._give(ask, place, partition, kept, message, bag, at_hand)

    async def _give(
        self,
        ask: Ask,
        place: Place,
        partition: int,
        kept: Kept,
        message: OpenMessage,
        bag: _Bag,
        at_hand: Mapping[int, Record],
    ) -> None:
        now_ms = self.now_ms()
        due_ms = now_ms + (self._limits.renewal_ms if ask.holder is not None else ask.invisible_ms)
        kept.cursor.give(message, due_ms, holder=ask.holder, renewed_until_ms=now_ms + self._limits.renewed_max_ms)
        self._keeping.changed(place, kept)
        record = at_hand.get(message.offset) or await self._record(place.number, message.offset)
        if record is None:
            self._finish(place, kept, message)
            self._counts["lost"] += 1
            return
        receipt = self._seals.receipt(place.group, place.number, message.offset, message.serial)
        bag.put(Delivered(receipt, partition, record, message.attempts))
        self._counts["delivered"] += 1
        if message.attempts > 1:
            self._counts["redelivered"] += 1

    async def _look_further(self, ask: Ask, place: Place, kept: Kept, bag: _Bag) -> dict[int, Record] | None:
        """Open the next messages that the group wants; None when there is nothing new."""
        cursor, number = kept.cursor, place.number
        count_max = bag.room
        pulled = self._puller.pull_now(number, cursor.next, ask.chosen, count_max=count_max, bytes_max=bag.bytes_left)
        if pulled is None:
            kept.is_reading = True
            try:
                pulled = await self._puller.pull(
                    number, cursor.next, ask.chosen, count_max=count_max, bytes_max=bag.bytes_left
                )
            finally:
                kept.is_reading = False
            if self._kept.get(place) is not kept:
                return None  # somebody has set the group elsewhere meanwhile
        if pulled.next_offset <= cursor.next:
            return None
        first = cursor.next
        cursor.look(
            pulled.next_offset,
            [Found(record.offset, _lane_of(record) if ask.is_ordered else NO_LANE) for record in pulled.records],
        )
        self._count_open(place.group, len(pulled.records))
        self._keeping.changed(place, kept)
        if pulled.records:
            self._tracer.note_range(TraceKind.DELIVERED, place.group, number, first, pulled.next_offset, ask.client)
        else:
            await asyncio.sleep(0)  # there may be much that is not wanted; others have their turn between
        return {record.offset: record for record in pulled.records}

    async def _record(self, number: int, offset: int) -> Record | None:
        """One message of the log; None where it is gone."""
        everything = Everything()
        try:
            pulled = self._puller.pull_now(number, offset, everything, count_max=1, bytes_max=1)
            if pulled is None:
                pulled = await self._puller.pull(number, offset, everything, count_max=1, bytes_max=1)
        except OffsetOutOfRange:
            return None
        return next((record for record in pulled.records if record.offset == offset), None)

    def take_back(self, group: str, batch: Iterable[Delivered]) -> None:
        """What was given to somebody who has gone is ready at once, and was not delivered."""
        for delivered in batch:
            receipt = delivered.receipt
            kept = self._kept.get(Place(group, receipt.number))
            message = None if kept is None else kept.cursor.find(receipt.offset)
            if kept is None or message is None or message.serial != receipt.serial:
                continue
            kept.cursor.suspend(message, 0)
            kept.cursor.expire(self.now_ms())
            self._keeping.changed(Place(group, receipt.number), kept)
            self._tell(Place(group, receipt.number), kept)

    def _deliveries_max(self, group: str) -> int:
        found = self._catalog.group(DEFAULT_INSTANCE, group)
        return (found or Group(name=group)).attempts_max + 1

    # Asking again.

    def _again(self, ask: Ask) -> list[Delivered]:
        """What was given under the same word, if all of it is still the receiver's."""
        batch = self._remembered.get((ask.group, ask.attempt_id), [])
        for delivered in batch:
            try:
                self._message_of(ask.group, delivered.receipt)
            except (HandleExpired, InvalidHandle):
                return []
        return batch

    def _remember(self, ask: Ask, batch: list[Delivered]) -> None:
        self._remembered[ask.group, ask.attempt_id] = batch
        while len(self._remembered) > REMEMBERED_MAX:
            self._remembered.popitem(last=False)

    # Dead letters.

    def _begin_burial(self, place: Place, kept: Kept, message: OpenMessage) -> None:
        async def bury() -> None:
            try:
                await self._bury(place, kept, message)
            except BraidError as error:
                _logger.warning(
                    "a message could not be brought to the dead letters",
                    group=place.group,
                    number=place.number,
                    offset=message.offset,
                    reason=error.message,
                )

        kept.cursor.extend(message, self.now_ms() + BURIAL_MS)
        task = asyncio.create_task(bury())
        self._burials.add(task)
        task.add_done_callback(self._burials.discard)

    async def _bury(self, place: Place, kept: Kept, message: OpenMessage) -> None:
        kept.cursor.extend(message, self.now_ms() + BURIAL_MS)
        serial = message.serial
        try:
            await self._undertaker.send_back(
                place.group, place.number, message.offset, delay_ms=-1, attempts=message.attempts
            )
        except (UnknownMessage, OffsetOutOfRange):
            self._counts["lost"] += 1
        except BraidError:
            if message.serial == serial:
                kept.cursor.extend(message, self.now_ms() + BURY_RETRY_MS)
                self._keeping.changed(place, kept)
                self._tell(place, kept)
            raise
        if self._kept.get(place) is kept and kept.cursor.find(message.offset) is message:
            self._finish(place, kept, message)
            self._counts["buried"] += 1

    # What is remembered.

    def _message_of(self, group: str, receipt: Receipt) -> tuple[Kept, OpenMessage]:
        if not self._seals.is_ours(group, receipt):
            raise InvalidHandle
        kept = self._kept.get(Place(group, receipt.number))
        message = None if kept is None else kept.cursor.find(receipt.offset)
        if kept is None or message is None or not message.is_out or message.serial != receipt.serial:
            raise HandleExpired
        if message.due_ms <= (now_ms := self.now_ms()) and not kept.cursor.is_renewed(message, now_ms):
            raise HandleExpired
        return kept, message

    def _finish(self, place: Place, kept: Kept, message: OpenMessage) -> None:
        was_full = self._open_counts.get(place.group, 0) >= self._limits.open_max
        kept.cursor.finish(message)
        self._count_open(place.group, -1)
        self._keeping.changed(place, kept)
        if message.lane or was_full:
            self._tell(place, kept)

    def _cursor(self, ask: Ask, place: Place) -> Kept:
        """The group's cursor, made now if there is none, and moved to where somebody wants the group to be."""
        bounds = self._log.bounds(place.number)
        committed = self._keeping.committed(place)
        moved_to = self._resets.pending(*place)
        if moved_to is not None:
            self._resets.withdraw(*place)
        kept = self._kept.get(place)
        if kept is not None and moved_to is None and committed not in (kept.committed, kept.committing):
            moved_to = committed if committed is not None else self._first_offset(ask.beginning, place.number)
        if kept is None or moved_to is not None:
            offset = moved_to if moved_to is not None else committed
            if offset is None:
                offset = self._first_offset(ask.beginning, place.number)
            kept = self._set(place, min(max(offset, bounds.start), bounds.end), committed)
        elif kept.cursor.next > bounds.end:  # the log has lost its end with the power
            kept = self._set(place, min(kept.cursor.floor, bounds.end), committed)
        kept.topic_id = ask.topic.id
        if kept.cursor.floor < bounds.start:
            gone = kept.cursor.drop_below(bounds.start)
            self._counts["lost"] += gone
            self._count_open(place.group, -gone)
            self._keeping.changed(place, kept)
        return kept

    def _set(self, place: Place, offset: int, committed: int | None) -> Kept:
        before = self._kept.get(place)
        if before is not None:
            self._count_open(place.group, -before.cursor.open_count)
        kept = self._kept[place] = Kept(Cursor(offset, renewal_ms=self._limits.renewal_ms), committed)
        self._keeping.changed(place, kept)
        return kept

    def _first_offset(self, beginning: Beginning, number: int) -> int:
        bounds = self._log.bounds(number)
        if beginning is Beginning.START or (beginning is Beginning.YOUNG and is_young(self._log, number)):
            return bounds.start
        return bounds.stable

    def _count_open(self, group: str, change: int) -> None:
        count = self._open_counts.get(group, 0) + change
        if count:
            self._open_counts[group] = count
        else:
            self._open_counts.pop(group, None)

    def _heed(self, change: Change) -> None:
        """Topics and groups that are gone take their cursors with them."""
        if isinstance(change, TopicChanged) and change.new is None and change.old is not None:
            numbers = set(change.old.partition_numbers)
            self._forget([place for place in self._kept if place.number in numbers])
        elif isinstance(change, GroupChanged) and change.new is None and change.old is not None:
            self._forget([place for place in self._kept if place.group == change.old.name])

    def _forget(self, places: Iterable[Place]) -> None:
        for place in places:
            kept = self._keeping.forget(place)
            self._count_open(place.group, -kept.cursor.open_count)

    # Lines.

    def _line(self, ask: Ask) -> Line:
        key = (ask.group, ask.topic.id)
        line = self._lines.get(key)
        if line is None:
            for idle in [each for each, other in self._lines.items() if not other]:
                del self._lines[idle]
            line = self._lines[key] = Line(self._log, self._clock, self._collect, self.take_back, self._due_in_ms)
        return line

    def _due_in_ms(self, ask: Ask) -> float | None:
        """When something comes back that this receiver may have."""
        numbers = ask.topic.partition_numbers if ask.partition is None else [ask.topic.partition_numbers[ask.partition]]
        cursors = (self._kept.get(Place(ask.group, number)) for number in numbers)
        dues = [due for kept in cursors if kept is not None and (due := kept.cursor.next_due_ms) is not None]
        return min(dues) - self.now_ms() if dues else None

    def _tell(self, place: Place, kept: Kept) -> None:
        """Something may have become ready, or will sooner than was thought."""
        if kept.topic_id is not None and (line := self._lines.get((place.group, kept.topic_id))) is not None:
            line.tell()


_COUNTERS: Final = {
    "delivered": "Messages that were given to receivers.",
    "redelivered": "Messages that were given to receivers again.",
    "acknowledged": "Messages that receivers have acknowledged.",
    "buried": "Messages that went to dead letters after their last attempt, or at a receiver's word.",
    "lost": "Messages that the log let go of before their group had done them.",
}


def _lane_of(record: Record) -> int:
    """Messages of the same sharding key have the same lane; those without any are in order among themselves."""
    key: bytes | None = None
    for name, value in record.headers:
        if name == SHARDING_KEY_HEADER:
            key = value
    content = key if key is not None else record.key
    if content is None:
        return 1
    return int.from_bytes(hashlib.blake2b(content, digest_size=7).digest()) | 1
