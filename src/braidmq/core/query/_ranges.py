"""Ranges of offsets, and which words stand where in them: one that is being filled, and those in files.

A file is a head and entries of 12 bytes, a fingerprint and how far behind the range's first offset the message lies,
in order of fingerprints. Its name says which partition and which offsets it covers, so that a list of names is all
that a start needs to read. It is written under another name, synced, and then renamed: under its own name it is whole,
or a disk has damaged it since, which its checksums tell.
"""

import struct
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from braidmq.core.query._words import FINGERPRINT_BYTES, fingerprint, words_of
from braidmq.log.embedded import Disk
from braidmq.records import BATCH_HEADER_BYTES, Batch, Buffer, Codec, Record, checksum

try:
    from braidmq.core.query._entries import entries_of, entries_of_stretch
except ImportError:  # not compiled here: record by record
    IS_COMPILED = False
else:
    IS_COMPILED = True

FOLDER: Final = "ranges"
OPEN_NAME: Final = f"{FOLDER}/open"
"""What was in memory at some moment: read at the next start, so that less of the log has to be."""
UNFINISHED: Final = ".new"
ENTRY_BYTES: Final = FINGERPRINT_BYTES + 4
RUN_BYTES: Final = 2048 * ENTRY_BYTES
SPAN_MAX: Final = (1 << 32) - 1
NEVER_MS: Final = (1 << 63) - 1

_MAGIC: Final = b"braidix1"
_HEAD: Final = struct.Struct(">8sIqqIqqI")
_HEAD_CHECKSUM: Final = struct.Struct(">I")
_HEAD_BYTES: Final = _HEAD.size + _HEAD_CHECKSUM.size
_DELTA: Final = struct.Struct(">I")


class DamagedRange(Exception):
    """A file that is not what was written."""


class RangeName(NamedTuple):
    """Which offsets a file covers: from the first up to, and without, the end."""

    number: int
    first: int
    end: int

    @property
    def text(self) -> str:
        return f"{FOLDER}/{self.number:06x}-{self.first:010x}-{self.end:010x}"

    @classmethod
    def parse(cls, text: str) -> "RangeName | None":
        """None for a name that is none of ours."""
        try:
            number, first, end = (int(part, 16) for part in text.removeprefix(f"{FOLDER}/").split("-"))
        except ValueError:
            return None
        name = cls(number, first, end)
        return name if name.text == text and first <= end else None


class Entries(NamedTuple):
    """What an index keeps of some messages."""

    entries: bytes
    earliest_ms: int
    latest_ms: int
    records: int


def batch_entries(batch: Batch, first: int, begin: int, until: int) -> Entries | None:
    """Of the messages of a batch that lie from `begin` on and before `until`, with their distances from `first`; None
    where they must be looked at one by one. May be called in any thread."""
    append_ms = batch.max_timestamp if batch.is_append_time else -1
    if not IS_COMPILED or batch.codec is not Codec.NONE or (batch.is_append_time and append_ms < 0):
        return None
    records = memoryview(batch.data)[BATCH_HEADER_BYTES:]
    made = entries_of(
        records, batch.record_count, batch.base_offset, batch.base_timestamp, append_ms, first, begin, until
    )
    return None if made is None else Entries(*made)


class Stretch(NamedTuple):
    """What an index keeps of batches that lie behind each other, how long they are, and the offset behind them."""

    made: Entries
    size_bytes: int
    end: int


def stretch_entries(
    data: Buffer, first: int, begin: int, until: int, *, records_max: int, entries_max: int
) -> Stretch | None:
    """As `batch_entries`, of the batches at the beginning of `data`, until there are so many entries. None where the
    first must be looked at by itself, as one of more than so many records must. All must be visible, but for markers.
    """
    if not IS_COMPILED:
        return None
    found = entries_of_stretch(data, first, begin, until, records_max, entries_max)
    return None if found is None else Stretch(Entries(*found[:4]), *found[4:])


