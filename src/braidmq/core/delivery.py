"""Bringing messages that were kept aside into their topics: what timers and halves have in common. Hot path.

One idea: all that is handed in together is one append, with one batch for each partition where the topic's limit allows
it. Each message has a fate of its own: a message that its topic does not take does not hold up the others.

A message is kept as the record that it will be, but for its time: so it need not be opened to be appended.
"""

import asyncio
import random
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, NamedTuple, Protocol, cast
from uuid import UUID

import msgspec

from braidmq.core.admission import Admissions
from braidmq.core.counters import UNCOUNTED, Tally
from braidmq.core.loads import Loaded, loaded_packed, partition_for, partition_of_priority
from braidmq.log import Appended, AppendResult, Log
from braidmq.model import BORN_HEADER, ID_HEADER, BraidError, Half, Message, Topic, TopicKind
from braidmq.model.errors import DamagedLog, InvalidBatch, OffsetOutOfRange, UnknownPartition, UnknownTopic
from braidmq.records import (
    Batch,
    Packed,
    batch_messages,
    batches_in,
    key_of_content,
    packed_content,
    read_records,
    unpacked,
)

READ_BYTES: Final = 1 << 20
_OVERHEAD_BYTES: Final = 128

_BORN_ADDED: Final = 1
_AS_SENT: Final = 2
_KINDS: Final = (b"\x01", b"\x02")
_PREFIX: Final = struct.Struct(">Bq")
"""Whether the last header is one of ours that says when the message was born, and when that was."""
_decode_struct = msgspec.msgpack.Decoder(Message).decode


class Parcel(NamedTuple):
    """A message and where it is to go."""

    topic_id: UUID
    partition: int
    content: bytes
    """The message, packed."""


class Delivered(NamedTuple):
    """Where a message went: the index of the partition in its topic, the offset, and the partition's number."""

    partition: int
    offset: int
    number: int


Fate = Delivered | BraidError
OnFates = Callable[[Sequence[Fate]], None]
"""Told of all messages that were handed in together, in order."""


_Given = tuple[UUID, int, Sequence[bytes], OnFates]
"""Topic, partition and contents that were handed in together."""


class TopicLookup(Protocol):
    """Who knows the topics; see `store.Catalog`."""

    def topic_by_id(self, topic_id: UUID) -> Topic | None: ...


class _Load:
    """Messages for one partition, each a lot of its own, and who is told of how many of them."""

    __slots__ = ("_fates", "_known", "lots", "partition", "told", "topic")

    def __init__(self, topic: Topic, partition: int) -> None:
        self.topic = topic
        self.partition = partition
        self.lots: list[Packed] = []
        self.told: list[tuple[int, OnFates]] = []
        self._fates: list[Fate | None] = []
        self._known = 0

    def note(self, begin: int, fates: Sequence[Fate]) -> None:
        """The fates of some; when all are known, everybody is told."""
        if not self._fates:
            self._fates = [None] * len(self.lots)
        self._fates[begin : begin + len(fates)] = fates
        self._known += len(fates)
        if self._known == len(self.lots):
            begin = 0
            for count, tell in self.told:
                tell(cast("list[Fate]", self._fates[begin : begin + count]))
                begin += count


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
        self._turn: list[_Given] = []

    def check(self, topic: Topic, message: Message) -> None:
        """Whether the topic takes such a message, as far as it can be told now. Raises what its publishing would."""
        admission = self._admissions.of(topic)
        if admission.takes_all_up_to(_size_bytes(message)):
            return
        now_ms = self._now_ms()
        admission.admit_messages(batch_messages([_arriving(message, now_ms)]), now_ms)

    def put(self, topic_id: UUID, partition: int, contents: Sequence[bytes], on_fates: OnFates) -> None:
        """Append messages to a partition together with all others of this turn; `on_fates` is called once. UnknownTopic
        says that this node does not know the topic, or that it is being deleted."""
        if not self._turn:
            asyncio.get_running_loop().call_soon(self._append)
        self._turn.append((topic_id, partition, contents, on_fates))

    async def deliver(self, parcels: Sequence[Parcel]) -> list[Fate]:
        """One fate for each parcel, in order."""
        if not parcels:
            return []
        fates: list[Fate | None] = [None] * len(parcels)
        left = len(parcels)
        all_known: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def tell(places: Sequence[int], told: Sequence[Fate]) -> None:
            nonlocal left
            for place, fate in zip(places, told, strict=True):
                fates[place] = fate
            left -= len(places)
            if not left and not all_known.done():
                all_known.set_result(None)

        for (topic_id, partition), places in _together(parcels):
            self.put(topic_id, partition, [parcels[place].content for place in places], partial(tell, places))
        await all_known
        return cast("list[Fate]", fates)

    def deliver_one(self, parcel: Parcel) -> "asyncio.Future[Fate]":
        """The fate of one parcel, which goes with all others of this turn."""
        fate: asyncio.Future[Fate] = asyncio.get_running_loop().create_future()

        def tell(fates: Sequence[Fate]) -> None:
            if not fate.done():
                fate.set_result(fates[0])

        self.put(parcel.topic_id, parcel.partition, (parcel.content,), tell)
        return fate

    def _append(self) -> None:
        turn, self._turn = self._turn, []
        now_ms = self._now_ms()
        entries: list[tuple[int, Batch]] = []
        waiting: list[tuple[_Load, int, int]] = []
        for load in self._loads(turn, now_ms):
            for begin, end, batch in self._batches(load, now_ms):
                if isinstance(batch, BraidError):
                    load.note(begin, [batch] * (end - begin))
                else:
                    entries.append((load.topic.partition_numbers[load.partition], batch))
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
                first, partition = result.base_offset, load.partition
                offsets = range(first, first + end - begin)
                load.note(begin, [Delivered(partition, offset, number) for offset in offsets])
            else:
                load.note(begin, [result] * (end - begin))

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

    def _loads(self, turn: Sequence[_Given], now_ms: int) -> Iterable[_Load]:
        """What goes to one partition, in order."""
        loads: dict[tuple[UUID, int], _Load] = {}
        for topic_id, wanted, contents, on_fates in turn:
            try:
                topic = self._topic(topic_id)
                partition = self._partition(topic, wanted, contents)
                lots = [Packed([_record_content(content)], [now_ms]) for content in contents]
            except BraidError as refusal:
                on_fates([refusal] * len(contents))
                continue
            if (load := loads.get((topic.id, partition))) is None:
                load = loads[topic.id, partition] = _Load(topic, partition)
            load.lots += lots
            load.told.append((len(lots), on_fates))
        return loads.values()

    def _batches(self, load: _Load, now_ms: int) -> Iterable[Loaded]:
        try:
            admission = self._admissions.of(load.topic)
        except BraidError as refusal:
            return (Loaded(0, len(load.lots), refusal),)
        return loaded_packed(load.lots, admission, now_ms)

    def _topic(self, topic_id: UUID) -> Topic:
        topic = self._topics.topic_by_id(topic_id)
        if topic is None or topic.deleting:
            raise UnknownTopic("its topic was deleted" if topic else "its topic is not known, or not any more")
        return topic

    def _partition(self, topic: Topic, wanted: int, contents: Sequence[bytes]) -> int:
        """As asked; by the priority, in a topic of such; by the key, as Kafka's producers choose; or any."""
        count = len(topic.partition_numbers)
        if wanted >= 0:
            return wanted % count
        if topic.kind is TopicKind.PRIORITY:
            return partition_of_priority(unpack(contents[0]), count)
        key = key_of_content(_record_content(contents[0]))
        return self._draw(count) if key is None else partition_for(key, count)


