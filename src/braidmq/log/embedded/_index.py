"""A sparse index of one segment: a mark for every 64 KiB or so, at the beginning of a batch.

A mark says: the batch with this base offset begins at this position, and no batch before it has a later time than this.
Marks are kept in three arrays and found by bisection. On disk they lie in blocks, each under its own checksum, appended
when the segment is synced. The file is a convenience: where it is missing, wrong or short, the segment itself is read.
"""

import struct
from array import array
from bisect import bisect_left, bisect_right

from braidmq.records import checksum

INTERVAL_BYTES = 64 * 1024
NO_TIME = -1
_BLOCK = struct.Struct(">II")
_MARK_BYTES = 24


class SparseIndex:
    """Marks in order. Those before `covers_from` (a position in the segment) are on disk only."""

    __slots__ = ("covers_from", "offsets", "positions", "saved", "times")

    def __init__(self, covers_from: int = 0) -> None:
        self.covers_from = covers_from
        self.offsets = array("q")
        self.positions = array("q")
        self.times = array("q")
        self.saved = 0
        """How many of the marks are in the file already."""

    def __len__(self) -> int:
        return len(self.offsets)

    def next_position(self) -> int:
        """Where the next mark is due, at the earliest."""
        return self.positions[-1] + INTERVAL_BYTES if self.positions else self.covers_from

    def add(self, offset: int, position: int, latest_before_ms: int) -> None:
        self.offsets.append(offset)
        self.positions.append(position)
        self.times.append(latest_before_ms)

    def mark_for_offset(self, offset: int) -> tuple[int, int] | None:
        """Position and offset of the mark from which to look for the offset; None when it is not in memory."""
        found = bisect_right(self.offsets, offset) - 1
        return None if found < 0 else (self.positions[found], self.offsets[found])

    def offset_for_time(self, timestamp_ms: int) -> int | None:
        """Before which offset no batch is as late as this; None when no mark in memory says so."""
        found = bisect_left(self.times, timestamp_ms) - 1
        return None if found < 0 else self.offsets[found]

    def last_mark_within(self, position: int, size: int) -> int | None:
        """The number of the last mark in (position, position + size], so that a read may end at a batch's end there."""
        found = bisect_right(self.positions, position + size) - 1
        return found if found >= 0 and self.positions[found] > position else None

    def truncate(self, size: int) -> None:
        """Forget the marks at or behind this position."""
        keep = bisect_left(self.positions, size)
        del self.offsets[keep:], self.positions[keep:], self.times[keep:]
        self.saved = min(self.saved, keep)

    def prepend(self, earlier: "SparseIndex") -> None:
        """Join the marks that were on disk only."""
        self.offsets = earlier.offsets + self.offsets
        self.positions = earlier.positions + self.positions
        self.times = earlier.times + self.times
        self.saved = earlier.saved + self.saved if earlier.saved == len(earlier) else 0
        self.covers_from = earlier.covers_from

    def unsaved_block(self) -> bytes:
        """The marks that are not in the file yet, as a block to append to it; empty when there are none."""
        count = len(self) - self.saved
        if not count:
            return b""
        columns = [column[self.saved :] for column in (self.offsets, self.positions, self.times)]
        self.saved = len(self)
        payload = b"".join(column.tobytes() for column in columns)
        return _BLOCK.pack(count, checksum(payload, count)) + payload


def load_index(data: bytes, base_offset: int, size: int) -> SparseIndex:
    """The marks in a file that fit a segment of this size; those behind the first thing that is wrong are left out.

    `saved` is then what the file really holds, so a file with anything wrong in it comes back with `saved` 0.
    """
    index = SparseIndex()
    position = 0
    while position + _BLOCK.size <= len(data):
        count, crc = _BLOCK.unpack_from(data, position)
        payload = data[position + _BLOCK.size : position + _BLOCK.size + count * _MARK_BYTES]
        if len(payload) != count * _MARK_BYTES or not count or checksum(payload, count) != crc:
            break
        third = count * 8
        for column, start in ((index.offsets, 0), (index.positions, third), (index.times, 2 * third)):
            column.frombytes(payload[start : start + third])
        position += _BLOCK.size + len(payload)
    whole = position == len(data) and len(index) > 0
    if not _plausible(index, base_offset, size):
        return SparseIndex()
    index.saved = len(index) if whole else 0
    return index


def _plausible(index: SparseIndex, base_offset: int, size: int) -> bool:
    """Marks of another segment, or of a longer life of this one, do not count."""
    if not len(index):
        return True
    pairs = zip(index.offsets, index.positions, strict=True)
    previous = (base_offset - 1, -1)
    for offset, position in pairs:
        if offset <= previous[0] or position <= previous[1] or position >= size:
            return False
        previous = (offset, position)
    return index.positions[0] == 0
