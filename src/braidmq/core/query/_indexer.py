"""The task that keeps the index up with the log.

One task does all the writing: it reads what is new in a partition, a stretch at a time and partition after partition,
takes it into the partition's open range, and puts the range into a file when it is full, or when all open ranges
together are too large. Nothing is promised to survive a crash but files; what they do not cover is read again. So the
order of things hardly matters, except in two places: a file is whole before it has its name, and a range leaves memory
when its file is there.

Only what readers of committed messages can see is taken in.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from braidmq.core.pull import batches_of
from braidmq.core.query._index import Index, IndexLimits, PartitionIndex, TopicList
from braidmq.core.query._pace import Pace
from braidmq.core.query._ranges import ENTRY_BYTES, SPAN_MAX, OpenRange, batch_entries, stretch_entries, write_range
from braidmq.log import Fetched, Log, first_readable
from braidmq.log.embedded import Disk
from braidmq.logger import get_logger
from braidmq.model.errors import DamagedLog, InvalidBatch, LogClosed, OffsetOutOfRange, UnknownPartition
from braidmq.records import Batch, Buffer, Record, read_records

READ_BYTES: Final = 128 << 10
SLICE_RECORDS: Final = 100
"""How many records are taken in before others may have their turn."""
LARGE_BATCH_RECORDS: Final = 2_000
"""A batch with more is opened in another thread."""
REST_S: Final = 0.2
"""How long new messages wait for the index to look at them, unless somebody asks for them."""
RETRY_S: Final = 5.0
"""How long a disk is left alone that did not take a file."""
TIDY_S: Final = 30.0
"""How often files of messages that are gone are looked for."""

_logger = get_logger(__name__)


class Indexer:
    """Made, then `start`ed; `close` ends it and writes down what is in memory."""

    def __init__(self, log: Log, topics: TopicList, disk: Disk, limits: IndexLimits) -> None:
        self._log = log
        self._disk = disk
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._grown: dict[int, None] = {}
        """Partitions with something to do, in the order in which it came up."""
        self._urgent: dict[int, None] = {}
        """Those of them that queries wait for."""
        self._awaited: dict[int, int] = {}
        """Partitions that queries wait for, and how many do."""
        self._pace = Pace(limits.share, lambda: bool(self._awaited) or self._closing)
        self._closing = False
        self._topics_changed = False
        self._changed = False
        self._tidied_s = self._kept_s = self._loop.time()
        self._wake = asyncio.Event()
        self._hurry = asyncio.Event()
        self._progress = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.index = Index(log, topics, disk, self._on_data)
        self.records = 0
        """Taken in since the start."""
        self.failures = 0

    def take_share(self, share: float) -> None:
        """Take this share of the event loop's time from now on."""
        self._pace.share = share

    async def start(self) -> None:
        """See what files there are, and begin to follow the log."""
        await asyncio.to_thread(self.index.load)
        kept = await asyncio.to_thread(self.index.read_open)
        self._topics_changed = not self.index.adopt()
        self.index.resume(kept)
        await asyncio.to_thread(self.index.drop_strays)
        self._task = asyncio.create_task(self._run(), name="query index")

    async def close(self) -> None:
        """What is in memory is on the disk when this returns; else it will be read from the log again."""
        self._closing = True
        self._wake.set()
        self._hurry.set()
        self._tell_progress()
        if self._task is not None:
            await self._task
        self.index.close()

    def topics_changed(self) -> None:
        """There may be partitions that are new, or gone."""
        self._topics_changed = True
        self._wake.set()

    async def reach(self, targets: Mapping[int, int], timeout_s: float) -> bool:
        """Whether everything before these offsets was indexed in time."""
        missing = [target for target in targets.items() if not self._has_reached(*target)]
        if not missing:
            return True
        if not targets.keys() <= self.index.partitions.keys():
            self._topics_changed = True
        for number, _ in missing:
            self._awaited[number] = self._awaited.get(number, 0) + 1
            self._grown.pop(number, None)
            self._urgent[number] = None
        numbers = [number for number, _ in missing]
        self._wake.set()
        self._hurry.set()
        try:
            async with asyncio.timeout(timeout_s):
                while missing and not self._closing:
                    if self._has_reached(*missing[-1]):
                        missing.pop()
                    else:
                        await self._progress.wait()
        except TimeoutError:
            return False
        finally:
            for number in numbers:
                self._awaited[number] -= 1
                if not self._awaited[number]:
                    del self._awaited[number]
        return not missing

    def _has_reached(self, number: int, offset: int) -> bool:
        partition = self.index.partitions.get(number)
        return partition is not None and partition.indexed_to >= offset

    def _on_data(self, number: int) -> None:
        (self._urgent if number in self._awaited else self._grown)[number] = None
        self._wake.set()

    def _tell_progress(self) -> None:
        self._progress.set()
        self._progress = asyncio.Event()

    # The task.

    async def _run(self) -> None:
        while not self._closing:
            try:
                await self._rest()
                await self._tend()
                await self._catch_up()
            except OSError as error:
                _logger.warning("the query index cannot be written, and waits a while", why=str(error))
                await self._after_failure()
            except Exception:  # told; nothing is lost, since all of it can be read from the log again
                _logger.exception("the query index stumbled, and goes on in a while")
                await self._after_failure()
        try:
            if self._changed:
                await asyncio.to_thread(self.index.keep_open)
        except OSError as error:
            _logger.warning("the query index could not be kept and is made again at the next start", why=str(error))

    async def _rest(self) -> None:
        """Until there is something to do, and then a little longer, so that there is more of it."""
        try:
            async with asyncio.timeout(min(TIDY_S, self._limits.keep_open_s)):
                await self._wake.wait()
                async with asyncio.timeout(REST_S):
                    await self._hurry.wait()
        except TimeoutError:
            pass
        self._wake.clear()
        self._hurry.clear()

    async def _after_failure(self) -> None:
        self.failures += 1
        self._wake.set()
        try:
            async with asyncio.timeout(RETRY_S):
                while not self._closing:
                    self._hurry.clear()
                    await self._hurry.wait()
        except TimeoutError:
            pass

    async def _tend(self) -> None:
        """What is due from time to time."""
        if self._topics_changed:
            self._topics_changed = not self.index.adopt()
            if self._topics_changed:
                self._wake.set()
        now_s = self._loop.time()
        if now_s - self._tidied_s >= TIDY_S:
            self._tidied_s = now_s
            self.index.tidy()
            self.index.open_bytes = self.index.memory_bytes()
        if self._changed and now_s - self._kept_s >= self._limits.keep_open_s:
            self._kept_s = now_s
            self._changed = False
            await asyncio.to_thread(self.index.keep_open)

    async def _catch_up(self) -> None:
        """A stretch of each partition in turn, until all are done; first those that somebody waits for."""
        self._pace.begin()
        while (waiting := self._urgent or self._grown) and not self._closing:
            number = next(iter(waiting))
            del waiting[number]
            is_behind = True
            try:
                is_behind = await self._advance(number)
            finally:
                if is_behind:
                    (self._urgent if number in self._awaited else self._grown)[number] = None
            self._tell_progress()
            if self._topics_changed and self._hurry.is_set():
                return

    async def _advance(self, number: int) -> bool:
        """Take a stretch in; whether there is more to do in this partition."""
        partition = self.index.partitions.get(number)
        if partition is None:
            return False
        try:
            start, stable, _ = self._log.bounds(number)
        except (UnknownPartition, LogClosed):
            return False
        open_range = partition.holes[0] if partition.holes else partition.tip
        if open_range.end < start:  # retention was faster
            partition.begin_anew(open_range, start)
            return True
        until = stable if open_range.until is None else min(stable, open_range.until)
        if open_range.end < until and not self._is_full(open_range) and not self._is_too_much:
            await self._take_stretch(number, open_range, until)
        if self._is_full(open_range):
            await self._seal(partition, open_range)
        elif self._is_too_much:
            await self._make_room()
        return bool(partition.holes) or partition.tip.end < stable

    @property
    def _is_too_much(self) -> bool:
        return self.index.open_bytes > self._limits.memory_bytes

    def _is_full(self, open_range: OpenRange) -> bool:
        if open_range.end == open_range.until:
            return True
        is_long = open_range.end - open_range.first >= SPAN_MAX // 2
        return is_long or len(open_range.entries) >= self._limits.range_entries * ENTRY_BYTES

    async def _take_stretch(self, number: int, open_range: OpenRange, until: int) -> None:
        try:
            fetched = await self._read(number, open_range.end)
        except DamagedLog:
            # What is damaged, nobody can find.
            open_range.end = await first_readable(self._log, number, open_range.end, until)
            return
        except (OffsetOutOfRange, UnknownPartition, LogClosed):
            return
        self._changed = True
        pace = self._pace
        if not fetched.aborted:
            fetched = Fetched(await self._take_plain(open_range, fetched.data, until))
            if self._is_full(open_range) or self._is_too_much:
                return
        for batch, is_visible in batches_of(fetched):
            if batch.base_offset >= until:
                break
            if is_visible:
                if batch.record_count <= LARGE_BATCH_RECORDS:
                    made = batch_entries(batch, open_range.first, open_range.end, until)
                else:
                    made = await asyncio.to_thread(batch_entries, batch, open_range.first, open_range.end, until)
                if made is not None:
                    self.index.open_bytes += open_range.add_entries(made)
                    self.records += made.records
                elif batch.record_count > SLICE_RECORDS:
                    await self._take_large_batch(open_range, batch, until)
                else:
                    self._take(open_range, _records(batch), until)
            open_range.end = min(batch.last_offset + 1, until)
            if pace.is_due:
                await pace.breathe()
            if self._is_full(open_range) or self._is_too_much:
                break

    async def _take_plain(self, open_range: OpenRange, data: Buffer, until: int) -> memoryview:
        """Take in what can be taken many batches at a time; what is left of the data."""
        rest = memoryview(data)
        until = min(until, open_range.first + SPAN_MAX // 2)
        while rest and not (self._is_full(open_range) or self._is_too_much):
            room_bytes = min(
                self._limits.range_entries * ENTRY_BYTES - len(open_range.entries),
                self._limits.memory_bytes - self.index.open_bytes,
            )
            stretch = stretch_entries(
                rest,
                open_range.first,
                open_range.end,
                until,
                records_max=LARGE_BATCH_RECORDS,
                entries_max=min(LARGE_BATCH_RECORDS, room_bytes // ENTRY_BYTES),
            )
            if stretch is None:
                break
            self.index.open_bytes += open_range.add_entries(stretch.made)
            self.records += stretch.made.records
            open_range.end = stretch.end
            rest = rest[stretch.size_bytes :]
            if self._pace.is_due:
                await self._pace.breathe()
        return rest

    async def _read(self, number: int, offset: int) -> Fetched:
        fetched = self._log.read_now(number, offset, READ_BYTES, committed=True)
        if fetched is None:
            fetched = await self._log.read(number, offset, READ_BYTES, committed=True)
            self._pace.begin()
        return fetched

    async def _take_large_batch(self, open_range: OpenRange, batch: Batch, until: int) -> None:
        """Piece by piece, with others' turns in between."""
        if batch.record_count > LARGE_BATCH_RECORDS:
            records = await asyncio.to_thread(_records, batch)
            self._pace.begin()
        else:
            records = _records(batch)
        for at in range(0, len(records), SLICE_RECORDS):
            self._take(open_range, records[at : at + SLICE_RECORDS], until)
            if self._pace.is_due:
                await self._pace.breathe()

    def _take(self, open_range: OpenRange, records: Sequence[Record], until: int) -> None:
        if records and (records[0].offset < open_range.end or records[-1].offset >= until):
            records = [record for record in records if open_range.end <= record.offset < until]
        self.index.open_bytes += open_range.add(records)
        self.records += len(records)

    # Files.

    async def _make_room(self) -> None:
        """The largest range in memory goes into a file."""
        ranges = ((partition, each) for partition in self.index.partitions.values() for each in partition.ranges())
        partition, largest = max(ranges, key=lambda each: len(each[1].entries))
        await self._seal(partition, largest)

    async def _seal(self, partition: PartitionIndex, full: OpenRange) -> None:
        entries = await self._sorted(bytes(full.entries))
        file = await asyncio.to_thread(write_range, self._disk, partition.number, full, entries)
        self._pace.begin()
        partition.seal(full, file)
        self.index.open_bytes -= len(entries)

    async def _sorted(self, entries: bytes) -> bytes:
        """In order of fingerprints, which are spread evenly: 256 heaps, each sorted for itself, so that there is time
        for others in between."""
        heaps: list[list[bytes]] = [[] for _ in range(256)]
        for at in range(0, len(entries), ENTRY_BYTES):
            heaps[entries[at]].append(entries[at : at + ENTRY_BYTES])
            if not at % 1024 and self._pace.is_due:
                await self._pace.breathe()
        for heap in heaps:
            heap.sort()
            if self._pace.is_due:
                await self._pace.breathe()
        return b"".join(b"".join(heap) for heap in heaps)


def _records(batch: Batch) -> Sequence[Record]:
    try:
        return read_records(batch)
    except InvalidBatch:
        return ()  # its producer broke it, and nobody can read what is in it