def _together(parcels: Sequence[Parcel]) -> Iterable[tuple[tuple[UUID, int], list[int]]]:
    """The places of parcels that go to one partition for sure, in order. One that has yet to be opened, for its
    partition or because it was kept long ago, goes alone: what is wrong with it then is its own."""
    together: dict[tuple[UUID, int], list[int]] = {}
    for place, (topic_id, partition, content) in enumerate(parcels):
        if partition >= 0 and content[:1] in _KINDS:
            together.setdefault((topic_id, partition), []).append(place)
        else:
            yield (topic_id, partition), [place]
    yield from together.items()


def with_id(message: Message, id: str) -> Message:
    """The message with an id: its own, or else this one."""
    if message.id is not None:
        return message
    return msgspec.structs.replace(message, headers=(*message.headers, (ID_HEADER, id.encode())))


def pack(message: Message) -> bytes:
    """The message as it is kept."""
    if message.born_ms >= 0 and message.header(BORN_HEADER) is None:
        return packed_for_later(packed_content(_with_born(message)), message.born_ms)
    return _PREFIX.pack(_AS_SENT, message.born_ms) + packed_content(message)


def packed_for_later(content: bytes, born_ms: int) -> bytes:
    """The same of a record whose last header says when the message was born."""
    return _PREFIX.pack(_BORN_ADDED, born_ms) + content


def unpack(content: bytes) -> Message:
    """Raises InvalidBatch."""
    kind = content[0] if content else 0
    if kind in (_BORN_ADDED, _AS_SENT) and len(content) > _PREFIX.size:
        _, born_ms = _PREFIX.unpack_from(content)
        message = unpacked(content[_PREFIX.size :], born_ms)
        if kind == _BORN_ADDED:
            message = msgspec.structs.replace(message, headers=message.headers[:-1])
        return message
    try:
        return _decode_struct(content)  # as it was kept before it was kept as a record
    except msgspec.MsgspecError as error:
        raise InvalidBatch(f"a message that was kept cannot be read: {error}") from error


def _record_content(content: bytes) -> bytes:
    """What is appended of a message that was kept. Raises InvalidBatch."""
    if content[:1] in _KINDS:
        return content[_PREFIX.size :]
    return _record_content(pack(unpack(content)))


def _size_bytes(message: Message) -> int:
    """More than the message takes up in a batch of its own."""
    size_bytes = len(message.body or b"") + len(message.key or b"") + _OVERHEAD_BYTES
    return size_bytes + sum(4 * len(name) + len(value or b"") + _OVERHEAD_BYTES for name, value in message.headers)


def _arriving(message: Message, now_ms: int) -> Message:
    """The message as it comes to its topic: of this time, because retention goes by a record's time."""
    if message.born_ms >= 0 and message.header(BORN_HEADER) is None:
        message = _with_born(message)
    return msgspec.structs.replace(message, born_ms=now_ms)


def _with_born(message: Message) -> Message:
    return msgspec.structs.replace(message, headers=(*message.headers, (BORN_HEADER, b"%d" % message.born_ms)))
