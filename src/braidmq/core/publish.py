"""Publishing: messages into topics, at once, at a time, or when their producer says that they count. Hot path.

All messages for one partition that come in one turn of the loop share a batch, and all batches of a turn share an
append: with many senders, one write and one commit serve them all. A sender is told by a callback rather than a future,
because that is what it costs most.

A message that is refused is nowhere; one that is answered is kept.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from braidmq.core.admission import Admissions
from braidmq.core.counters import UNCOUNTED, Tally
from braidmq.core.halves import Halves, OnKept, PackedHalf
from braidmq.core.loads import loaded, loaded_packed, partition_for, partition_of_priority
from braidmq.core.shapes import shown_partitions, writable_partitions
from braidmq.core.timers import Taken, Timers
from braidmq.log import Appended, AppendResult, Log
from braidmq.model import BraidError, Message, Topic, TopicKind
from braidmq.model.errors import InvalidMessage, MessageTooLarge, UnknownPartition, WrongMessageKind
from braidmq.model.saying import say
from braidmq.records import BATCH_HEADER_BYTES, Batch, Packed, batch_packed, messages_of

BODY_BYTES_MAX: Final = 4 << 20
DEFERRED_BYTES_MAX: Final = 64 << 10


class PublishLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How large the body of a message may be."""

    body_bytes_max: int = BODY_BYTES_MAX
    deferred_bytes_max: int = DEFERRED_BYTES_MAX
    """Of messages that wait in the store: delayed ones and halves."""


class Published(NamedTuple):
    """Where the first of the messages went: the index of the partition in its topic, and the offset."""

    partition: int
    offset: int


OnPublished = Callable[[Published | BraidError], None]


_Entry = tuple[Sequence[Message] | Packed, OnPublished]
"""Messages that stand or fall together, side by side in the log, and who is told of it."""


class _Load(NamedTuple):
    topic: Topic
    partition: int
    entries: list[_Entry]


