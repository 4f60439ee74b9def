"""Bringing messages that were kept aside into their topics: what timers and halves have in common.

One idea: all that is handed in together is one append, with one batch for each partition where the topic's limit allows
it. Each message has a fate of its own: a message that its topic does not take does not hold up the others.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, Protocol
from uuid import UUID

import msgspec

from braidmq.core.admission import Admissions
from braidmq.core.counters import UNCOUNTED, Tally
from braidmq.core.loads import Loaded, loaded, partition_for, partition_of_priority
from braidmq.log import Appended, Log
from braidmq.model import BORN_HEADER, ID_HEADER, BraidError, Half, Message, Topic, TopicKind
from braidmq.model.errors import DamagedLog, InvalidBatch, OffsetOutOfRange, UnknownPartition, UnknownTopic
from braidmq.records import Batch, batch_messages, batches_in, read_records
from braidmq.store import Gathering

READ_BYTES: Final = 1 << 20
_OVERHEAD_BYTES: Final = 128

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
    """Messages for one partition, with their places among the parcels."""

    topic: Topic
    partition: int
    places: list[int]
    messages: list[Message]


class Delivery:
    """Appends parcels. `draw(n)` is a number below n, for messages that may go to any partition."""

    def __init__(
        self,
        topics: TopicLookup,
        log: Log,
        admissions: Admissions,
        now_ms: Callable[[], int],
        draw: Callable[[int], int] = random.randrange,
        *,
        tally: Tally = UNCOUNTED,
    ) -> None:
        self._topics = topics
        self._log = log
        self._admissions = admissions
        self._now_ms = now_ms
        self._draw = draw
        self._tally = tally
        self._single: Gathering[Parcel, Fate] = Gathering(self.deliver)

    def check(self, topic: Topic, message: Message) -> None:
        """Whether the topic takes such a message, as far as it can be told now. Raises what its publishing would."""
        admission = self._admissions.of(topic)
        if admission.takes_all_up_to(_size_bytes(message)):
            return
        now_ms = self._now_ms()
        admission.admit_messages(batch_messages([_arriving(message, now_ms)]), now_ms)

    async def deliver(self, parcels: Sequence[Parcel]) -> list[Fate]:
        """One fate for each parcel, in order. UnknownTopic says that this node does not know the topic, or that it
        is being deleted."""
        now_ms = self._now_ms()
        fates: dict[int, Fate] = {}
        batches: list[tuple[_Load, int, int]] = []
        entries: list[tuple[int, Batch]] = []
        for load in self._loads(parcels, fates, now_ms):
            for begin, end, batch in self._batches(load, now_ms):
                if isinstance(batch, BraidError):
                    fates.update(dict.fromkeys(load.places[begin:end], batch))
                else:
                    batches.append((load, begin, end))
                    entries.append((load.topic.partition_numbers[load.partition], batch))
        results = await self._log.append(entries) if entries else []
        for (load, begin, end), (number, batch), result in zip(batches, entries, results, strict=True):
            if isinstance(result, Appended):
                self._tally.stored(number, batch)
            for nth, place in enumerate(load.places[begin:end]):
                if isinstance(result, Appended):
                    fates[place] = Delivered(load.partition, result.base_offset + nth)
                else:
                    fates[place] = result
        return [fates[place] for place in range(len(parcels))]

    async def deliver_one(self, parcel: Parcel) -> Fate:
        """The fate of one parcel, which goes with all others of this moment."""
        return await self._single.put(parcel)

    async def found(self, halves: Iterable[Half]) -> list[UUID]:
        """Those of the halves whose messages are in their topics already, by their ids. Each partition is read once,
        from the time at which the first of them was prepared."""
        sought: dict[int, list[Half]] = {}
        for half in halves:
            topic = self._topics.topic_by_id(half.topic_id)
            if topic is not None and not topic.deleting:
                numbers = topic.partition_numbers
                if half.partition >= 0:
                    numbers = (numbers[half.partition % len(numbers)],)
                for number in numbers:
                    sought.setdefault(number, []).append(half)
        return [each for number, wanted in sought.items() for each in await self._found_in(number, wanted)]

    async def _found_in(self, number: int, wanted: Sequence[Half]) -> list[UUID]:
        by_message = {half.message_id.encode(): half.id for half in wanted}
        try:
            begin = await self._log.offset_for_time(number, min(half.prepared_ms for half in wanted))
            offset = self._log.bounds(number).end if begin is None else begin.offset
            found: list[UUID] = []
            while data := (await self._log.read(number, offset, READ_BYTES)).data:
                for batch in batches_in(data):
                    offset = batch.last_offset + 1
                    if not batch.is_control:
                        ids = (
                            value
                            for record in read_records(batch)
                            for name, value in record.headers
                            if name == ID_HEADER
                        )
                        found += [by_message[each] for each in ids if each in by_message]
        except (UnknownPartition, OffsetOutOfRange, DamagedLog, InvalidBatch):
            return []  # what cannot be read cannot be known; the producer is asked, as for any half
        return found

    def _loads(self, parcels: Sequence[Parcel], fates: dict[int, Fate], now_ms: int) -> Iterable[_Load]:
        """What goes to one partition, in order."""
        loads: dict[tuple[UUID, int], _Load] = {}
        for place, parcel in enumerate(parcels):
            try:
                topic, message = self._topic(parcel.topic_id), _arriving(unpack(parcel.content), now_ms)
            except BraidError as refusal:
                fates[place] = refusal
                continue
            partition = self._partition(topic, parcel.partition, message)
            if (load := loads.get((topic.id, partition))) is None:
                load = loads[topic.id, partition] = _Load(topic, partition, [], [])
            load.places.append(place)
            load.messages.append(message)
        return loads.values()

    def _batches(self, load: _Load, now_ms: int) -> Iterable[Loaded]:
        try:
            admission = self._admissions.of(load.topic)
        except BraidError as refusal:
            return (Loaded(0, len(load.places), refusal),)
        return loaded(load.messages, admission, now_ms)

    def _topic(self, topic_id: UUID) -> Topic:
        topic = self._topics.topic_by_id(topic_id)
        if topic is None or topic.deleting:
            raise UnknownTopic("its topic was deleted" if topic else "its topic is not known, or not any more")
        return topic

    def _partition(self, topic: Topic, wanted: int, message: Message) -> int:
        """As asked; by the priority, in a topic of such; by the key, as Kafka's producers choose; or any."""
        count = len(topic.partition_numbers)
        if wanted >= 0:
            return wanted % count
        if topic.kind is TopicKind.PRIORITY:
            return partition_of_priority(message, count)
        if message.key is None:
            return self._draw(count)
        return partition_for(message.key, count)


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


def _size_bytes(message: Message) -> int:
    """More than the message takes up in a batch of its own."""
    size_bytes = len(message.body or b"") + len(message.key or b"") + _OVERHEAD_BYTES
    return size_bytes + sum(4 * len(name) + len(value or b"") + _OVERHEAD_BYTES for name, value in message.headers)


def _arriving(message: Message, now_ms: int) -> Message:
    """The message as it comes to its topic: of this time, because retention goes by a record's time."""
    headers = message.headers
    if message.born_ms >= 0 and message.header(BORN_HEADER) is None:
        headers = (*headers, (BORN_HEADER, b"%d" % message.born_ms))
    return msgspec.structs.replace(message, headers=headers, born_ms=now_ms)
