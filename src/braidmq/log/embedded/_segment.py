"""A segment: one file of whole batches, back to back, beginning at a base offset.

Only the last segment of a partition grows. Batches that this process wrote were checked when they came; all others are
checked against their checksums when they are read (`unchecked_bytes`), and so is whatever had to come from the disk.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from braidmq.log.embedded._disk import File
from braidmq.log.embedded._index import INTERVAL_BYTES, NO_TIME, SparseIndex
from braidmq.log.embedded._tail import LEADER_EPOCH
from braidmq.model.errors import InvalidBatch
from braidmq.records import BATCH_HEADER_BYTES, BATCH_OVERHEAD_BYTES, Batch, parse_batch

FOLDER = "segments"
SCAN_BYTES = 1024 * 1024
GLANCE = struct.Struct(">qi4xb6xi8xq")
"""Base offset, length, magic, last offset delta, latest time: enough to step over a batch."""
READ_AHEAD_BYTES = 4 * 1024 * 1024
"""What the kernel may have fetched along with a read from the disk."""


class Segment:
    """A file of a partition. `end_offset` is behind the last batch; in a compacted segment there may be gaps before
    it."""

    __slots__ = (
        "base_offset",
        "created_ms",
        "dirty",
        "end_offset",
        "file",
        "generation",
        "index",
        "latest_ms",
        "next_mark_at",
        "number",
        "pins",
        "size_bytes",
        "touched",
        "unchecked_bytes",
        "written_out_bytes",
    )

    def __init__(
        self,
        number: int,
        base_offset: int,
        generation: int = 0,
        *,
        end_offset: int | None = None,
        size_bytes: int = 0,
        latest_ms: int = NO_TIME,
        created_ms: int = 0,
    ) -> None:
        self.number = number
        self.base_offset = base_offset
        self.generation = generation
        self.end_offset = base_offset if end_offset is None else end_offset
        self.size_bytes = size_bytes
        self.latest_ms = latest_ms
        self.created_ms = created_ms
        self.unchecked_bytes = size_bytes
        self.index: SparseIndex | None = None
        """Marks in memory; None until somebody needs them."""
        self.next_mark_at = size_bytes
        """Where the index wants its next mark, at the earliest."""
        self.file: File | None = None
        self.dirty = False
        """Written since it was last synced."""
        self.written_out_bytes = size_bytes
        """How far the disk has been given what was written."""
        self.pins = 0
        """How many calls in other threads use the file just now."""
        self.touched = 0

    @property
    def name(self) -> str:
        return segment_name(self.number, self.base_offset, self.generation)

    @property
    def index_name(self) -> str:
        return self.name.removesuffix(".log") + ".index"

    @property
    def is_short(self) -> bool:
        """Whether there is no mark to be had but that of the first batch."""
        return self.index is None and self.next_mark_at <= INTERVAL_BYTES

    def mark(self, base_offset: int, position: int) -> None:
        """Add a mark for the batch that begins here. That of the first batch says nothing that the segment does not say
        itself: it is made along with the second, because most of many partitions hold little."""
        if self.index is None and position > 0:
            self.index = self._index_from(position)
        if self.index is not None:
            self.index.add(base_offset, position, self.latest_ms)
        self.next_mark_at = position + INTERVAL_BYTES

    def _index_from(self, position: int) -> SparseIndex:
        if self.next_mark_at != INTERVAL_BYTES:
            return SparseIndex(covers_from=position)
        index = SparseIndex()
        index.add(self.base_offset, 0, NO_TIME)
        return index

    def note_batch(self, batch: Batch, base_offset: int, position: int) -> None:
        """Count a batch that lies at the position."""
        if position >= self.next_mark_at:
            self.mark(base_offset, position)
        if batch.max_timestamp > self.latest_ms:
            self.latest_ms = batch.max_timestamp

    def let_marks_go(self) -> None:
        """Take the marks out of memory, where all of them are on disk."""
        if self.index is not None and self.index.saved == len(self.index):
            self.index = None

    def forget_marks(self, position: int) -> None:
        """The bytes from the position on are not there after all."""
        if self.index is not None:
            self.index.truncate(position)
        self.next_mark_at = min(self.next_mark_at, position)


def segment_name(number: int, base_offset: int, generation: int) -> str:
    """A name of our own numbers; a compacted segment is a new file of the next generation."""
    return f"{FOLDER}/{number:07d}-{base_offset:020d}-{generation:04d}.log"


class SegmentName(NamedTuple):
    """What a file name says."""

    number: int
    base_offset: int
    generation: int


def parse_segment_name(name: str) -> SegmentName | None:
    """None for files that are not segments."""
    stem, _, kind = name.rpartition("/")[2].rpartition(".")
    parts = stem.split("-")
    if kind != "log" or len(parts) != 3 or not all(part.isdigit() for part in parts):
        return None
    return SegmentName(*map(int, parts))


class StoredBatch(NamedTuple):
    """A batch found in a segment."""

    batch: Batch
    position: int


class Unreadable(NamedTuple):
    """Where a scan could not go on, and why."""

    position: int
    reason: str


def scan(
    file: File, position: int, size: int, expected_offset: int, *, gaps: bool
) -> Iterator[StoredBatch | Unreadable]:
    """Every batch from the position to the size, each one checked; last, if there is one, the place that is no batch.

    With `gaps`, a batch may begin behind the expected offset, as in a compacted segment.
    """
    window, window_at = b"", position
    while position < size:
        within = position - window_at
        if within + BATCH_HEADER_BYTES > len(window):
            window, window_at, within = file.read(min(SCAN_BYTES, size - position), position), position, 0
        if within + BATCH_HEADER_BYTES <= len(window):
            needed = GLANCE.unpack_from(window, within)[1] + BATCH_OVERHEAD_BYTES
            if within + needed > len(window) and position + needed <= size:
                window, window_at, within = file.read(max(needed, SCAN_BYTES), position), position, 0
        found = check_batch(window, within, expected_offset, gaps=gaps)
        if isinstance(found, str):
            yield Unreadable(position, found)
            return
        yield StoredBatch(found, position)
        position += found.size_bytes
        expected_offset = found.last_offset + 1


def check_batch(window: bytes, within: int, expected_offset: int, *, gaps: bool) -> Batch | str:
    """The batch at this place of the window, or what is wrong with it."""
    try:
        batch = parse_batch(window, within)
    except InvalidBatch as error:
        return error.message
    if batch.base_offset < expected_offset or (batch.base_offset != expected_offset and not gaps):
        return f"the batch says offset {batch.base_offset} where {expected_offset} is expected"
    if batch.leader_epoch != LEADER_EPOCH:
        return f"the batch at offset {batch.base_offset} says leader epoch {batch.leader_epoch}"
    if not batch.matches_checksum():
        return f"the batch at offset {batch.base_offset} does not match its checksum"
    return batch


def scan_headers(file: File, position: int, size: int) -> Iterator[tuple[int, int, int]]:
    """Base offset, position and latest time of every batch, by the headers alone; ends where there is no batch."""
    window, window_at = b"", position
    while position < size:
        within = position - window_at
        if within + BATCH_HEADER_BYTES > len(window):
            window, window_at, within = file.read(min(SCAN_BYTES, size - position), position), position, 0
            if len(window) < BATCH_HEADER_BYTES:
                return
        base_offset, length, magic, _, max_timestamp = GLANCE.unpack_from(window, within)
        batch_bytes = length + BATCH_OVERHEAD_BYTES
        if magic != 2 or batch_bytes < BATCH_HEADER_BYTES or position + batch_bytes > size:
            return
        yield base_offset, position, max_timestamp
        position += batch_bytes
