"""Counting what comes and goes, for the samples of a minute. Hot path: a batch or an answer costs a look into a
dictionary, a few additions and one bucket, however many messages it holds.

Kafka's batches pass unopened, so all of a batch's messages count with its latest time, and as pressure-test traffic if
its first message is marked so; of a packed batch nobody can tell, and it counts as normal. Which topic a partition
belongs to is looked up when the minute is over.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from struct import Struct
from typing import Final, NamedTuple
from uuid import UUID

from braidmq.core.counters import Counters
from braidmq.core.telemetry._ledger import Ledger
from braidmq.core.timing import Clock
from braidmq.core.trace import Tracer
from braidmq.model import DEFAULT_INSTANCE, PRESSURE_HEADER, Message, TraceKind
from braidmq.model.histogram import bucket_of
from braidmq.model.telemetry import ACKNOWLEDGED, IN, NORMAL, OUT, PRESSURE
from braidmq.records import BATCH_HEADER_BYTES, BATCH_OVERHEAD_BYTES, Batch, Packed, Record
from braidmq.store import Catalog

CELLS_MAX: Final = 50_000
"""How many are counted apart in a minute; what is more is counted together, under no name."""
ADDED_AT_ONCE: Final = 1_000
"""How many cells are added up before others have their turn."""
OTHERS: Final = -1
"""Stands for the partition of what is counted together."""

_HEADER: Final = Struct(">8xi9xh12xq14xi")
"""Of a batch: length, attributes, latest time, number of records."""
_CODEC_MASK: Final = 7
_CONTROL_BIT: Final = 1 << 5
_NAME: Final = PRESSURE_HEADER.encode()
_PRESSURE_MARK: Final = bytes((2 * len(_NAME),)) + _NAME + bytes((2 * len(b"true"),)) + b"true"
"""A header of a record as it lies in a batch: both lengths are doubled, as varints of small numbers are."""
_VARINT_BYTES_MAX: Final = 5
_HEADERS_BYTES: Final = 1024
"""How much of a record's end is looked at for the mark."""


Key = tuple[str, str, str, str, int, tuple[str, str] | None]
"""What is counted apart: direction, protocol, group, traffic, the partition's number, and, where that is `OTHERS` and a
topic is known, its instance and name."""


class Cell:
    """One thing that is counted."""

    __slots__ = ("dead", "failures", "latency", "messages", "retries", "size_bytes", "times")

    def __init__(self) -> None:
        self.messages = self.size_bytes = self.times = 0
        self.failures = self.retries = self.dead = 0
        self.latency: dict[int, int] = {}

    def add(self, other: "Cell") -> None:
        """Take in what another has counted."""
        self.messages += other.messages
        self.size_bytes += other.size_bytes
        self.times += other.times
        self.failures += other.failures
        self.retries += other.retries
        self.dead += other.dead
        for index, count in other.latency.items():
            self.latency[index] = self.latency.get(index, 0) + count


class Usage:
    """All that was counted since it was last taken."""

    def __init__(self, clock: Clock) -> None:
        self.now_ms = clock.now_ms
        self._cells: dict[Key, Cell] = {}
        self._taken = Ledger()

    async def ledger(self) -> Ledger:
        """All that was counted since the start; others have their turn meanwhile."""
        now, cells = Ledger(self._taken), list(self._cells.items())
        for begin in range(0, len(cells), ADDED_AT_ONCE):
            now.add(cells[begin : begin + ADDED_AT_ONCE])
            await asyncio.sleep(0)
        return now

    def totals(self) -> Ledger:
        """The same without partitions, at once."""
        now = Ledger(self._taken, with_numbers=False)
        now.add(self._cells.items(), with_numbers=False)
        return now

    def forget(self, is_gone: Callable[[int], bool]) -> None:
        """Drop the sums of partitions that are no more."""
        by_number = self._taken.by_number
        for key in [key for key in by_number if key[1] != OTHERS and is_gone(key[1])]:
            del by_number[key]

    def cell(self, key: Key) -> Cell:
        found = self._cells.get(key)
        return found if found is not None else self._begin(key)

    def take(self) -> dict[Key, Cell]:
        """What was counted; counting begins anew."""
        cells, self._cells = self._cells, {}
        self._taken.add(cells.items())
        return cells

    def _begin(self, key: Key) -> Cell:
        if len(self._cells) >= CELLS_MAX:
            key = (key[0], key[1], "", key[3], OTHERS, None)
        return self._cells.setdefault(key, Cell())


