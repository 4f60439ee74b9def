"""Bringing messages that were kept aside into their topics: what timers and halves have in common.

One idea: all that is handed in together is one append, with one batch for each partition where the topic's limit allows
it. Each message has a fate of its own: a message that its topic does not take does not hold up the others.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol
from uuid import UUID

import msgspec
from aiokafka.partitioner import murmur2

from braidmq.core.admission import Admissions
from braidmq.log import Appended, Log
from braidmq.model import BORN_HEADER, ID_HEADER, BraidError, Message, Topic
from braidmq.model.errors import InvalidBatch, UnknownTopic
from braidmq.records import Batch, batch_messages

RECORD_OVERHEAD_BYTES: Final = 64
"""More than a record takes beside its key, value and headers, and each header beside its name and value."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Message).decode


class Parcel(NamedTuple):
    """A message and where it is to go."""

    topic_id: UUID
    partition: int
    content: bytes
    """The message, packed."""


class Delivered(NamedTuple):
    """Where a message went: the index of the partition in its topic, and the offset."""

    partition: int
    offset: int


Fate = Delivered | BraidError


class TopicLookup(Protocol):
    """Who knows the topics; see `store.Catalog`."""

    def topic_by_id(self, topic_id: UUID) -> Topic | None: ...


class _Load(NamedTuple):
    """Messages that are to share a batch, with their places among the parcels."""

    topic: Topic
    partition: int
    messages: list[tuple[int, Message]]


class Delivery:
    """Appends parcels. `draw(n)` is a number below n, for messages that may go to any partition."""

    def __init__(
        self,
        topics: TopicLookup,
        log: Log,
        admissions: Admissions,
        now_ms: Callable[[], int],
        draw: Callable[[int], int] = random.randrange,
    ) -> None:
        self._topics = topics
        self._log = log
        self._admissions = admissions
        self._now_ms = now_ms
        self._draw = draw

    def check(self, topic: Topic, message: Message) -> None:
        """Whether the topic takes such a message, as far as it can be told now. Raises what its publishing would."""
        now_ms = self._now_ms()
        self._admissions.of(topic).admit(batch_messages([_arriving(message, now_ms)]), now_ms)

    async def deliver(self, parcels: Sequence[Parcel]) -> list[Fate]:
        """One fate for each parcel, in order. UnknownTopic says that this node does not know the topic, or that it
        is being deleted."""
        now_ms = self._now_ms()
        fates: dict[int, Fate] = {}
        batches: list[tuple[_Load, Batch]] = []
        for load in self._loads(parcels, fates, now_ms):
            batches += self._admitted(load, fates, now_ms)
        entries = [(load.topic.partition_numbers[load.partition], batch) for load, batch in batches]
        for (load, _), result in zip(batches, await self._log.append(entries) if entries else (), strict=True):
            for nth, (place, _) in enumerate(load.messages):
                if isinstance(result, Appended):
                    fates[place] = Delivered(load.partition, result.base_offset + nth)
                else:
                    fates[place] = result
        return [fates[place] for place in range(len(parcels))]

    def _loads(self, parcels: Sequence[Parcel], fates: dict[int, Fate], now_ms: int) -> Iterator[_Load]:
        """What goes to one partition, in order, in as few batches as the topic's limit allows."""
        filling: dict[tuple[UUID, int], tuple[_Load, int]] = {}
        for place, parcel in enumerate(parcels):
            try:
                topic, message = self._topic(parcel.topic_id), _arriving(unpack(parcel.content), now_ms)
            except BraidError as refusal:
                fates[place] = refusal
                continue
            partition = self._partition(topic, parcel.partition, message)
            load, size_bytes = filling.get((topic.id, partition), (_Load(topic, partition, []), 0))
            if load.messages and size_bytes + _size_bytes(message) > self._bytes_max(topic):
                yield load
                load, size_bytes = _Load(topic, partition, []), 0
            load.messages.append((place, message))
            filling[topic.id, partition] = load, size_bytes + _size_bytes(message)
        for load, _ in filling.values():
            yield load

    def _topic(self, topic_id: UUID) -> Topic:
        topic = self._topics.topic_by_id(topic_id)
        if topic is None or topic.deleting:
            raise UnknownTopic("its topic was deleted" if topic else "its topic is not known, or not any more")
        return topic

    def _bytes_max(self, topic: Topic) -> int:
        try:
            return self._admissions.of(topic).bytes_max
        except BraidError:
            return 0  # each alone, and then refused by the topic's rules with the error that says why

    def _partition(self, topic: Topic, wanted: int, message: Message) -> int:
        """As asked; by the key, as Kafka's producers choose; or any."""
        count = len(topic.partition_numbers)
        if wanted >= 0:
            return wanted % count
        if message.key is None:
            return self._draw(count)
        return int((murmur2(message.key) & 0x7FFFFFFF) % count)

    def _admitted(self, load: _Load, fates: dict[int, Fate], now_ms: int) -> list[tuple[_Load, Batch]]:
        """The load as a batch; where its topic does not take it so, each message in a batch of its own."""
        try:
            batch = batch_messages([message for _, message in load.messages])
            return [(load, self._admissions.of(load.topic).admit(batch, now_ms))]
        except BraidError as refusal:
            if len(load.messages) == 1:
                fates[load.messages[0][0]] = refusal
                return []
        alone = [_Load(load.topic, load.partition, [each]) for each in load.messages]
        return [taken for each in alone for taken in self._admitted(each, fates, now_ms)]


def with_id(message: Message, id: str) -> Message:
    """The message with an id: its own, or else this one."""
    if message.id is not None:
        return message
    return msgspec.structs.replace(message, headers=(*message.headers, (ID_HEADER, id.encode())))


def pack(message: Message) -> bytes:
    """The message as it is kept."""
    return _encode(message)


def unpack(content: bytes) -> Message:
    """Raises InvalidBatch."""
    try:
        return _decode(content)
    except msgspec.MsgspecError as error:
        raise InvalidBatch(f"a message that was kept cannot be read: {error}") from error


def _arriving(message: Message, now_ms: int) -> Message:
    """The message as it comes to its topic: of this time, because retention goes by a record's time."""
    headers = message.headers
    if message.born_ms >= 0 and message.header(BORN_HEADER) is None:
        headers = (*headers, (BORN_HEADER, b"%d" % message.born_ms))
    return msgspec.structs.replace(message, headers=headers, born_ms=now_ms)


def _size_bytes(message: Message) -> int:
    size_bytes = len(message.body or b"") + len(message.key or b"") + RECORD_OVERHEAD_BYTES
    return size_bytes + sum(
        len(name.encode()) + len(value or b"") + RECORD_OVERHEAD_BYTES for name, value in message.headers
    )
