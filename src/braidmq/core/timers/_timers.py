"""Delayed messages: kept in the store until they are due, then appended to their topic.

The order of things is the promise. A message is in the store before its publisher is answered. When it is due, it is
claimed, appended, and only then removed. So a stop at any point loses nothing; between the append and the removal it
makes the next life append the same message, with the same id, once more.

Recalling removes the row, and a claim makes that impossible: whichever is first in the database counts.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final, NamedTuple
from uuid import UUID

from msgspec.structs import replace

from braidmq.core.deferral import (
    EASE_MAX_MS,
    LEASE_MS,
    RETRY_MS,
    TURN_BYTES,
    TURN_ROWS,
    UNKNOWN_RETRY_MS,
    Alarm,
    Ids,
    Rows,
    SecretNumbers,
    handle_of,
    parse_handle,
)
from braidmq.core.delivery import Delivered, Delivery, Parcel, pack, unpack, with_id
from braidmq.core.metrics import Metric, MetricKind
from braidmq.core.timing import Clock
from braidmq.core.trace import UNTRACED, Tracer
from braidmq.logger import get_logger
from braidmq.model import NEVER_MS, BraidError, Message, Timer, Topic, TraceKind, deferred_id, deferred_time_ms
from braidmq.model.errors import (
    DelayTooLong,
    LogClosed,
    StorageFailed,
    StorageFull,
    StoreFailed,
    TooLateToRecall,
    TooManyFiles,
    UnknownPartition,
    UnknownTimer,
    UnknownTopic,
)
from braidmq.model.saying import say
from braidmq.store import Page

DELAY_MAX_MS: Final = 40 * 24 * 60 * 60 * 1000
PACE_MS: Final = 20
"""The rest between turns while messages fall due all the time, at least. One that comes due alone does not wait."""
ID_TIME_MAX_MS: Final = (1 << 47) - 1
"""The latest time that an id can begin with."""

_secret = SecretNumbers()
_logger = get_logger(__name__)


class Taken(NamedTuple):
    """What became of a message: it waits under a handle, or it was due and is in its topic."""

    message_id: str
    handle: str | None = None
    delivered: Delivered | None = None


class Timers:
    """All delayed messages. Make it, then `start`. `owner` is this node's name, which no other node may have."""

    def __init__(
        self,
        rows: Rows[Timer],
        delivery: Delivery,
        clock: Clock,
        *,
        owner: str,
        delay_max_ms: int = DELAY_MAX_MS,
        draw: Callable[[int], int] = _secret.below,
        tracer: Tracer = UNTRACED,
    ) -> None:
        self._rows = rows
        self._delivery = delivery
        self._clock = clock
        self._owner = owner
        self.delay_max_ms = delay_max_ms
        self._tracer = tracer
        self._ids = Ids(draw)
        self._alarm = Alarm("timers", clock, rows, self._turn, pace_ms=PACE_MS)
        self._in_hand: set[UUID] = set()
        """Those that are being delivered, and can no longer be taken back."""
        self._appended: list[UUID] = []
        """Those in their topics whose rows are not removed yet; nothing is claimed before they are."""
        self._tried_before: set[UUID] = set()
        """Those of this turn that somebody had claimed before, and may have appended."""
        self._began_ms = 0
        self._counts = {"added": 0, "delivered": 0, "recalled": 0, "cancelled": 0, "parked": 0, "put_off": 0}

    async def start(self) -> None:
        """Take over from the node's last life, and begin to deliver."""
        self._began_ms = self._clock.now_ms()
        await self._rows.wake_claims(self._owner, self._began_ms, LEASE_MS)
        self._alarm.start()

    async def close(self) -> None:
        """Ends the deliveries that are under way; the rest waits for the next start."""
        await self._alarm.close()
        try:
            await self._forget_appended()
        except StoreFailed as error:  # the next start delivers them once more, with the same ids
            _logger.warning("timers_not_forgotten", count=len(self._appended), reason=error.message)

    # For publishers.

    async def add(self, topic: Topic, message: Message, due_ms: int, *, partition: int = -1) -> Taken:
        """Kept when this returns, or, when its time has come already, in its topic. A message without an id is given
        one. Without a partition, its key chooses one at delivery, or else chance.

        Raises DelayTooLong, StoreFailed, and what the topic has against the message.
        """
        now_ms = self._clock.now_ms()
        if due_ms - now_ms > self.delay_max_ms:
            ahead_s, most_s = (due_ms - now_ms) // 1000, self.delay_max_ms // 1000
            raise DelayTooLong(
                say(
                    "the message is to come {ahead_s} s from now; the most is {most_s} s (timers.delay_max_s)",
                    ahead_s=ahead_s,
                    most_s=most_s,
                )
            )
        timer_id = self._ids.next(max(due_ms, 0))
        message = with_id(message, timer_id.hex)
        if due_ms <= now_ms:
            return await self._deliver_at_once(topic, message, partition)
        self._delivery.check(topic, message)
        timer = _timer(timer_id, topic, message, due_ms, partition)
        try:
            await self._rows.add(timer)
        finally:  # a caller that has gone may have left the row
            self._alarm.wake_by(due_ms)
        self._counts["added"] += 1
        self._tracer.note(
            TraceKind.DELAYED,
            timer.message_id,
            keys=message.keys,
            topic_id=topic.id,
            topic=topic.name,
            value=due_ms,
        )
        return Taken(timer.message_id, handle_of(timer_id))

    async def _deliver_at_once(self, topic: Topic, message: Message, partition: int) -> Taken:
        (fate,) = await self._delivery.deliver([Parcel(topic.id, partition, pack(message))])
        if isinstance(fate, BraidError):
            raise fate
        return Taken(message.id or "", delivered=fate)

    async def recall(self, handle: str, *, topic: Topic | None = None) -> Timer:
        """Take a message back before it is delivered; what it was. With `topic`, only a message for that topic.

        Raises InvalidHandle, UnknownTimer, TooLateToRecall, StoreFailed.
        """
        recalled = await self._remove(handle, topic)
        self._counts["recalled"] += 1
        self._note_recalled(recalled)
        return recalled

    async def handle_of_message(self, topic: Topic, due_ms: int, message_id: str) -> str:
        """The handle of a message that waits, for those who know it by its id and its time. Raises UnknownTimer,
        TooLateToRecall, StoreFailed."""
        after: str | None = None
        while True:
            listed = await self.page(topic=topic, from_ms=due_ms, until_ms=due_ms + 1, after=after, limit=1000)
            for timer in listed:
                if timer.message_id == message_id:
                    return handle_of(timer.id)
            if not listed:
                raise UnknownTimer if due_ms > self._clock.now_ms() else TooLateToRecall
            after = handle_of(listed[-1].id)

    # For operators.

    async def page(
        self,
        *,
        topic: Topic | None = None,
        from_ms: int | None = None,
        until_ms: int | None = None,
        parked: bool = False,
        after: str | None = None,
        limit: int = 100,
        instance: str | None = None,
    ) -> list[Timer]:
        """Messages that wait, by due time, without their contents: of a topic or an instance, due in a range of time,
        or only those that an operator has to decide about; behind a handle. Raises InvalidHandle."""
        page = _page(topic, from_ms, until_ms, parked=parked, limit=limit)._replace(instance=instance)
        return await self._rows.page(page if after is None else page._replace(after=parse_handle(after)))

    async def find(self, handle: str) -> tuple[Timer, Message]:
        """Raises InvalidHandle, UnknownTimer."""
        timer = await self._rows.find(parse_handle(handle))
        if timer is None:
            raise UnknownTimer
        return timer, unpack(timer.content)

    async def cancel(self, handle: str) -> Timer:
        """Remove a message that waits or is parked. Raises what `recall` raises."""
        cancelled = await self._remove(handle, None)
        self._counts["cancelled"] += 1
        self._note_recalled(cancelled)
        return cancelled

    async def cancel_many(
        self,
        *,
        topic: Topic | None = None,
        from_ms: int | None = None,
        until_ms: int | None = None,
        parked: bool = False,
        limit: int = 1000,
    ) -> int:
        """Remove the first of the messages that `page` would list, but for those that are being delivered; how many
        that were. Called until it is none, it removes them all. Raises StoreFailed."""
        listed = await self._rows.page(_page(topic, from_ms, until_ms, parked=parked, limit=limit))
        removed: list[Timer] = []

        def remove(timer: Timer) -> Timer | None:
            if self._is_given(timer):
                return timer
            removed.append(timer)
            return None

        if listed:
            await self._rows.revise([timer.id for timer in listed], remove)
        self._counts["cancelled"] += len(removed)
        for timer in removed:
            self._note_recalled(timer)
        return len(removed)

    async def release(self, handle: str, topic: Topic) -> None:
        """Deliver a parked message after all, to this topic. Raises InvalidHandle, UnknownTimer for one that is not
        parked, StoreFailed."""
        now_ms = self._clock.now_ms()

        def to_topic(timer: Timer) -> Timer:
            if not timer.parked:
                raise UnknownTimer("the message is not parked")
            place = {"topic_id": topic.id, "instance": topic.instance, "topic": topic.name}
            return replace(timer, parked="", attempts=0, wake_ms=now_ms, **place)

        if not await self._rows.revise([parse_handle(handle)], to_topic):
            raise UnknownTimer
        self._alarm.wake_by(now_ms)

    @property
    def behind_ms(self) -> int:
        """How late the next message is."""
        return self._alarm.behind_ms

    def metrics(self) -> Iterator[Metric]:
        """What happened to delayed messages on this node."""
        for name, text in _COUNTERS.items():
            yield Metric(f"braid_timers_{name}", MetricKind.COUNTER, text, self._counts[name])
        yield Metric("braid_timers_failures", MetricKind.COUNTER, "Turns that failed.", self._alarm.failures)
        behind_s = self.behind_ms / 1000
        yield Metric("braid_timers_behind_seconds", MetricKind.GAUGE, "How late the next message is.", behind_s)

    async def _remove(self, handle: str, topic: Topic | None) -> Timer:
        timer_id = parse_handle(handle)
        removed: list[Timer] = []

        def remove(timer: Timer) -> None:
            if topic is not None and timer.topic_id != topic.id:
                raise UnknownTimer("no message for this topic waits under this handle")
            if self._is_given(timer):
                raise TooLateToRecall
            removed.append(timer)

        await self._rows.revise([timer_id], remove)
        if not removed:
            raise UnknownTimer if deferred_time_ms(timer_id) > self._clock.now_ms() else TooLateToRecall
        return removed[0]

    def _is_given(self, timer: Timer) -> bool:
        """Whether a node is delivering it, this one or another, or its last life may have."""
        if timer.owner or timer.id in self._in_hand:
            return True
        return not timer.parked and deferred_time_ms(timer.id) <= self._began_ms

    def _note_recalled(self, timer: Timer) -> None:
        self._tracer.note(TraceKind.RECALLED, timer.message_id, topic_id=timer.topic_id, topic=timer.topic)

    # Delivering.

    async def _turn(self) -> int:
        """Deliver what is due, so much at a time; when to come again. The rows of what was appended are removed with
        the next claim, where that comes soon: one transaction for both."""
        now_ms = self._clock.now_ms()
        claim = partial(self._claimed, wake_ms=now_ms + LEASE_MS)
        try:
            claimed, next_ms = await self._rows.claim(
                now_ms, claim, rows_max=TURN_ROWS, bytes_max=TURN_BYTES, for_others=True, without=self._appended
            )
            self._appended.clear()
            if claimed:
                await self._deliver(claimed)
            if next_ms > self._clock.now_ms() + EASE_MAX_MS:
                await self._forget_appended()
        finally:
            self._in_hand = set(self._appended)
            self._tried_before.clear()
        return next_ms

    def _claimed(self, timer: Timer, *, wake_ms: int) -> Timer:
        """Runs between other changes of rows, so that whoever wants this one back comes before or behind."""
        self._in_hand.add(timer.id)
        if timer.owner:
            self._tried_before.add(timer.id)
        return replace(timer, owner=self._owner, wake_ms=wake_ms, attempts=timer.attempts + 1)

    async def _deliver(self, claimed: list[Timer]) -> None:
        parcels = [Parcel(timer.topic_id, timer.partition, timer.content) for timer in claimed]
        changed: dict[UUID, Timer] = {}
        due: list[tuple[int, int, str]] = []
        for timer, fate in zip(claimed, await self._delivery.deliver(parcels), strict=True):
            if isinstance(fate, Delivered):
                self._appended.append(timer.id)
                due.append((fate.number, fate.offset, timer.message_id))
            else:
                changed[timer.id] = self._refused(timer, fate)
        self._counts["delivered"] += len(self._appended)
        self._note_due(due)
        if changed:
            await self._rows.revise(changed, lambda timer: changed[timer.id])
            self._tell_changed(changed)

    def _note_due(self, due: list[tuple[int, int, str]]) -> None:
        """Partition, offset and id of each; those that lie one behind the other are one note."""
        due.sort()
        begin = 0
        for at, (number, offset, _) in enumerate(due, 1):
            if at == len(due) or due[at][:2] != (number, offset + 1):
                self._tracer.note_lot(TraceKind.DUE, number, due[begin][1], [each for _, _, each in due[begin:at]])
                begin = at

    async def _forget_appended(self) -> None:
        if self._appended:
            await self._rows.delete(self._appended)
            self._appended.clear()

    def _refused(self, timer: Timer, refusal: BraidError) -> Timer:
        """What is to become of a message that could not be appended: tried again, or left to an operator. One that the
        log has refused for sure can be recalled again, unless somebody tried before."""
        now_ms = self._clock.now_ms()
        if isinstance(refusal, StorageFull | TooManyFiles):
            owner = self._owner if timer.id in self._tried_before else ""
            return replace(timer, owner=owner, wake_ms=now_ms + RETRY_MS)
        if isinstance(refusal, StorageFailed | LogClosed):
            return replace(timer, wake_ms=now_ms + RETRY_MS)
        if isinstance(refusal, UnknownTopic | UnknownPartition) and timer.attempts <= 1:
            return replace(timer, owner="", wake_ms=now_ms + UNKNOWN_RETRY_MS)
        return replace(timer, owner="", wake_ms=NEVER_MS, parked=f"{refusal.code}: {refusal.message}")

    def _tell_changed(self, changed: Mapping[UUID, Timer]) -> None:
        for timer in changed.values():
            self._alarm.wake_by(timer.wake_ms)
            self._counts["parked" if timer.parked else "put_off"] += 1
            if timer.parked:
                _logger.warning("timer_parked", handle=handle_of(timer.id), topic=timer.topic, reason=timer.parked)


