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

from braidmq.core.cursors._cursor import Cursor, OpenMessage
from braidmq.core.cursors._ears import Attention, Ears, OnNews, wait_for_news
from braidmq.core.cursors._figures import Remains, Tally, lag_of
from braidmq.core.cursors._giving import Bag, Giving
from braidmq.core.cursors._keeping import Keeping, Kept, Offsets, Place, Rows
from braidmq.core.cursors._line import Line
from braidmq.core.cursors._parts import Readers, group_of_retry_name, own_retry_name
from braidmq.core.cursors._reach import Reach
from braidmq.core.cursors._seals import Seals
from braidmq.core.cursors._shelf import Shelf
from braidmq.core.cursors._words import Ask, CursorLimits, CursorView, Delivered, Receipt
from braidmq.core.group_offsets import ResetBoard
from braidmq.core.metrics import Metric, MetricKind
from braidmq.core.pull import Puller
from braidmq.core.timing import Clock
from braidmq.core.trace import UNTRACED, Tracer
from braidmq.log import Log
from braidmq.logger import get_logger
from braidmq.model import DEFAULT_INSTANCE, BraidError, Group, Partition, Topic
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

_logger = get_logger(__name__)


class Catalog(Protocol):
    """What exists; see `store.Catalog`."""

    def group(self, instance: str, name: str) -> Group | None: ...

    def topic(self, instance: str, name: str) -> Topic | None: ...

    def topic_by_id(self, topic_id: UUID) -> Topic | None: ...

    def partition_by_number(self, number: int) -> Partition | None: ...

    def subscribe(self, callback: Callable[[Change], None]) -> Callable[[], None]: ...


class Undertaker(Protocol):
    """Who brings messages to the dead letters; see `core.retry.Retries`."""

    async def send_back(
        self, group: str, number: int, offset: int, *, delay_ms: int | None = None, attempts: int | None = None
    ) -> Any: ...


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
        self._began_ms = clock.now_ms() - clock.passed_ms()
        self._keeping = Keeping(rows, offsets, clock)
        self._kept = self._keeping.kept
        self._tally = Tally()
        self._remains = Remains(log, self._kept)
        self._shelf = Shelf(log, resets, self._keeping, self.limits, self._tally)
        self._reach = Reach(catalog, log, readers)
        self._lines: dict[tuple[str, UUID], Line] = {}
        self._ears = Ears(log)
        self._giving = Giving(
            self,
            catalog,
            puller,
            self._shelf,
            self._keeping,
            self._ears,
            self._seals,
            self._tally,
            tracer,
            self.limits,
        )
        self._remembered: OrderedDict[tuple[str, str], list[Delivered]] = OrderedDict()
        self._burials: set[asyncio.Task[None]] = set()
        self._closing = False
        self._unsubscribe = catalog.subscribe(self._heed)

    async def open(self) -> None:
        """Take up what the last life of this node has left."""
        await self._shelf.load()
        for place, kept in self._kept.items():
            partition = self._catalog.partition_by_number(place.number)
            topic = None if partition is None else self._catalog.topic_by_id(partition.topic_id)
            kept.owner = DEFAULT_INSTANCE if topic is None else topic.instance, place.group

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
        self._tally.acknowledged[kept.owner] += 1

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

    def counts_out(self, instance: str = DEFAULT_INSTANCE) -> dict[str, int]:
        """How many messages are with receivers, by group; with every group that takes messages one by one."""
        counts: dict[str, int] = {}
        for place, kept in self._kept.items():
            if kept.owner[0] == instance:
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

    def redelivered(self, group: str, *, instance: str = DEFAULT_INSTANCE) -> int:
        """How many messages were given to receivers again since the node began."""
        return self._tally.redelivered[instance, group]

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
        bag = Bag(asks[0])
        try:
            for ask in asks:
                if not self._is_paused(ask):
                    await self._collect_for(ask, bag)
        except BaseException:
            self.take_back(asks[0].group, bag.delivered)
            raise
        return bag.delivered

    async def _collect_for(self, ask: Ask, bag: Bag) -> None:
        for part in self._reach.in_turn(ask):
            if bag.is_full:
                return
            await self._giving.collect(ask, part, bag)

    async def _collect_one(self, ask: Ask) -> list[Delivered]:
        return await self._collect([ask])

    def _is_paused(self, ask: Ask) -> bool:
        """Whether an operator wants the group to be given nothing; its receivers wait, and go on when it does."""
        group = self._catalog.group(ask.topic.instance, ask.group)
        return group is not None and group.settings.get(CONSUME) == OFF

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

    def begin_burial(self, place: Place, kept: Kept, message: OpenMessage) -> None:
        """Bring a message to the dead letters, whoever waits for what."""

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
            self._tally.lost[kept.owner] += 1
        except BraidError:
            if message.serial == serial:
                kept.cursor.extend(message, self.now_ms() + BURY_RETRY_MS)
                self._keeping.changed(place, kept)
                self._tell(place, kept)
            raise
        if self._kept.get(place) is kept and kept.cursor.find(message.offset) is message:
            self._end(place, kept, message, kept.cursor.finish)
            self._tally.buried[kept.owner] += 1

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

    def lose(self, place: Place, kept: Kept, message: OpenMessage) -> None:
        """The log has no such message any more: it is done, for want of anything to give."""
        self._end(place, kept, message, kept.cursor.finish)
        self._tally.lost[kept.owner] += 1

    def forget_group(self, group: str, *, instance: str = DEFAULT_INSTANCE) -> None:
        """Where the group was, and what its receivers have, counts no more."""
        self._shelf.forget([place for place, kept in self._kept.items() if kept.owner == (instance, group)])
        self._tally.forget((instance, group))

    def forget(self, group: str, numbers: Iterable[int]) -> None:
        """As `forget_group`, in these partitions."""
        self._shelf.forget([place for number in numbers if (place := Place(group, number)) in self._kept])

    def _heed(self, change: Change) -> None:
        """Topics and groups that are gone take their cursors with them."""
        if isinstance(change, TopicChanged) and change.new is None and change.old is not None:
            numbers = set(change.old.partition_numbers)
            self._shelf.forget([place for place in self._kept if place.number in numbers])
        elif isinstance(change, GroupChanged) and change.new is None and change.old is not None:
            self.forget_group(change.old.name, instance=change.old.instance)
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