class OpenRange:
    """A range in memory, which grows. Entries are in the order of the log, but for runs of them that are sorted as soon
    as they are complete: so a search looks at a few entries of each run, and only at the last, incomplete one whole."""

    __slots__ = ("earliest_ms", "end", "entries", "first", "latest_ms", "until")

    def __init__(self, first: int, until: int | None = None) -> None:
        self.first = first
        self.end = first
        """Everything before it is in here."""
        self.until = until
        """Where it ends; None for the one that follows the log."""
        self.entries = bytearray()
        self.earliest_ms = NEVER_MS
        self.latest_ms = -1

    def add(self, records: Sequence[Record]) -> int:
        """Take messages in, and say by how many bytes that grew; `end` is the caller's to set."""
        first, entries, before_bytes = self.first, self.entries, len(self.entries)
        earliest_ms, latest_ms = self.earliest_ms, self.latest_ms
        for record in records:
            delta = _DELTA.pack(record.offset - first)
            for word in words_of(record):
                entries += fingerprint(word) + delta
            timestamp_ms = record.timestamp_ms
            if timestamp_ms > latest_ms:
                latest_ms = timestamp_ms
            if timestamp_ms < earliest_ms:
                earliest_ms = timestamp_ms
        self.earliest_ms, self.latest_ms = earliest_ms, latest_ms
        return self._grown(before_bytes)

    def add_entries(self, made: Entries) -> int:
        """The same with what `batch_entries` made."""
        before_bytes = len(self.entries)
        self.entries += made.entries
        self.earliest_ms = min(self.earliest_ms, made.earliest_ms)
        self.latest_ms = max(self.latest_ms, made.latest_ms)
        return self._grown(before_bytes)

    def _grown(self, before_bytes: int) -> int:
        entries = self.entries
        for at in range(before_bytes - before_bytes % RUN_BYTES, len(entries) - RUN_BYTES + 1, RUN_BYTES):
            _sort_run(entries, at)
        return len(entries) - before_bytes

    def find(self, wanted: bytes) -> list[int]:
        """Offsets of messages with this fingerprint, the newest first."""
        entries = self.entries
        tail_at = len(entries) - len(entries) % RUN_BYTES
        places = [place for at in range(0, tail_at, RUN_BYTES) for place in _find_in_run(entries, at, wanted)]
        at = entries.find(wanted, tail_at)
        while at >= 0:
            if at % ENTRY_BYTES == 0:
                places.append(at)
            at = entries.find(wanted, at + 1)
        first = self.first
        return sorted((first + _DELTA.unpack_from(entries, at + FINGERPRINT_BYTES)[0] for at in places), reverse=True)


def _sort_run(entries: bytearray, at: int) -> None:
    run = bytes(entries[at : at + RUN_BYTES])
    entries[at : at + RUN_BYTES] = b"".join(sorted(run[n : n + ENTRY_BYTES] for n in range(0, RUN_BYTES, ENTRY_BYTES)))


def _find_in_run(entries: bytearray, at: int, wanted: bytes) -> Iterator[int]:
    """Where entries with this fingerprint are."""
    end = at + RUN_BYTES
    places = range(at, end, ENTRY_BYTES)
    before = bisect_left(places, bytearray(wanted), key=lambda each: entries[each : each + FINGERPRINT_BYTES])
    place = at + before * ENTRY_BYTES
    while place < end and entries.startswith(wanted, place):
        yield place
        place += ENTRY_BYTES


