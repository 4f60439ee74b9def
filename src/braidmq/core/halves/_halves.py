"""Half messages: kept in the store until their producer says whether they count.

A half is in the store before its producer is answered. Its end is decided in the store, once; a commit is then
appended to its topic, and remembered as done. Whatever a stop leaves, the row says what is left to do. Between the
append and the remembering, a stop makes the next life append the same message, with the same id, once more.

Producers that do not come back are asked: any live one of the group, another each time. Those who know them (the
protocols) are `Checker`s. After the last question a half is parked, where operators see it and can end it; a producer
that comes back with an answer after all is heard as well.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, Protocol, TypeVar
from uuid import UUID

from msgspec.structs import replace

from braidmq.core.deferral import (
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
from braidmq.core.delivery import Delivered, Delivery, Fate, Parcel, pack, unpack, with_id
from braidmq.core.halves import _steps as steps
from braidmq.core.halves._fresh import EndedHalf, FreshHalves
from braidmq.core.halves._steps import HalfLimits
from braidmq.core.halves._waiting_room import WaitingRoom
from braidmq.core.metrics import Metric, MetricKind
from braidmq.core.timing import Clock
from braidmq.core.trace import UNTRACED, Tracer
from braidmq.logger import get_logger
from braidmq.model import (
    NEVER_MS,
    BraidError,
    Half,
    HalfState,
    Message,
    Topic,
    TraceKind,
    deferred_id,
    deferred_time_ms,
)
from braidmq.model.errors import (
    HalfEndedOtherwise,
    LogClosed,
    StorageFailed,
    StorageFull,
    StoreFailed,
    TooManyFiles,
    UnknownHalf,
    UnknownPartition,
    UnknownTopic,
)
from braidmq.store import Page

RECENT_MS: Final = 60_000
"""How far before its latest half a last life is looked through for what it appended and could not note."""
PAGE_ROWS: Final = 500

T = TypeVar("T")
OnKept = Callable[[list[UUID] | BraidError], None]
"""Told the ids of halves that were kept, or why they were not."""
PackedHalf = tuple[bytes, str, str]
"""A message that was packed by `core.delivery`, its id, and the group of its producer."""
Word = tuple[UUID, str, bool]
"""Which half is meant, the group of the producer who says it, and whether it was asked."""

_secret = SecretNumbers()
_logger = get_logger(__name__)


class Question(NamedTuple):
    """Whether a message counts. The answer is a call of `Halves.end` with `asked`."""

    handle: str
    half: Half

    def message(self) -> Message:
        """Raises InvalidBatch for a row that cannot be read."""
        return unpack(self.half.content)


class Checker(Protocol):
    """Someone who knows producers that are connected."""

    def live(self) -> Mapping[str, Sequence[str]]:
        """The names of live producers, by group; a group without any is left out. Called for every turn."""
        ...

    def ask(self, group: str, producer: str, question: Question) -> bool:
        """Send the question, without waiting; False if the producer has gone meanwhile. Must not raise."""
        ...


class Ended(NamedTuple):
    """A half's end. `delivered` is None for a rollback, a repetition, and a commit that the log takes only later."""

    message_id: str
    committed: bool
    repeated: bool
    delivered: Delivered | None = None