_COUNTERS: Final = {
    "added": "Messages that were taken for a later time.",
    "delivered": "Delayed messages that came to their topic.",
    "recalled": "Messages that were taken back by their publishers.",
    "cancelled": "Messages that were removed by operators.",
    "parked": "Messages that could not be delivered and wait for an operator.",
    "put_off": "Deliveries that are tried again, because the log or the topic was not there.",
}


def _page(topic: Topic | None, from_ms: int | None, until_ms: int | None, *, parked: bool, limit: int) -> Page:
    return Page(
        limit=limit,
        topic_id=None if topic is None else topic.id,
        from_id=None if from_ms is None else _first_id(from_ms),
        until_id=None if until_ms is None else _first_id(until_ms),
        parked=parked,
    )


def _first_id(time_ms: int) -> UUID:
    """The first id that something of this time could have; of times that no id reaches, the last."""
    return deferred_id(min(max(time_ms, 0), ID_TIME_MAX_MS), 0, 0)


def _timer(id: UUID, topic: Topic, message: Message, due_ms: int, partition: int) -> Timer:
    content = pack(message)
    return Timer(
        id=id,
        topic_id=topic.id,
        instance=topic.instance,
        topic=topic.name,
        partition=partition,
        message_id=message.id or "",
        due_ms=due_ms,
        wake_ms=due_ms,
        size_bytes=len(content),
        content=content,
    )