class Shares:
    """Whose traffic acknowledgements are. They say how far a group is and not what it had, so they are shared out as
    what was given in the same minute, or else the last time: of this partition to this group, or, since Kafka's
    readers do not name theirs, to anybody. Works once a minute."""

    def __init__(self) -> None:
        self._tested: dict[tuple[str, int], _Given] = {}
        """By group and partition, where pressure-test traffic was given the last time."""

    def share_out(self, cells: dict[Key, Cell]) -> dict[Key, Cell]:
        """The cells of a minute, with acknowledgements of pressure-test traffic apart."""
        now = _given_in(cells)
        self._keep(now)
        if not self._tested:
            return cells
        shared: dict[Key, Cell] = {}
        for key, cell in cells.items():
            direction, protocol, group, _, number, place = key
            given = now.get((group, number)) or self._tested.get((group, number)) or self._tested.get(("", number))
            if direction != ACKNOWLEDGED or given is None or not given.tested:
                shared[key] = cell
                continue
            tested = _part_of(cell, given)
            if tested.messages:
                shared[direction, protocol, group, PRESSURE, number, place] = tested
            if cell.messages:
                shared[key] = cell
        return shared

    def forget(self, is_gone: Callable[[int], bool]) -> None:
        """Drop what is known of partitions that are no more."""
        for key in [key for key in self._tested if is_gone(key[1])]:
            del self._tested[key]

    def _keep(self, now: "dict[tuple[str, int], _Given]") -> None:
        for key, given in now.items():
            self._tested.pop(key, None)
            if given.tested:
                self._tested[key] = given
        for key in list(self._tested)[: max(0, len(self._tested) - CELLS_MAX)]:  # the oldest
            del self._tested[key]


class _Given(NamedTuple):
    """How many messages somebody was given, and how many of them belonged to a test."""

    tested: int
    total: int


def _given_in(cells: dict[Key, Cell]) -> dict[tuple[str, int], _Given]:
    found: dict[tuple[str, int], _Given] = {}
    for (direction, _, group, traffic, number, _), cell in cells.items():
        if direction == OUT and number != OTHERS:
            known = found.get((group, number), _Given(0, 0))
            tested = cell.messages if traffic == PRESSURE else 0
            found[group, number] = _Given(known.tested + tested, known.total + cell.messages)
    return found


def _part_of(cell: Cell, given: _Given) -> Cell:
    """Takes the part of a test out of an acknowledgement."""
    part = Cell()
    part.messages = round(cell.messages * given.tested / given.total)
    part.times = round(cell.times * given.tested / given.total)
    cell.messages -= part.messages
    cell.times -= part.times
    return part


class Inlet:
    """Hears of what one protocol's clients bring; implements `counters.Tally`."""

    __slots__ = ("_counters", "_figure", "_protocol", "_usage")

    def __init__(self, protocol: str, counters: Counters, usage: Usage | None) -> None:
        self._protocol = protocol
        self._counters = counters
        self._figure = counters.protocol_in(protocol)
        self._usage = usage

    def stored(self, number: int, batch: Batch) -> None:
        count, size_bytes = batch.record_count, batch.size_bytes
        self._counters.stored(number, count, size_bytes)
        self._figure.add(count, size_bytes)
        if (usage := self._usage) is None:
            return
        traffic = PRESSURE if is_pressure(batch.data, 0, batch.attributes) else NORMAL
        cell = usage.cell((IN, self._protocol, "", traffic, number, None))
        cell.messages += count
        cell.size_bytes += size_bytes
        cell.times += 1
        if batch.max_timestamp >= 0:
            index = bucket_of(usage.now_ms() - batch.max_timestamp)
            cell.latency[index] = cell.latency.get(index, 0) + count

    def refused(self, number: int, batch: Batch) -> None:
        self._count_refused(number, batch.record_count, is_pressure(batch.data, 0, batch.attributes))

    def refused_lots(self, number: int, lots: Iterable[Sequence[Message] | Packed]) -> None:
        for lot in lots:
            if isinstance(lot, Packed):
                self._count_refused(number, len(lot.times), _is_content_pressure(lot.contents[0]))
            else:
                self._count_refused(number, len(lot), lot[0].is_pressure)

    def _count_refused(self, number: int, messages: int, is_test: bool) -> None:
        if self._usage is not None:
            traffic = PRESSURE if is_test else NORMAL
            self._usage.cell((IN, self._protocol, "", traffic, number, None)).failures += messages


