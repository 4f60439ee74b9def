"""Finding messages: the questions that can be asked."""

import asyncio
import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from braidmq.core.filters import Everything
from braidmq.core.metrics import Metric, MetricKind
from braidmq.core.pull import Puller
from braidmq.core.query._index import IndexLimits
from braidmq.core.query._indexer import Indexer
from braidmq.core.query._ranges import NEVER_MS, DamagedRange, RangeFile
from braidmq.core.query._words import fingerprint, id_of, keys_of
from braidmq.log import Log
from braidmq.log.embedded import Disk
from braidmq.model import Message, Partition, Topic
from braidmq.model.errors import DamagedLog, IndexOff, OffsetOutOfRange, UnknownPartition
from braidmq.records import Record, record_message
from braidmq.store import Change, TopicChanged

WAIT_S: Final = 2.0
"""How long a question waits for the index to have what is in the log already."""
HITS_MAX: Final = 10_000
"""How many places of one partition a question looks at, the newest first."""
RESULTS_MAX: Final = 1_000
ANSWER_BYTES_MAX: Final = 32 << 20
MESSAGE_BYTES: Final = 500
"""About what a message weighs beside its body."""
PAGE_RECORDS: Final = 256

Place = tuple[int, int]
"""A partition's number, and an offset."""


class IndexedTo(NamedTuple):
    """How far the index has come in a partition: everything before `offset` is found; `behind` are still missing.
    `latest_ms` is the latest time of a message in the range that is being filled, or -1."""

    offset: int
    behind: int
    latest_ms: int


class Catalog(Protocol):
    """Who knows the topics; see `store.Catalog`."""

    def topics(self) -> list[Topic]: ...

    def topic_by_id(self, topic_id: UUID) -> Topic | None: ...

    def partition_by_number(self, number: int) -> Partition | None: ...

    def subscribe(self, callback: Callable[[Change], None]) -> Callable[[], None]: ...