class RangeFile:
    """A range in a file."""

    __slots__ = ("_count", "_disk", "earliest_ms", "latest_ms", "name", "size_bytes")

    def __init__(self, disk: Disk, name: RangeName, size_bytes: int) -> None:
        self._disk = disk
        self.name = name
        self.size_bytes = size_bytes
        self._count: int | None = None
        """How many entries; None before the file was read and found whole."""
        self.earliest_ms = -1
        self.latest_ms = NEVER_MS

    def find(self, wanted: bytes, from_ms: int, until_ms: int) -> list[int]:
        """Offsets of messages with this fingerprint, the newest first; none when all messages are of other times.

        Raises DamagedRange.
        """
        if self._count is not None and (self.latest_ms < from_ms or self.earliest_ms > until_ms):
            return []
        try:
            file = self._disk.open(self.name.text)
        except FileNotFoundError as error:
            raise DamagedRange(f"{self.name.text} is gone") from error
        try:
            count = self._checked(file.read(self.size_bytes, 0)) if self._count is None else self._count

            def entry(at: int) -> bytes:
                return file.read(ENTRY_BYTES, _HEAD_BYTES + at * ENTRY_BYTES)

            at = bisect_left(range(count), wanted, key=lambda at: entry(at)[:FINGERPRINT_BYTES])
            offsets = []
            while at < count and (found := entry(at)).startswith(wanted):
                offsets.append(self.name.first + _DELTA.unpack_from(found, FINGERPRINT_BYTES)[0])
                at += 1
        finally:
            file.close()
        return offsets[::-1]

    def _checked(self, data: bytes) -> int:
        if len(data) < _HEAD_BYTES or _HEAD_CHECKSUM.unpack_from(data, _HEAD.size)[0] != checksum(data[: _HEAD.size]):
            raise DamagedRange(f"the head of {self.name.text} is damaged")
        magic, number, first, end, count, self.earliest_ms, self.latest_ms, entries_checksum = _HEAD.unpack_from(data)
        if magic != _MAGIC or RangeName(number, first, end) != self.name:
            raise DamagedRange(f"{self.name.text} holds something else")
        if len(data) != _HEAD_BYTES + count * ENTRY_BYTES or checksum(data[_HEAD_BYTES:]) != entries_checksum:
            raise DamagedRange(f"the entries of {self.name.text} are damaged")
        self._count = int(count)
        return self._count


def write_range(disk: Disk, number: int, content: OpenRange, entries: bytes) -> RangeFile:
    """The file of a range whose entries were put in order; on the disk, name and all, when this returns."""
    name = RangeName(number, content.first, content.end)
    count = len(entries) // ENTRY_BYTES
    head = _HEAD.pack(_MAGIC, *name, count, content.earliest_ms, content.latest_ms, checksum(entries))
    data = head + _HEAD_CHECKSUM.pack(checksum(head)) + entries
    replace_file(disk, name.text, data)
    return RangeFile(disk, name, len(data))


def replace_file(disk: Disk, name: str, data: bytes) -> None:
    """Under this name there is always a whole file, the old one or the new."""
    unfinished = name + UNFINISHED
    disk.remove(unfinished)
    try:
        file = disk.open(unfinished, create=True)
        try:
            file.write([data], 0, len(data))
            file.sync()
        finally:
            file.close()
        disk.rename(unfinished, name)
        disk.sync_folder(FOLDER)
    except OSError:
        disk.remove(unfinished)
        raise


# What was in memory, in one file.

_OPEN_HEAD: Final = struct.Struct(">IqqqqI")


def pack_open(ranges: Sequence[tuple[int, OpenRange]]) -> bytes:
    """(partition number, range) for each."""
    pieces: list[bytes | bytearray] = [_MAGIC]
    for number, each in ranges:
        pieces.append(
            _OPEN_HEAD.pack(number, each.first, each.end, each.earliest_ms, each.latest_ms, len(each.entries))
        )
        pieces.append(each.entries)
    data = b"".join(pieces)
    return data + _HEAD_CHECKSUM.pack(checksum(data))


def unpack_open(data: bytes) -> Iterator[tuple[int, OpenRange]]:
    """Raises DamagedRange, before anything else comes out."""
    end = len(data) - _HEAD_CHECKSUM.size
    if (
        end < len(_MAGIC)
        or not data.startswith(_MAGIC)
        or _HEAD_CHECKSUM.unpack_from(data, end)[0] != checksum(data[:end])
    ):
        raise DamagedRange(f"{OPEN_NAME} is damaged")
    at = len(_MAGIC)
    while at < end:
        number, first, range_end, earliest_ms, latest_ms, size_bytes = _OPEN_HEAD.unpack_from(data, at)
        at += _OPEN_HEAD.size
        each = OpenRange(first)
        each.end, each.earliest_ms, each.latest_ms = range_end, earliest_ms, latest_ms
        each.entries += data[at : at + size_bytes]
        at += size_bytes
        yield number, each