class Outlet:
    """Hears of what one protocol's clients are given."""

    __slots__ = ("_counters", "_figure", "_protocol", "_usage")

    def __init__(self, protocol: str, counters: Counters, usage: Usage | None) -> None:
        self._protocol = protocol
        self._counters = counters
        self._figure = counters.protocol_out(protocol)
        self._usage = usage

    def gave_records(self, group: str, number: int, records: Sequence[Record], size_bytes: int) -> None:
        """Messages one by one; there is at least one."""
        is_pressure = (PRESSURE_HEADER, b"true") in records[0].headers
        self.gave(group, number, [record.timestamp_ms for record in records], size_bytes, is_pressure=is_pressure)

    def gave(self, group: str, number: int, times_ms: Sequence[int], size_bytes: int, *, is_pressure: bool) -> None:
        """Messages of these times; there is at least one, and the first says whether they belong to a test."""
        count = len(times_ms)
        self._counters.delivered(group, number, count, size_bytes)
        self._figure.add(count, size_bytes)
        if (usage := self._usage) is None:
            return
        cell = usage.cell((OUT, self._protocol, group, PRESSURE if is_pressure else NORMAL, number, None))
        cell.messages += count
        cell.size_bytes += size_bytes
        cell.times += 1
        now_ms = usage.now_ms()
        oldest, newest = bucket_of(now_ms - times_ms[0]), bucket_of(now_ms - times_ms[-1])
        if oldest == newest:
            cell.latency[oldest] = cell.latency.get(oldest, 0) + count
            return
        for time_ms in times_ms:
            index = bucket_of(now_ms - time_ms)
            cell.latency[index] = cell.latency.get(index, 0) + 1

    def gave_each(self, group: str, given: Iterable[tuple[int, Record]]) -> None:
        """Messages of several partitions, each with its partition's number."""
        by_number: dict[int, list[Record]] = {}
        for number, record in given:
            by_number.setdefault(number, []).append(record)
        for number, records in by_number.items():
            self.gave_records(group, number, records, sum(len(record.value or b"") for record in records))

    def gave_batches(self, number: int, data: bytes | memoryview) -> None:
        """Whole batches, as they lie in the log; somebody who reads by offset and does not say for which group."""
        usage, size_bytes = self._usage, len(data)
        if size_bytes < BATCH_HEADER_BYTES:
            return
        now_ms = 0 if usage is None else usage.now_ms()
        cell: Cell | None = None
        position = messages = 0
        while position + BATCH_HEADER_BYTES <= size_bytes:
            length, attributes, latest_ms, count = _HEADER.unpack_from(data, position)
            if usage is None:
                messages += 0 if attributes & _CONTROL_BIT else count
            elif count > 0 and not attributes & _CONTROL_BIT:
                if cell is None:
                    traffic = PRESSURE if is_pressure(data, position, attributes) else NORMAL
                    cell = usage.cell((OUT, self._protocol, "", traffic, number, None))
                messages += count
                if latest_ms >= 0:
                    index = bucket_of(now_ms - latest_ms)
                    cell.latency[index] = cell.latency.get(index, 0) + count
            position += length + BATCH_OVERHEAD_BYTES
        if messages:
            self._counters.delivered("", number, messages, size_bytes)
            self._figure.add(messages, size_bytes)
        if cell is not None:
            cell.messages += messages
            cell.size_bytes += size_bytes
            cell.times += 1