class Query:
    """Made, then `start`ed. The disk's folder is the index's alone; without a disk there is no index, and messages are
    found by place and time only."""

    def __init__(self, log: Log, catalog: Catalog, disk: Disk | None, limits: IndexLimits | None = None) -> None:
        self._log = log
        self._catalog = catalog
        self._puller = Puller(log)
        self._indexer = None if disk is None else Indexer(log, catalog, disk, limits or IndexLimits())
        self._unsubscribe: Callable[[], None] = lambda: None
        self._lookups = 0

    async def start(self) -> None:
        """From here on the index follows the log. To be called before messages come."""
        if self._indexer is not None:
            self._unsubscribe = self._catalog.subscribe(self._on_change)
            await self._indexer.start()

    def take_share(self, share: float) -> None:
        """Indexing takes this share of the event loop's time from now on."""
        if self._indexer is not None:
            self._indexer.take_share(share)

    async def close(self) -> None:
        self._unsubscribe()
        if self._indexer is not None:
            await self._indexer.close()

    def _on_change(self, change: Change) -> None:
        if isinstance(change, TopicChanged) and self._indexer is not None:
            self._indexer.topics_changed()

    # Questions.

    async def at(self, number: int, offset: int) -> Message | None:
        """The message at a place; None when there is none that a reader of committed messages could see."""
        partition = self._catalog.partition_by_number(number)
        topic = None if partition is None else self._catalog.topic_by_id(partition.topic_id)
        if topic is None or partition is None or topic.deleting:
            return None
        record = await self._record(number, offset)
        return None if record is None else record_message(record, topic.name, partition.index)

    async def by_id(self, topic: Topic, id: str, limit: int = 32) -> list[Message]:
        """The messages with this unique id, the newest first: more than one where it was sent or delivered again.

        Raises IndexOff.
        """
        wanted = id.encode(errors="replace")
        return await self._by_word(topic, wanted, lambda record: id_of(record) == wanted, 0, NEVER_MS, limit)

    async def by_key(
        self, topic: Topic, key: str, from_ms: int = 0, until_ms: int = NEVER_MS, limit: int = 32
    ) -> list[Message]:
        """The messages with this key of times from the first to the last named, the newest first. Raises IndexOff."""
        wanted = key.encode(errors="replace")
        return await self._by_word(topic, wanted, lambda record: wanted in keys_of(record), from_ms, until_ms, limit)

    async def by_time(
        self, topic: Topic, from_ms: int, until_ms: int, limit: int = 32, after: Place | None = None
    ) -> list[Message]:
        """The messages of times from the first to the last named, partition after partition in the order of the log.

        `after` is the place (partition number, offset) of the last message of the page before. Where times go back
        and forth in a partition, it is searched from the first message that is not older than `from_ms` to the first
        that is newer than `until_ms`.
        """
        answer = _Answer(limit)
        number, offset = after or (topic.partition_numbers[0], -1)
        for partition in topic.partitions[topic.partition_numbers.index(number) :]:
            await self._page(answer, topic, partition, from_ms, until_ms, begin=offset + 1)
            offset = -1
        return answer.messages

    def indexed_to(self, topic: Topic) -> dict[int, IndexedTo]:
        """How far the index has come, by partition number. Raises IndexOff."""
        partitions = self._index().index.partitions
        found = {}
        for number in topic.partition_numbers:
            stable = self._stable(number)
            partition = partitions.get(number)
            offset = 0 if partition is None else partition.indexed_to
            latest_ms = -1 if partition is None else partition.tip.latest_ms
            found[number] = IndexedTo(offset, max(0, stable - offset), latest_ms)
        return found

    # How they are answered.

    def _index(self) -> Indexer:
        if self._indexer is None:
            raise IndexOff()
        return self._indexer

    async def _by_word(
        self,
        topic: Topic,
        word: bytes,
        matches: Callable[[Record], bool],
        from_ms: int,
        until_ms: int,
        limit: int,
    ) -> list[Message]:
        self._lookups += 1
        await self._index().reach({number: self._stable(number) for number in topic.partition_numbers}, WAIT_S)
        places = await self._places(topic, fingerprint(word), from_ms, until_ms)
        found: list[Message] = []
        bytes_left = ANSWER_BYTES_MAX
        for partition in topic.partitions:
            answer = _Answer(limit, bytes_left)
            for offset in places[partition.number]:
                if answer.is_full:
                    break
                record = await self._record(partition.number, offset)
                if record is not None and from_ms <= record.timestamp_ms <= until_ms and matches(record):
                    answer.add(record_message(record, topic.name, partition.index))
            bytes_left = answer.bytes_left
            found += answer.messages
        return heapq.nlargest(_bounded(limit), found, key=lambda message: (message.born_ms, message.offset))

    async def _places(self, topic: Topic, wanted: bytes, from_ms: int, until_ms: int) -> dict[int, list[int]]:
        """Offsets where a message with this fingerprint may be, the newest first, by partition number."""
        places: dict[int, list[int]] = {number: [] for number in topic.partition_numbers}
        indexer = self._index()
        numbers: Iterable[int] = topic.partition_numbers
        for _ in range(2):
            indexes = [indexer.index.partitions[number] for number in numbers if number in indexer.index.partitions]
            in_memory = {each.number: each.find_in_memory(wanted) for each in indexes}
            files = [file for each in indexes for file in each.files_newest_first()]
            in_files, damaged = await asyncio.to_thread(_search_files, files, wanted, from_ms, until_ms)
            for number, offsets in in_memory.items():
                places[number] = sorted({*offsets, *in_files.get(number, ())}, reverse=True)[:HITS_MAX]
            if not damaged:
                break
            for file, why in damaged:
                indexer.index.lose(file, why)
            numbers = {file.name.number for file, _ in damaged}
            await indexer.reach({number: self._stable(number) for number in numbers}, WAIT_S)
        return places

    async def _page(
        self, answer: "_Answer", topic: Topic, partition: Partition, from_ms: int, until_ms: int, *, begin: int
    ) -> None:
        """Add what is wanted of one partition."""
        number = partition.number
        try:
            at, end = await self.stretch(number, from_ms, until_ms)
            at = max(at, begin)
            while at < end and not answer.is_full:
                pulled = await self._puller.pull(
                    number, at, Everything(), count_max=PAGE_RECORDS, bytes_max=answer.bytes_left
                )
                for record in pulled.records:
                    if record.offset < end and from_ms <= record.timestamp_ms <= until_ms and not answer.is_full:
                        answer.add(record_message(record, topic.name, partition.index))
                if pulled.next_offset <= at:
                    return
                at = pulled.next_offset
        except (OffsetOutOfRange, UnknownPartition):
            return  # deleted meanwhile; what was found before is no less true

    async def stretch(self, number: int, from_ms: int, until_ms: int) -> tuple[int, int]:
        """The offsets between which messages of these times are, the second not included. Raises UnknownPartition."""
        first = await self._log.offset_for_time(number, from_ms)
        behind = None if until_ms >= NEVER_MS else await self._log.offset_for_time(number, until_ms + 1)
        start, stable, _ = self._log.bounds(number)
        end = stable if behind is None else min(behind.offset, stable)
        return (end if first is None else max(first.offset, start)), end

    async def _record(self, number: int, offset: int) -> Record | None:
        """None when it is gone, or damaged, or was never there for anybody to see."""
        try:
            pulled = self._puller.pull_now(number, offset, Everything(), count_max=1, bytes_max=1)
            if pulled is None:
                pulled = await self._puller.pull(number, offset, Everything(), count_max=1, bytes_max=1)
        except (OffsetOutOfRange, UnknownPartition, DamagedLog):
            return None
        if not pulled.records or pulled.records[0].offset != offset:
            return None
        return pulled.records[0]

    def _stable(self, number: int) -> int:
        try:
            return self._log.bounds(number).stable
        except UnknownPartition:
            return 0

    def metrics(self) -> Iterator[Metric]:
        if self._indexer is None:
            return
        index = self._indexer.index
        behind = sum(max(0, self._stable(each.number) - each.indexed_to) for each in index.partitions.values())
        files = list(index.files())
        gauge, counter = MetricKind.GAUGE, MetricKind.COUNTER
        yield Metric("braid_query_behind_records", gauge, "Offsets in the log that are not indexed yet.", behind)
        yield Metric("braid_query_files", gauge, "Files of the query index.", len(files))
        size_bytes = sum(file.size_bytes for file in files)
        yield Metric("braid_query_bytes", gauge, "Size of the files of the query index.", size_bytes)
        yield Metric("braid_query_memory_bytes", gauge, "Size of the index in memory.", index.memory_bytes())
        yield Metric("braid_query_indexed_records", counter, "Messages taken into the index.", self._indexer.records)
        yield Metric("braid_query_lookups", counter, "Questions by id or key.", self._lookups)
        yield Metric("braid_query_damaged_files", counter, "Files that had to be made again.", index.damaged_files)
        yield Metric("braid_query_failures", counter, "Times that the index stumbled.", self._indexer.failures)