class Publisher:
    """The way into topics for every protocol whose messages come one by one."""

    def __init__(
        self,
        log: Log,
        admissions: Admissions,
        timers: Timers,
        halves: Halves,
        now_ms: Callable[[], int],
        *,
        limits: PublishLimits | None = None,
        tally: Tally = UNCOUNTED,
    ) -> None:
        self._log = log
        self._admissions = admissions
        self._timers = timers
        self._halves = halves
        self._now_ms = now_ms
        self._tally = tally
        self.limits = limits or PublishLimits()
        self._loads: dict[int, _Load] = {}
        """What has come in this turn, by partition number."""
        self._turn = 0

    def publish(self, topic: Topic, messages: Sequence[Message], on_done: OnPublished, *, partition: int = -1) -> None:
        """Append the messages to one partition, all or none. `on_done` is called once, when they are kept or refused.

        Without a partition, their sharding key chooses one, or else they take turns. Raises InvalidMessage,
        MessageTooLarge, WrongMessageKind, UnknownPartition.
        """
        body_bytes = 0
        for message in messages:
            body_bytes += len(message.body or b"")
        if body_bytes > self.limits.body_bytes_max:
            raise MessageTooLarge(
                say(
                    "a body of {body_bytes} bytes; at most {body_bytes_max} are taken",
                    body_bytes=body_bytes,
                    body_bytes_max=self.limits.body_bytes_max,
                )
            )
        if topic.kind is not TopicKind.MIXED:
            for message in messages:
                _check_kind(topic, message, partition)
            if topic.kind is TopicKind.PRIORITY and messages[0].priority is not None:
                partition = self.choose(topic, messages[0])
        if partition < 0:
            partition = self.choose(topic, messages[0])
        else:
            _check_partition(topic, partition)
        self._put(topic, partition, messages, on_done)

    def publish_packed(
        self,
        topic: Topic,
        messages: Packed,
        on_done: OnPublished,
        *,
        partition: int,
        largest_bytes: int,
        with_sharding_key: bool,
    ) -> bool:
        """The same for messages that are records already; `largest_bytes` is the size of their largest body.

        False where `publish` must say what is wrong with one of them: then nothing has happened. What is refused with
        several messages in it may be taken message by message.
        """
        kind = topic.kind
        is_taken = kind in (TopicKind.MIXED, TopicKind.FIFO) or (kind is TopicKind.NORMAL and not with_sharding_key)
        if not is_taken or largest_bytes > self.limits.body_bytes_max or partition >= shown_partitions(topic):
            return False
        self._put(topic, partition, messages, on_done)
        return True

    def _put(self, topic: Topic, partition: int, messages: Sequence[Message] | Packed, on_done: OnPublished) -> None:
        number = topic.partition_numbers[partition]
        loads = self._loads
        if not loads:
            asyncio.get_running_loop().call_soon(self._append)
        load = loads.get(number)
        if load is None:
            load = loads[number] = _Load(topic, partition, [])
        load.entries.append((messages, on_done))

    async def published(self, topic: Topic, messages: Sequence[Message], *, partition: int = -1) -> Published:
        """The same for those who would rather wait. Raises what refuses the messages."""
        fate: asyncio.Future[Published | BraidError] = asyncio.get_running_loop().create_future()
        self.publish(topic, messages, fate.set_result, partition=partition)
        answer = await asyncio.shield(fate)
        if isinstance(answer, BraidError):
            raise answer
        return answer

    async def publish_at(self, topic: Topic, message: Message, due_ms: int, *, partition: int = -1) -> Taken:
        """Keep the message, and append it at that time. Raises what `publish` raises, and DelayTooLong."""
        self._check_deferred(topic, message, TopicKind.DELAY, partition)
        return await self._timers.add(topic, message, due_ms, partition=partition)

    async def prepare(
        self, topic: Topic, message: Message, *, group: str, partition: int = -1, immunity_ms: int = -1
    ) -> tuple[str, str]:
        """Keep a message that does not count yet; see `Halves.prepare`."""
        self._check_deferred(topic, message, TopicKind.TRANSACTION, partition)
        return await self._halves.prepare(topic, message, group=group, partition=partition, immunity_ms=immunity_ms)

    def prepare_packed(
        self, topic: Topic, messages: Sequence[PackedHalf], on_kept: OnKept, *, partition: int, largest_bytes: int
    ) -> bool:
        """The same, without waiting, for messages that are records already (see `core.delivery`); `largest_bytes` is
        the size of the largest body. False where `prepare` must be asked: then nothing has happened."""
        if (
            topic.kind not in (TopicKind.TRANSACTION, TopicKind.MIXED)
            or largest_bytes > self.limits.deferred_bytes_max
            or partition >= shown_partitions(topic)
        ):
            return False
        record_bytes_max = max(len(content) for content, _, _ in messages) + BATCH_HEADER_BYTES
        return self._admissions.of(topic).takes_all_up_to(record_bytes_max) and self._halves.prepare_now(
            topic, partition, messages, on_kept
        )

    def choose(self, topic: Topic, message: Message) -> int:
        """A partition: the same for all messages with one sharding key, else the next in turn. In a topic of priorities
        it is the priority, or the highest that the topic has."""
        count = writable_partitions(topic) if topic.settings else len(topic.partition_numbers)
        if topic.kind is TopicKind.PRIORITY:
            return partition_of_priority(message, count)
        if (sharding_key := message.sharding_key) is not None:
            return partition_for(sharding_key.encode(), count)
        self._turn += 1
        return self._turn % count

    def _check_deferred(self, topic: Topic, message: Message, kind: TopicKind, partition: int) -> None:
        if topic.kind not in (kind, TopicKind.MIXED):
            raise _wrong_kind(topic, kind)
        body_bytes = len(message.body or b"")
        if body_bytes > self.limits.deferred_bytes_max:
            raise MessageTooLarge(
                say(
                    "a body of {body_bytes} bytes; messages that wait have at most {deferred_bytes_max}",
                    body_bytes=body_bytes,
                    deferred_bytes_max=self.limits.deferred_bytes_max,
                )
            )
        _check_partition(topic, partition)

    # The turn.

    def _append(self) -> None:
        """Hand everything of this turn to the log."""
        loads, self._loads = self._loads, {}
        now_ms = self._now_ms()
        entries: list[tuple[int, Batch]] = []
        waiting: list[tuple[_Load, int, int]] = []
        for number, load in loads.items():
            for begin, end, batch in self._batches(load, now_ms):
                if isinstance(batch, BraidError):
                    self._count_refused(number, load, begin, end)
                    _tell(load, begin, end, batch)
                else:
                    entries.append((number, batch))
                    waiting.append((load, begin, end))
        if entries:
            self._log.append(entries).add_done_callback(
                lambda future: self._tell_all(future.result(), entries, waiting)
            )

    def _tell_all(
        self,
        results: Sequence[AppendResult],
        entries: Sequence[tuple[int, Batch]],
        waiting: Sequence[tuple[_Load, int, int]],
    ) -> None:
        for (number, batch), (load, begin, end), result in zip(entries, waiting, results, strict=True):
            if isinstance(result, Appended):
                self._tally.stored(number, batch)
            else:
                self._count_refused(number, load, begin, end)
            _tell(load, begin, end, result)

    def _count_refused(self, number: int, load: _Load, begin: int, end: int) -> None:
        """By sender and not by batch: in a batch, the messages of a test may lie beside others."""
        self._tally.refused_lots(number, (messages for messages, _ in load.entries[begin:end]))

    def _batches(self, load: _Load, now_ms: int) -> Sequence[tuple[int, int, Batch | BraidError]]:
        """Runs of entries, each with its batch or refusal: as one batch if the topic takes it so, else each alone."""
        try:
            admission = self._admissions.of(load.topic)
        except BraidError as refusal:
            return [(0, len(load.entries), refusal)]
        packed = [lot for lot, _ in load.entries if isinstance(lot, Packed)]
        if len(packed) == len(load.entries):
            return list(loaded_packed(packed, admission, now_ms))
        lots = [messages_of(batch_packed((lot,))) if isinstance(lot, Packed) else lot for lot, _ in load.entries]
        together = list(loaded([message for lot in lots for message in lot], admission, now_ms))
        if len(together) == 1:
            return [(0, len(load.entries), together[0].batch)]
        alone: list[tuple[int, int, Batch | BraidError]] = []
        for place, own in enumerate(lots):
            batches = [each.batch for each in loaded(own, admission, now_ms)]
            fate = batches[0] if len(batches) == 1 else _refusal(batches)
            alone.append((place, place + 1, fate))
        return alone