class Halves:
    """All half messages. Make it, then `start`. `owner` is this node's name, which no other node may have."""

    def __init__(
        self,
        rows: Rows[Half],
        delivery: Delivery,
        clock: Clock,
        *,
        owner: str,
        limits: HalfLimits | None = None,
        draw: Callable[[int], int] = _secret.below,
        tracer: Tracer = UNTRACED,
    ) -> None:
        self._rows = rows
        self._room = rows if isinstance(rows, WaitingRoom) else None
        self._delivery = delivery
        self._clock = clock
        self._owner = owner
        self.limits = limits or HalfLimits()
        self._tracer = tracer
        self._ids = Ids(draw)
        self._alarm = Alarm("halves", clock, rows, self._turn)
        self._checkers: list[Checker] = []
        self._appended: set[UUID] = set()
        """Those in their topics whose rows do not say so yet; nothing is claimed before they do."""
        self._fresh = FreshHalves()
        self._unnoted: set[UUID] = set()
        """Fresh ones of which the trace knows nothing."""
        self._over: set[UUID] = set()
        """Those whose end is carried out, and whose rows can go."""
        self._is_forgetting = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self._counts = dict.fromkeys(_COUNTERS, 0)

    async def start(self) -> None:
        """Take over from the node's last life: commits that were decided are carried out, producers are asked."""
        await self._rows.wake_claims(self._owner, self._clock.now_ms(), LEASE_MS)
        await self._recognise_appended()
        self._alarm.start()

    async def close(self) -> None:
        """Finishes the ends that are under way."""
        await self._alarm.close()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def ask_through(self, checker: Checker) -> None:
        """Let this checker's producers be asked, too."""
        self._checkers.append(checker)

    # For producers.

    async def prepare(
        self, topic: Topic, message: Message, *, group: str, partition: int = -1, immunity_ms: int = -1
    ) -> tuple[str, str]:
        """Keep a message that does not count yet; its handle and its id. With `immunity_ms`, the producer is not asked
        before that time, and is not heard unasked after it.

        Raises StoreFailed, and what the topic has against the message.
        """
        self._delivery.check(topic, message)
        half = self._half(topic, message, group, partition, immunity_ms)
        try:
            await self._rows.add(half)
        finally:  # a caller that has gone may have left the row
            self._alarm.wake_by(half.wake_ms)
        self._counts["prepared"] += 1
        self._fresh.add(half)
        self._note(TraceKind.PREPARED, half, keys=message.keys, at_ms=half.prepared_ms)
        return handle_of(half.id), half.message_id

    async def end(self, handle: str, *, commit: bool, group: str | None = None, asked: bool = False) -> Ended:
        """The producer's word, its first or its answer to a question; also an operator's, who counts as asked.

        Decided and carried out when this returns; it goes on when its caller has gone. Saying the same again changes
        nothing. A commit that the log cannot take now is decided all the same, and appended later; but where the half
        is still in the log alone, it stays open, and its producer is asked.

        Raises InvalidHandle, UnknownHalf, HalfEndedOtherwise, EndTooLate, StoreFailed.
        """
        half_id = parse_handle(handle)
        now_ms = self._clock.now_ms()
        if (half := self._fresh.find(half_id, now_ms)) is not None:
            steps.check_word(half, now_ms, group=group, asked=asked)
            self._fresh.end(half, now_ms + self.limits.remember_ms, commit=commit)
            self._note_late(half)
            return await self._to_its_end(self._end_fresh(half, commit=commit))
        if (ended := self._fresh.ended(half_id, now_ms)) is not None:
            return _said_again(ended, commit=commit, group=group)
        return await self._to_its_end(self._end(half_id, commit=commit, group=group, asked=asked))

    # The same without waiting, many at a time, for those who are told by callbacks. Hot path.

    def prepare_now(
        self, topic: Topic, partition: int, messages: Sequence[PackedHalf], on_kept: OnKept, *, immunity_ms: int = -1
    ) -> bool:
        """Keep messages that their topic takes; `on_kept` is told their ids, in order, or why none was kept.

        False where `prepare` must be asked: then nothing has happened. The trace is told nothing as long as a half is
        fresh: of one that is committed by then, the message tells as much."""
        if self._room is None:
            return False
        halves = [
            self._packed_half(topic, content, message_id, group, partition, immunity_ms)
            for content, message_id, group in messages
        ]

        def tell(error: BraidError | None) -> None:
            if error is not None:
                on_kept(error)
                return
            self._counts["prepared"] += len(halves)
            for half in halves:
                if self._fresh.add(half):
                    self._unnoted.add(half.id)
                else:
                    self._note_prepared(half)
            self._alarm.wake_by(halves[0].wake_ms)
            on_kept([half.id for half in halves])

        self._room.keep(halves, tell)
        return True

    def commit_now(self, words: Sequence[Word], on_done: Callable[[int], None]) -> Sequence[int]:
        """Producers' words that commit halves of the last moments, many at a time. The places of those that are not
        so simple, for which `end` must be asked; for the others, `on_done` is told in the end how many they were."""
        now_ms = self._clock.now_ms()
        others: list[int] = []
        loads: dict[tuple[UUID, int], list[Half]] = {}
        for place, (half_id, group, is_asked) in enumerate(words):
            half = None if self._room is None else self._fresh.find(half_id, now_ms)
            if half is None or not steps.may_speak(half, now_ms, group=group, asked=is_asked):
                others.append(place)
                continue
            self._fresh.end(half, now_ms + self.limits.remember_ms, commit=True)
            key = half.topic_id, half.partition
            if (load := loads.get(key)) is None:
                loads[key] = [half]
            else:
                load.append(half)
        for (topic_id, partition), halves in loads.items():
            contents = [half.content for half in halves]
            self._delivery.put(topic_id, partition, contents, partial(self._tell_committed, halves, on_done))
        return others

    def _tell_committed(self, halves: Sequence[Half], on_done: Callable[[int], None], fates: Sequence[Fate]) -> None:
        for half, fate in zip(halves, fates, strict=True):
            if isinstance(fate, Delivered):
                self._over.add(half.id)
                if half.id in self._unnoted:
                    self._unnoted.remove(half.id)
                else:
                    self._note(TraceKind.COMMITTED, half, delivered=fate)
            else:
                self._note_late(half)
                self._fresh.forget_end(half.id)
                self._begin(self._end(half.id, commit=True, group=None, asked=True))
        self._counts["committed"] += sum(isinstance(fate, Delivered) for fate in fates)
        self._begin_forgetting()
        on_done(len(halves))

    # For operators.

    async def page(
        self,
        *,
        topic: Topic | None = None,
        parked: bool = False,
        after: str | None = None,
        limit: int = 100,
        instance: str | None = None,
    ) -> list[Half]:
        """Halves of a topic or an instance, by the time of their preparation, without their contents; those that were
        ended lately, too. Raises InvalidHandle."""
        behind = None if after is None else parse_handle(after)
        topic_id = None if topic is None else topic.id
        return await self._rows.page(
            Page(after=behind, limit=limit, topic_id=topic_id, parked=parked, instance=instance)
        )

    async def find(self, handle: str) -> tuple[Half, Message | None]:
        """A half, with its message while it is kept. Raises InvalidHandle, UnknownHalf."""
        half = await self._rows.find(parse_handle(handle))
        if half is None:
            raise UnknownHalf
        return half, unpack(half.content) if half.content else None

    async def release(self, handle: str, topic: Topic) -> None:
        """Append a committed message whose topic is gone to this topic. Raises InvalidHandle, UnknownHalf for one that
        is not parked so, StoreFailed."""
        now_ms = self._clock.now_ms()

        def to_topic(half: Half) -> Half:
            _check_stranded(half)
            place = {"topic_id": topic.id, "instance": topic.instance, "topic": topic.name}
            return replace(half, parked="", attempts=0, wake_ms=now_ms, **place)

        if not await self._rows.revise([parse_handle(handle)], to_topic):
            raise UnknownHalf
        self._alarm.wake_by(now_ms)

    async def discard(self, handle: str) -> None:
        """Give up a committed message whose topic is gone. Raises what `release` raises."""
        found: list[Half] = []

        def remove(half: Half) -> None:
            _check_stranded(half)
            found.append(half)

        await self._rows.revise([parse_handle(handle)], remove)
        if not found:
            raise UnknownHalf

    def metrics(self) -> Iterator[Metric]:
        """What happened to half messages on this node."""
        for name, text in _COUNTERS.items():
            yield Metric(f"braid_halves_{name}", MetricKind.COUNTER, text, self._counts[name])
        yield Metric("braid_halves_failures", MetricKind.COUNTER, "Turns that failed.", self._alarm.failures)
        behind_s = self._alarm.behind_ms / 1000
        yield Metric("braid_halves_behind_seconds", MetricKind.GAUGE, "How late the next question is.", behind_s)

    # Ending.

    def _half(self, topic: Topic, message: Message, group: str, partition: int, immunity_ms: int) -> Half:
        half_id = self._ids.next(self._clock.now_ms())
        message = with_id(message, half_id.hex)
        return self._packed_half(topic, pack(message), message.id or "", group, partition, immunity_ms, half_id)

    def _packed_half(
        self,
        topic: Topic,
        content: bytes,
        message_id: str,
        group: str,
        partition: int,
        immunity_ms: int,
        half_id: UUID | None = None,
    ) -> Half:
        now_ms = self._clock.now_ms()
        return Half(
            id=half_id or self._ids.next(now_ms),
            topic_id=topic.id,
            instance=topic.instance,
            topic=topic.name,
            partition=partition,
            group=group,
            message_id=message_id,
            prepared_ms=now_ms,
            immunity_ms=immunity_ms,
            wake_ms=now_ms + (self.limits.immunity_ms if immunity_ms < 0 else immunity_ms),
            size_bytes=len(content),
            content=content,
        )

    async def _end_fresh(self, half: Half, *, commit: bool) -> Ended:
        """The end of a half that nobody else can know of yet: the append is the decision. See the decision page."""
        if not commit:
            try:
                await self._rows.delete([half.id])
            except StoreFailed:
                self._fresh.reopen(half)
                raise
            self._counts["rolled_back"] += 1
            self._note(TraceKind.ROLLED_BACK, half)
            return Ended(half.message_id, committed=False, repeated=False)
        fate = await self._delivery.deliver_one(Parcel(half.topic_id, half.partition, half.content))
        if not isinstance(fate, Delivered):
            self._fresh.forget_end(half.id)
            return await self._end(half.id, commit=True, group=None, asked=True)
        self._counts["committed"] += 1
        self._note(TraceKind.COMMITTED, half, delivered=fate)
        self._over.add(half.id)
        self._begin_forgetting()
        return Ended(half.message_id, committed=True, repeated=False, delivered=fate)

    def _begin_forgetting(self) -> None:
        if self._over and not self._is_forgetting:
            self._is_forgetting = True  # here, not in the task: many halves end before it has its first turn
            self._begin(self._forget_over())

    async def _forget_over(self) -> None:
        """Remove their rows, all that have come together by then, one lot after the other."""
        self._is_forgetting = True
        try:
            while self._over:
                lot = set(self._over)
                await self._rows.delete(lot)
                self._over -= lot
        except StoreFailed as error:
            _logger.warning("halves_end_unsaved", reason=error.message)
            self._alarm.wake_by(self._clock.now_ms() + RETRY_MS)
        finally:
            self._is_forgetting = False

    async def _recognise_appended(self) -> None:
        """Rows that the last life left, of messages that it had appended already."""
        latest = await self._rows.latest_id()
        if latest is None:
            return
        now_ms = self._clock.now_ms()
        page = Page(from_id=deferred_id(max(deferred_time_ms(latest) - RECENT_MS, 0), 0, 0), limit=PAGE_ROWS)
        while rows := await self._rows.page(page):
            found = await self._delivery.found([half for half in rows if half.state is HalfState.PREPARED])
            if found:
                await self._rows.revise(found, partial(steps.appended, now_ms=now_ms, limits=self.limits))
            page = page._replace(after=rows[-1].id)

    async def _end(self, half_id: UUID, *, commit: bool, group: str | None, asked: bool) -> Ended:
        now_ms = self._clock.now_ms()
        before: list[HalfState] = []

        def decide(half: Half) -> Half:
            before.append(half.state)
            steps.check_word(half, now_ms, group=group, asked=asked)
            return steps.decided(half, now_ms, self.limits, commit=commit, owner=self._owner)

        changed = await self._rows.revise([half_id], decide)
        if not changed:
            raise UnknownHalf
        (half,) = changed
        if before != [HalfState.PREPARED]:
            return Ended(half.message_id, commit, repeated=True)
        self._counts["committed" if commit else "rolled_back"] += 1
        if not commit:
            self._note(TraceKind.ROLLED_BACK, half)
            return Ended(half.message_id, committed=False, repeated=False)
        (delivered,) = await self._append([half])
        return Ended(half.message_id, committed=True, repeated=False, delivered=delivered)

    async def _append(self, halves: Sequence[Half]) -> list[Delivered | None]:
        """Carry out commits. None for those that have to wait; nothing is raised, because all are decided."""
        fates = await self._delivery.deliver([Parcel(half.topic_id, half.partition, half.content) for half in halves])
        changed: dict[UUID, Half] = {}
        for half, fate in zip(halves, fates, strict=True):
            if isinstance(fate, Delivered):
                self._appended.add(half.id)
                self._note(TraceKind.COMMITTED, half, delivered=fate)
            else:
                changed[half.id] = self._refused(half, fate)
        try:
            await self._tell_appended()
            if changed:
                await self._rows.revise(changed, lambda half: changed[half.id])
        except StoreFailed as error:
            # Nothing is lost: what was appended is told before the next claim, and what was not is claimed again.
            _logger.warning("halves_end_unsaved", reason=error.message)
            self._alarm.wake_by(self._clock.now_ms() + RETRY_MS)
        for half in changed.values():
            self._alarm.wake_by(half.wake_ms)
            self._tell_parked(half)
        return [fate if isinstance(fate, Delivered) else None for fate in fates]

    async def _tell_appended(self) -> None:
        told = set(self._appended)
        if told:
            now_ms = self._clock.now_ms()
            await self._rows.revise(told, lambda half: steps.appended(half, now_ms, self.limits))
            self._appended -= told

    def _refused(self, half: Half, refusal: BraidError) -> Half:
        """A committed message that could not be appended: tried again, or left to an operator."""
        now_ms = self._clock.now_ms()
        if isinstance(refusal, StorageFull | TooManyFiles | StorageFailed | LogClosed):
            return replace(half, wake_ms=now_ms + RETRY_MS)
        if isinstance(refusal, UnknownTopic | UnknownPartition) and half.attempts <= 1:
            return replace(half, attempts=half.attempts + 1, wake_ms=now_ms + UNKNOWN_RETRY_MS)
        return replace(half, owner="", wake_ms=NEVER_MS, parked=f"{refusal.code}: {refusal.message}")

    async def _to_its_end(self, work: Coroutine[Any, Any, T]) -> T:
        """A caller that goes away, as a client does, does not leave a half between its decision and its topic."""
        return await asyncio.shield(self._begin(work))

    def _begin(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # Its caller heard of it, or is gone and does not want to.

    # When nobody comes.

    async def _turn(self) -> int:
        """Ask, append, park and forget what is due, so much at a time; when to come again."""
        await self._tell_appended()
        if not self._is_forgetting:
            await self._forget_over()
        now_ms = self._clock.now_ms()
        for half in self._fresh.expire(now_ms):
            self._note_late(half)
        live = [(checker, checker.live()) for checker in self._checkers]
        groups = frozenset(group for _, producers in live for group in producers)
        claim = partial(steps.claimed, now_ms=now_ms, limits=self.limits, owner=self._owner, live=groups)
        claimed, next_ms = await self._rows.claim(now_ms, claim, rows_max=TURN_ROWS, bytes_max=TURN_BYTES)
        for half in claimed:
            self._tell_parked(half)
            is_open = (
                half.state is HalfState.PREPARED and not half.parked and self._fresh.ended(half.id, now_ms) is None
            )
            if is_open and half.group in groups:
                self._ask(half, [(checker, each) for checker, named in live for each in named.get(half.group, ())])
        if decided := [half for half in claimed if half.state is HalfState.COMMITTING]:
            await self._append(decided)
        return next_ms

    def _ask(self, half: Half, producers: Sequence[tuple[Checker, str]]) -> None:
        """Ask one of them: another than the last time, or the next that is still there."""
        question = Question(handle_of(half.id), half)
        first = half.id.int + half.checks
        for nth in range(len(producers)):
            checker, producer = producers[(first + nth) % len(producers)]
            if checker.ask(half.group, producer, question):
                self._counts["checks"] += 1
                self._note(TraceKind.CHECKED, half, client=producer, value=half.checks)
                return

    def _note_late(self, half: Half) -> None:
        """It takes another way than nearly all, so that the message alone will not tell what became of it."""
        if half.id in self._unnoted:
            self._unnoted.remove(half.id)
            self._note_prepared(half)

    def _note_prepared(self, half: Half) -> None:
        try:
            keys = unpack(half.content).keys
        except BraidError:
            keys = ()
        self._note(TraceKind.PREPARED, half, keys=keys, at_ms=half.prepared_ms)

    def _note(
        self,
        kind: TraceKind,
        half: Half,
        *,
        keys: tuple[str, ...] = (),
        delivered: Delivered | None = None,
        client: str = "",
        value: int = -1,
        at_ms: int | None = None,
    ) -> None:
        partition, offset = (-1, -1) if delivered is None else (delivered.partition, delivered.offset)
        self._tracer.note(
            kind,
            half.message_id,
            keys=keys,
            topic_id=half.topic_id,
            topic=half.topic,
            partition=partition,
            offset=offset,
            group=half.group,
            client=client,
            value=value,
            at_ms=at_ms,
        )

    def _tell_parked(self, half: Half) -> None:
        if half.parked:
            self._counts["parked"] += 1
            _logger.warning("half_parked", handle=handle_of(half.id), topic=half.topic, reason=half.parked)


_COUNTERS: Final = {
    "prepared": "Half messages that were taken.",
    "committed": "Half messages that were committed.",
    "rolled_back": "Half messages that were rolled back.",
    "checks": "Questions to producers.",
    "parked": "Half messages that wait for an operator.",
}


def _said_again(ended: "EndedHalf", *, commit: bool, group: str | None) -> Ended:
    if group is not None and group != ended.group:
        raise UnknownHalf("no half message of this group is known under this handle")
    if ended.commit is not commit:
        raise HalfEndedOtherwise(f"the half message was {'rolled back' if commit else 'committed'} before")
    return Ended(ended.message_id, commit, repeated=True)


def _check_stranded(half: Half) -> None:
    if half.state is not HalfState.COMMITTING or not half.parked:
        raise UnknownHalf("the half message is not a committed one that is parked; commit it or roll it back")