class Overheard:
    """Passes on what services say of messages, and counts what groups acknowledge, send back and give up."""

    __slots__ = ("_catalog", "_tracer", "_usage")

    def __init__(self, tracer: Tracer, usage: Usage, catalog: Catalog) -> None:
        self._tracer = tracer
        self._usage = usage
        self._catalog = catalog

    def note(
        self,
        kind: TraceKind,
        message_id: str,
        *,
        keys: tuple[str, ...] = (),
        topic_id: UUID | None = None,
        topic: str = "",
        partition: int = -1,
        offset: int = -1,
        group: str = "",
        client: str = "",
        value: int = -1,
        at_ms: int | None = None,
        is_pressure: bool = False,
    ) -> None:
        """See `Tracer`."""
        traffic = PRESSURE if is_pressure else NORMAL
        if kind is TraceKind.RETRIED:
            self._trouble(group, traffic, topic_id, topic).retries += 1
        elif kind is TraceKind.DEAD_LETTERED:
            self._trouble(group, traffic, topic_id, topic).dead += 1
        self._tracer.note(
            kind,
            message_id,
            keys=keys,
            topic_id=topic_id,
            topic=topic,
            partition=partition,
            offset=offset,
            group=group,
            client=client,
            value=value,
            at_ms=at_ms,
            is_pressure=is_pressure,
        )

    def note_range(self, kind: TraceKind, group: str, number: int, first: int, until: int, client: str = "") -> None:
        """See `Tracer`."""
        if kind is TraceKind.ACKNOWLEDGED and until > first:
            cell = self._usage.cell((ACKNOWLEDGED, "", group, NORMAL, number, None))
            cell.messages += until - first
            cell.times += 1
        self._tracer.note_range(kind, group, number, first, until, client)

    def note_lot(self, kind: TraceKind, number: int, first: int, message_ids: Sequence[str]) -> None:
        """See `Tracer`."""
        self._tracer.note_lot(kind, number, first, message_ids)

    def _trouble(self, group: str, traffic: str, topic_id: UUID | None, topic: str) -> Cell:
        """A group is of its topic's instance: groups of one name in two instances are two."""
        found = None if topic_id is None else self._catalog.topic_by_id(topic_id)
        instance = DEFAULT_INSTANCE if found is None else found.instance
        return self._usage.cell((ACKNOWLEDGED, "", group, traffic, OTHERS, (instance, topic)))


def is_pressure(data: bytes | bytearray | memoryview, position: int, attributes: int) -> bool:
    """Whether the first message of the batch at the position is marked as pressure-test traffic; False where the batch
    is packed. A record ends with its headers, so only its end is looked at."""
    if attributes & _CODEC_MASK or len(data) <= position + BATCH_HEADER_BYTES:
        return False  # packed, or without any message, as filters and compaction leave batches behind
    begin = position + BATCH_HEADER_BYTES
    length, begin = _varint(data, begin)
    end = begin + length
    return _is_marked(data, begin, end)


def _is_content_pressure(content: bytes) -> bool:
    """The same of one message, as it is in `Packed`."""
    return _is_marked(content, 0, len(content))


def _is_marked(data: bytes | bytearray | memoryview, begin: int, end: int) -> bool:
    """Whether the record that lies there has the mark among its last headers."""
    begin = max(begin, end - _HEADERS_BYTES)
    if isinstance(data, memoryview):
        return _PRESSURE_MARK in bytes(data[begin:end])
    return data.find(_PRESSURE_MARK, begin, end) >= 0


def _varint(data: bytes | bytearray | memoryview, position: int) -> tuple[int, int]:
    """A length, and where it ends. Nobody has looked at what lies in a batch: what is no length is none."""
    if len(data) > position + 1 and data[position + 1] < 128 <= data[position]:  # as most records have it
        return ((data[position] & 127) | data[position + 1] << 7) >> 1, position + 2
    value = 0
    for shift, byte in enumerate(data[position : position + _VARINT_BYTES_MAX]):
        value |= (byte & 127) << 7 * shift
        if byte < 128:
            return value >> 1, position + shift + 1
    return 0, position


def latency_text(latency: dict[int, int]) -> dict[str, int]:
    """A histogram as JSON has it."""
    return {str(index): latency[index] for index in sorted(latency)}