def _tell(load: _Load, begin: int, end: int, result: AppendResult) -> None:
    if not isinstance(result, Appended):
        for _, on_done in load.entries[begin:end]:
            on_done(result)
        return
    partition, offset = load.partition, result.base_offset
    for messages, on_done in load.entries[begin:end]:
        on_done(Published(partition, offset))
        offset += _count(messages)


def _count(messages: Sequence[Message] | Packed) -> int:
    return len(messages.times) if isinstance(messages, Packed) else len(messages)


def _refusal(batches: Sequence[Batch | BraidError]) -> BraidError:
    """Why messages that stand or fall together cannot stand."""
    for batch in batches:
        if isinstance(batch, BraidError):
            return batch
    return MessageTooLarge("the messages of one batch are more than the topic takes at once")


def _check_partition(topic: Topic, partition: int) -> None:
    if partition >= (count := shown_partitions(topic)):
        raise UnknownPartition(
            say(
                "topic {name} has {count} partitions, not {partition}",
                name=topic.name,
                count=count,
                partition=partition,
            )
        )


def _check_kind(topic: Topic, message: Message, partition: int) -> None:
    """Whether a topic takes a message that goes in at once."""
    if topic.kind is TopicKind.FIFO:
        if message.sharding_key is None and partition < 0:
            raise InvalidMessage(
                say("topic {name} is ordered: a message needs a sharding key or a partition", name=topic.name)
            )
    elif topic.kind in (TopicKind.NORMAL, TopicKind.PRIORITY):
        if message.sharding_key is not None:
            raise _wrong_kind(topic, TopicKind.FIFO)
    else:
        raise _wrong_kind(topic, TopicKind.NORMAL)


def _wrong_kind(topic: Topic, kind: TopicKind) -> WrongMessageKind:
    return WrongMessageKind(f"topic {topic.name} takes {topic.kind} messages, and this is a {kind} one")