class _Answer:
    """Messages, as many as are wanted and fit."""

    def __init__(self, limit: int, bytes_max: int = ANSWER_BYTES_MAX) -> None:
        self._count_left = _bounded(limit)
        self.bytes_left = bytes_max
        self.messages: list[Message] = []

    @property
    def is_full(self) -> bool:
        return self._count_left <= 0 or self.bytes_left <= 0

    def add(self, message: Message) -> None:
        self.messages.append(message)
        self._count_left -= 1
        self.bytes_left -= len(message.body or b"") + MESSAGE_BYTES


def _search_files(
    files: Sequence[RangeFile], wanted: bytes, from_ms: int, until_ms: int
) -> tuple[dict[int, list[int]], list[tuple[RangeFile, str]]]:
    """For a thread: the newest offsets by partition number, and the files that could not be used."""
    found: dict[int, list[int]] = {}
    damaged: list[tuple[RangeFile, str]] = []
    for file in files:
        offsets = found.setdefault(file.name.number, [])
        if len(offsets) >= HITS_MAX:
            continue
        try:
            offsets += file.find(wanted, from_ms, until_ms)
        except DamagedRange as damage:
            damaged.append((file, str(damage)))
    return found, damaged


def _bounded(limit: int) -> int:
    return max(0, min(limit, RESULTS_MAX))
