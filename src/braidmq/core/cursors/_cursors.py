"""The service: all groups that take messages one by one.

Receivers are given messages and say of each what became of it; see `_cursor` for what is remembered. What they say is
kept a moment later, all that came together in one write: after a crash at most what was said in that moment is given
out again, and nothing is passed over. How far a group has come without a gap is also committed as its offset, so that
whoever looks at groups sees these like all others. If somebody else moves that offset, the group goes on there.

What came back to a group by its retry topic (sent back by members that pull, replayed or resent by operators) is given
to those who receive the topic that it was sent to first, as if its partition were one more of that topic: `_parts`.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Protocol
from uuid import UUID

import structlog

from braidmq.core.cursors._cursor import Cursor, OpenMessage
from braidmq.core.cursors._ears import Attention, Ears, OnNews, wait_for_news
from braidmq.core.cursors._figures import Remains, Tally, lag_of
from braidmq.core.cursors._keeping import Keeping, Kept, Offsets, Place, Rows
from braidmq.core.cursors._line import Line
from braidmq.core.cursors._parts import Part, Readers, found_in, group_of_retry_name, own_retry_name
from braidmq.core.cursors._reach import Reach
from braidmq.core.cursors._seals import Seals
from braidmq.core.cursors._shelf import Shelf
from braidmq.core.cursors._words import Ask, CursorLimits, CursorView, Delivered, Receipt
from braidmq.core.filters import Everything
from braidmq.core.group_offsets import ResetBoard
from braidmq.core.metrics import Metric, MetricKind
from braidmq.core.pull import Puller
from braidmq.core.timing import Clock
from braidmq.core.trace import UNTRACED, Tracer
from braidmq.log import Log
from braidmq.model import DEFAULT_INSTANCE, BraidError, Group, Topic, TraceKind
from braidmq.model.errors import (
    HandleExpired,
    InvalidHandle,
    OffsetOutOfRange,
    TooManyReceivers,
    UnknownMessage,
)
from braidmq.model.group_settings import CONSUME, OFF
from braidmq.records import Record
from braidmq.store import Change, GroupChanged, TopicChanged

REMEMBERED_MAX: Final = 10_000
"""How many batches are remembered for receivers who ask again."""
BURY_RETRY_MS: Final = 1000
COMING_MS: Final = 50
"""How soon is looked again for a topic that is being made."""
BURIAL_MS: Final = 60_000
NAMED_TOGETHER: Final = 1_000
"""How many messages that the last life has left are read in one go."""
AHEAD_BYTES: Final = 48 << 10
"""How much is read with a message that comes again, of what lies behind it and comes again, too."""

_logger = structlog.get_logger(__name__)


class Catalog(Protocol):
    """What exists; see `store.Catalog`."""

    def group(self, instance: str, name: str) -> Group | None: ...

    def topic(self, instance: str, name: str) -> Topic | None: ...

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
        readers: Readers | None = None,
    ) -> None:
        self._catalog = catalog
        self._log = log
        self._puller = puller
        self._undertaker = undertaker
        self._clock = clock
        self._seals = Seals(secret)
        self.limits = limits or CursorLimits()
        self._tracer = tracer
        self._began_ms = clock.now_ms() - clock.passed_ms()
        self._keeping = Keeping(rows, offsets, clock)
        self._kept = self._keeping.kept
        self._tally = Tally()
        self._remains = Remains(log, self._kept)
        self._shelf = Shelf(log, resets, self._keeping, self.limits, self._tally)
        self._reach = Reach(catalog, log, readers)
        self._lines: dict[tuple[str, UUID], Line] = {}
        self._ears = Ears(log)
        self._remembered: OrderedDict[tuple[str, str], list[Delivered]] = OrderedDict()
        self._burials: set[asyncio.Task[None]] = set()
        self._closing = False
        self._unsubscribe = catalog.subscribe(self._heed)

    async def open(self) -> None:
        """Take up what the last life of this node has left."""
        await self._shelf.load()

    async def close(self) -> None:
        """Receivers go with nothing; what is known is kept."""
        self._closing = True
        self._unsubscribe()
        for line in list(self._lines.values()):
            await line.close()
        self._ears.tell_all()
        if self._burials:
            await asyncio.wait(self._burials)
        await self._remains.close()
        await self._keeping.close()

    def now_ms(self) -> int:
        """The time of day when this began, and what has passed since: it does not jump when the clock is set."""
        return int(self._began_ms + self._clock.passed_ms())

    # For receivers.

    async def receive(self, ask: Ask, *, wait_s: float = 0.0) -> list[Delivered]:
        """Messages that are the receiver's from now on, the oldest first; or none, after so long a wait.

        Raises UnknownPartition, TooManyReceivers, and the log's errors.
        """
        if again := self.again(ask):
            return again
        batch = await self._collect([ask])
        if not batch and wait_s > 0 and not self._closing:
            self._check_waiting()
            batch = await self._line(ask).wait(ask, wait_s)
        self._remember(ask, batch)
        return batch

    async def receive_any(self, asks: Sequence[Ask], *, wait_s: float = 0.0) -> list[Delivered]:
        """As `receive`, for one who takes from several places at once, those of the first ask first. How much is taken
        in all, and under which word, the first ask says. Raises what `receive` does."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_s
        if again := self.again(asks[0]):
            return again
        if wait_s > 0:
            self._check_waiting()
        with self._ears.listening(asks) as news:
            while True:
                news.clear()
                batch = await self._collect(asks)
                left_s = deadline - loop.time()
                if batch or left_s <= 0 or self._closing:
                    self._remember(asks[0], batch)
                    return batch
                dues_ms = [due for ask in asks if (due := self._due_in_ms(ask)) is not None]
                await wait_for_news(news, min([left_s, *(max(due, 1) / 1000 for due in dues_ms)]))

    def attend(self, group: str, topics: Sequence[Topic], on_news: OnNews) -> Attention:
        """Hear from now on where something may have become ready for the group, but for what comes back by its own
        time: `dues` says that. Raises UnknownPartition."""
        return Attention(self._ears, self._log, group, topics, on_news)

    def dues(self, group: str, numbers: Iterable[int]) -> tuple[list[int], float | None]:
        """In which of the partitions something has come back to the group, and in how many milliseconds something will
        in the others."""
        if not self._shelf.open_counts.get(group):
            return [], None
        now_ms, due, next_ms = self.now_ms(), [], None
        for number in numbers:
            kept = self._kept.get(Place(group, number))
            if kept is None or (at_ms := kept.cursor.next_due_ms) is None:
                continue
            if at_ms <= now_ms:
                due.append(number)
            elif next_ms is None or at_ms < next_ms:
                next_ms = at_ms
        return due, None if next_ms is None else next_ms - now_ms

    def _check_waiting(self) -> None:
        if sum(map(len, self._lines.values())) + len(self._ears) >= self.limits.waiting_max:
            raise TooManyReceivers(f"{self.limits.waiting_max} receivers wait (cursors.waiting_max)")

    def has_begun(self, group: str, number: int) -> bool:
        """Whether it is known where the group is in the partition."""
        place = Place(group, number)
        return place in self._kept or self._keeping.committed(place) is not None

    def holds(self, group: str, receipt: Receipt) -> bool:
        """Whether a message is still with the receiver who has this receipt."""
        try:
            self._message_of(group, receipt)
        except (HandleExpired, InvalidHandle):
            return False
        return True

    def acknowledge(self, group: str, receipt: Receipt) -> None:
        """The message is done. Raises InvalidHandle, HandleExpired."""
        kept, message = self._message_of(group, receipt)
        self._end(Place(group, receipt.number), kept, message, kept.cursor.acknowledge)
        self._tally.acknowledged[group] += 1

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
        for part in self._reach.in_turn(ask):
            number, partition = part.number, part.partition
            kept = self._shelf.cursor(ask, part)
            count_max = ask.count_max - len(found)
            if count_max <= 0:
                break
            pulled = await self._puller.pull(
                number,
                kept.cursor.next,
                ask.chosen,
                count_max=count_max,
                bytes_max=ask.bytes_max,
                committed=ask.committed,
            )
            found += [(partition, record) for record in pulled.records]
        return found

    async def arrival(self, ask: Ask, wait_s: float) -> bool:
        """Whether there is something for this receiver now, or comes before so long a wait is over. Somebody else may
        have it then."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_s
        while True:
            cursors = {part.number: self._shelf.cursor(ask, part).cursor for part in self._reach.in_turn(ask)}
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

    def counts_out(self) -> dict[str, int]:
        """How many messages are with receivers, by group; with every group that takes messages one by one."""
        counts: dict[str, int] = {}
        for place, kept in self._kept.items():
            counts[place.group] = counts.get(place.group, 0) + kept.cursor.out_count
        return counts

    def out(self, group: str, number: int) -> int:
        """How many messages of the partition are with receivers of the group."""
        kept = self._kept.get(Place(group, number))
        return 0 if kept is None else kept.cursor.out_count

    def lag(self, group: str, topic: Topic) -> int:
        """How many messages of the topic the group has not done; see `CursorView.lag`."""
        found = ((number, self._kept.get(Place(group, number))) for number in topic.partition_numbers)
        return sum(lag_of(self._log, number, kept) for number, kept in found if kept is not None)

    def redelivered(self, group: str) -> int:
        """How many messages were given to receivers again since the node began."""
        return self._tally.redelivered[group]

    def numbers(self, group: str, topic: Topic) -> tuple[int, ...]:
        """The partitions that receivers of the topic may be given messages of."""
        return self._reach.numbers(group, topic)

    def waiting(self, group: str, topic: Topic) -> int:
        """How many receivers wait."""
        line = self._lines.get((group, topic.id))
        return (0 if line is None else len(line)) + self._ears.count(group, topic.id)

    def metrics(self) -> Iterator[Metric]:
        """What was done for each group on this node, and what is left to do."""
        yield from self._tally.metrics()
        waiting = sum(map(len, self._lines.values())) + len(self._ears)
        yield Metric("braid_cursors_receivers", MetricKind.GAUGE, "Receivers that wait for messages.", waiting)
        yield from self._remains.metrics(self._clock.now_ms())

    def _view(self, place: Place, kept: Kept) -> CursorView:
        cursor = kept.cursor
        end = self._log.bounds(place.number).stable
        return CursorView(place.number, cursor.floor, cursor.next, end, cursor.open_count, cursor.out_count)

    # Giving out.

    async def _collect(self, asks: Sequence[Ask]) -> list[Delivered]:
        bag = _Bag(asks[0])
        try:
            for ask in asks:
                if not self._is_paused(ask):
                    await self._collect_for(ask, bag)
        except BaseException:
            self.take_back(asks[0].group, bag.delivered)
            raise
        return bag.delivered

    async def _collect_for(self, ask: Ask, bag: _Bag) -> None:
        for part in self._reach.in_turn(ask):
            if bag.is_full:
                return
            await self._collect_from(ask, part, bag)

    async def _collect_one(self, ask: Ask) -> list[Delivered]:
        return await self._collect([ask])

    def _is_paused(self, ask: Ask) -> bool:
        """Whether an operator wants the group to be given nothing; its receivers wait, and go on when it does."""
        group = self._catalog.group(ask.topic.instance, ask.group)
        return group is not None and group.settings.get(CONSUME) == OFF

    async def _collect_from(self, ask: Ask, part: Part, bag: _Bag) -> None:
        place = Place(ask.group, part.number)
        kept = self._shelf.cursor(ask, part)
        cursor = kept.cursor
        if part.is_retry and not cursor.is_named:
            await self._name_origins(part, cursor)
        cursor.expire(self.now_ms())
        at_hand: dict[int, Record] = {}
        while True:
            await self._give_ready(ask, place, part, kept, bag, at_hand)
            if bag.is_full or kept.is_reading or self._shelf.is_full(ask.group):
                return
            found = await self._look_further(ask, place, part, kept, bag)
            if found is None:
                return
            at_hand = found

    async def _name_origins(self, part: Part, cursor: Cursor) -> None:
        """Of messages that the last life has left. There may be many, and others have their turn between."""
        at_hand: dict[int, Record] = {}
        for nth, message in enumerate(cursor.unnamed()):
            if nth % NAMED_TOGETHER == 0:
                at_hand = {}
                await asyncio.sleep(0)
            if message.origin:
                continue  # somebody else has asked meanwhile
            record = await self._record(part.number, message.offset, at_hand, NAMED_TOGETHER, committed=True)
            if record is not None:
                found = found_in(part, record, is_ordered=False)
                cursor.name(message, found.origin, found.earlier)
        cursor.is_named = True

    async def _give_ready(
        self, ask: Ask, place: Place, part: Part, kept: Kept, bag: _Bag, at_hand: dict[int, Record]
    ) -> None:
        cursor = kept.cursor
        deliveries_max = self._deliveries_max(ask.group)
        while not bag.is_full and (first := cursor.take_ready(part.origin)) is not None:
            if first.earlier + first.attempts >= deliveries_max:
                self._begin_burial(place, kept, first)
                continue
            for message in cursor.together(first, bag.room):
                if message.earlier + message.attempts >= deliveries_max:
                    self._begin_burial(place, kept, message)
                    break
                await self._give(ask, place, part, kept, message, bag, at_hand)

    async def _give(
        self,
        ask: Ask,
        place: Place,
        part: Part,
        kept: Kept,
        message: OpenMessage,
        bag: _Bag,
        at_hand: dict[int, Record],
    ) -> None:
        now_ms = self.now_ms()
        due_ms = now_ms + (self.limits.renewal_ms if ask.holder is not None else ask.invisible_ms)
        kept.cursor.give(message, due_ms, holder=ask.holder, renewed_until_ms=now_ms + self.limits.renewed_max_ms)
        self._keeping.changed(place, kept)
        record = at_hand.get(message.offset)
        if record is None:
            following = kept.cursor.first_ready(part.origin)
            are_near = following is not None and following - message.offset <= bag.room
            count_max = bag.room if are_near else 1
            record = await self._record(place.number, message.offset, at_hand, count_max, committed=ask.committed)
        if record is None:
            self._end(place, kept, message, kept.cursor.finish)
            self._tally.lost[place.group] += 1
            return
        receipt = self._seals.receipt(place.group, place.number, message.offset, message.serial)
        bag.put(Delivered(receipt, part.partition, record, message.earlier + message.attempts, part.topic.name))
        self._tally.delivered[place.group] += 1
        if message.attempts > 1:
            self._tally.redelivered[place.group] += 1
        elif part.is_retry:
            offset = message.offset
            self._tracer.note_range(TraceKind.DELIVERED, place.group, place.number, offset, offset + 1, ask.client)

    async def _look_further(
        self, ask: Ask, place: Place, part: Part, kept: Kept, bag: _Bag
    ) -> dict[int, Record] | None:
        """Open the next messages that the group wants; None when there is nothing new."""
        cursor, number = kept.cursor, place.number
        chosen, count_max, bytes_max = part.chosen, bag.room, bag.bytes_left
        pulled = self._puller.pull_now(
            number, cursor.next, chosen, count_max=count_max, bytes_max=bytes_max, committed=ask.committed
        )
        if pulled is None:
            kept.is_reading = True
            try:
                pulled = await self._puller.pull(
                    number, cursor.next, chosen, count_max=count_max, bytes_max=bytes_max, committed=ask.committed
                )
            finally:
                kept.is_reading = False
                self._ears.tell(place.group, ask.topic.id)  # who came meanwhile was given nothing
            if self._kept.get(place) is not kept:
                return None  # somebody has set the group elsewhere meanwhile
        if pulled.next_offset <= cursor.next:
            return None
        first = cursor.next
        cursor.look(
            pulled.next_offset,
            [
                found_in(part, record, is_ordered=ask.is_ordered, is_single_file=ask.is_single_file)
                for record in pulled.records
            ],
        )
        self._shelf.count_open(place.group, len(pulled.records))
        self._keeping.changed(place, kept)
        if pulled.records and not part.is_retry:
            self._tracer.note_range(TraceKind.DELIVERED, place.group, number, first, pulled.next_offset, ask.client)
        elif not pulled.records:
            await asyncio.sleep(0)  # there may be much that is not wanted; others have their turn between
        return {record.offset: record for record in pulled.records}

    async def _record(
        self, number: int, offset: int, at_hand: dict[int, Record], count_max: int, *, committed: bool
    ) -> Record | None:
        """One message of the log, None where it is gone; it and some that lie behind it are at hand from now on."""
        if offset in at_hand:
            return at_hand[offset]
        search = (number, offset, Everything())
        try:
            pulled = self._puller.pull_now(*search, count_max=count_max, bytes_max=AHEAD_BYTES, committed=committed)
            if pulled is None:
                pulled = await self._puller.pull(
                    *search, count_max=count_max, bytes_max=AHEAD_BYTES, committed=committed
                )
        except OffsetOutOfRange:
            return None
        at_hand.update((record.offset, record) for record in pulled.records)
        return at_hand.get(offset)

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

    def again(self, ask: Ask) -> list[Delivered]:
        """What was given under the same word, if all of it is still the receiver's; nothing to one without a word."""
        batch = self._remembered.get((ask.group, ask.attempt_id), []) if ask.attempt_id else []
        for delivered in batch:
            try:
                self._message_of(ask.group, delivered.receipt)
            except (HandleExpired, InvalidHandle):
                return []
        return batch

    def _remember(self, ask: Ask, batch: list[Delivered]) -> None:
        if not ask.attempt_id or not batch:
            return
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
                place.group, place.number, message.offset, delay_ms=-1, attempts=message.earlier + message.attempts
            )
        except (UnknownMessage, OffsetOutOfRange):
            self._tally.lost[place.group] += 1
        except BraidError:
            if message.serial == serial:
                kept.cursor.extend(message, self.now_ms() + BURY_RETRY_MS)
                self._keeping.changed(place, kept)
                self._tell(place, kept)
            raise
        if self._kept.get(place) is kept and kept.cursor.find(message.offset) is message:
            self._end(place, kept, message, kept.cursor.finish)
            self._tally.buried[place.group] += 1

    # Receipts.

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

    def _end(self, place: Place, kept: Kept, message: OpenMessage, end: Callable[[OpenMessage], None]) -> None:
        was_full = self._shelf.is_full(place.group)
        open_before = kept.cursor.open_count
        end(message)
        self._shelf.count_open(place.group, kept.cursor.open_count - open_before)
        self._keeping.changed(place, kept)
        if message.lane or was_full:
            self._tell(place, kept)

    def forget_group(self, group: str) -> None:
        """Where the group was, and what its receivers have, counts no more."""
        self._shelf.forget([place for place in self._kept if place.group == group])
        self._tally.forget(group)

    def forget(self, group: str, numbers: Iterable[int]) -> None:
        """As `forget_group`, in these partitions."""
        self._shelf.forget([place for number in numbers if (place := Place(group, number)) in self._kept])

    def _heed(self, change: Change) -> None:
        """Topics and groups that are gone take their cursors with them."""
        if isinstance(change, TopicChanged) and change.new is None and change.old is not None:
            numbers = set(change.old.partition_numbers)
            self._shelf.forget([place for place in self._kept if place.number in numbers])
        elif isinstance(change, GroupChanged) and change.new is None and change.old is not None:
            self.forget_group(change.old.name)
        elif isinstance(change, GroupChanged) and change.new is not None:
            self._tell_group(change.new.name)
        elif isinstance(change, TopicChanged) and change.old is None and change.new is not None:
            self._tell_group(group_of_retry_name(change.new.name))

    # Lines.

    def _line(self, ask: Ask) -> Line:
        key = (ask.group, ask.topic.id)
        line = self._lines.get(key)
        if line is None:
            for idle in [each for each, other in self._lines.items() if not other]:
                del self._lines[idle]
            line = self._lines[key] = Line(
                self._log, self._clock, self._collect_one, self.take_back, self._due_in_ms, self._reach.watched
            )
        return line

    def _due_in_ms(self, ask: Ask) -> float | None:
        """When something comes back that this receiver may have."""
        if self._is_paused(ask):
            return None  # whoever lets the group go on tells its lines
        parts = self._reach.parts_to_be(ask)
        if parts is None:
            return COMING_MS
        cursors = (self._kept.get(Place(ask.group, part.number)) for part in parts)
        dues = [due for kept in cursors if kept is not None and (due := kept.cursor.next_due_ms) is not None]
        return min(dues) - self.now_ms() if dues else None

    def _tell(self, place: Place, kept: Kept) -> None:
        """Something may have become ready, or will sooner than was thought."""
        if kept.topic_id is None:
            return
        if (line := self._lines.get((place.group, kept.topic_id))) is not None:
            line.tell()
        self._ears.tell(place.group, kept.topic_id)
        topic = self._catalog.topic_by_id(kept.topic_id)
        if topic is not None and topic.name == own_retry_name(place.group):
            self._tell_group(place.group)

    def _tell_group(self, name: str) -> None:
        for (group, _), line in self._lines.items():
            if group == name:
                line.tell()
        self._ears.tell_all(name)
