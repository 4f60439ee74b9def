"""The journal: what makes an acknowledgement durable, shared by all partitions.

One turn of the log is one frame and, with the turns that came while the disk was busy, one sync, however many
partitions it touched. A frame holds entries: the batches of one partition, group offsets, or a partition's new start.

The journal is a small ring of files that are written over once their content is unnecessary; a file that already has
its blocks is written and synced much faster than one that grows. Content is unnecessary when a
checkpoint covers it. Where nothing is promised to be on disk (flush = interval), it is enough that the segments' files
hold it.

An entry of batches holds them as their producers sent them; their offsets follow from the entry's first.
"""

import struct
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from uuid import UUID

from braidmq.log.embedded._disk import Disk, File, RealFile
from braidmq.log.embedded._frames import FIRST_SEQUENCE, Frame, FrameFormat
from braidmq.log.embedded._health import SyncFailed, is_out_of_files, syncing

FOLDER = "journal"
ENTRY = struct.Struct(">B16siqqI")
"""Kind, topic id, partition index, first offset, offset behind the last, size of what follows."""

BATCHES = 1
GROUP_OFFSETS = 2
START_OFFSET = 3

NO_TOPIC = bytes(16)
SPARE_WRITE_BYTES = 1024 * 1024
SYNCS_AT_ONCE = 3
"""Who comes while the disk syncs need not wait until that is over for his own sync to begin."""


class Entry(NamedTuple):
    """One entry of a frame as it was read back."""

    kind: int
    topic_id: UUID
    partition: int
    base_offset: int
    end_offset: int
    payload: bytes


encode_entry = ENTRY.pack
"""The header of an entry (kind, topic id, partition, first offset, end offset, size); its payload follows."""


def decode_entries(payload: bytes) -> Iterator[Entry]:
    """The entries of a frame; ends early where they make no sense, which only a damaged frame can bring about."""
    position = 0
    while position + ENTRY.size <= len(payload):
        kind, topic_id, index, base_offset, end_offset, size = ENTRY.unpack_from(payload, position)
        position += ENTRY.size
        if position + size > len(payload):
            return
        yield Entry(kind, UUID(bytes=topic_id), index, base_offset, end_offset, payload[position : position + size])
        position += size


class JournalFile:
    """One file of the ring, and the last sequence in it.

    It is opened once for each sync that may be under way: the system tells of a write that failed once for each time
    that a file was opened, so that no sync hears of a failure in another's place."""

    __slots__ = ("_openings", "is_new", "last_sequence", "name", "written_bytes")

    def __init__(self, name: str, openings: Sequence[File], *, is_new: bool) -> None:
        self.name = name
        self._openings = openings
        self.is_new = is_new
        self.written_bytes = 0
        self.last_sequence = -1

    @property
    def file(self) -> File:
        """The one to read and write by."""
        return self._openings[0]

    @property
    def number(self) -> int:
        return int(self.name.rpartition("/")[2])

    def sync(self, lane: int) -> None:
        """What was written is on the disk when this returns; one sync at a time in a lane."""
        self._openings[lane].sync()

    def descriptor(self, lane: int) -> int | None:
        """What `sync` gives to the system and nothing else, if so."""
        opening = self._openings[lane]
        return opening.fileno() if type(opening) is RealFile else None

    def close(self) -> None:
        for opening in self._openings:
            opening.close()


def open_journal_file(disk: Disk, name: str, lanes: int, *, create: bool = False) -> JournalFile:
    """A file of the ring, opened as often as it may be synced at one time. Raises OSError, and leaves nothing open."""
    openings: list[File] = []
    try:
        for _ in range(lanes):
            openings.append(disk.open(name, create=create))  # noqa: PERF401  # what was opened is closed below
    except OSError:
        for opening in openings:
            opening.close()
        raise
    return JournalFile(name, openings, is_new=create)


class Journal:
    """The writing side. `sequence` is the last frame's."""

    def __init__(self, disk: Disk, format: FrameFormat, file_bytes: int, *, promises: bool) -> None:
        self._disk = disk
        self._promises = promises
        self._lanes = lanes_of(promises=promises)
        self._format = format
        self._file_bytes = file_bytes
        self._free: deque[JournalFile] = deque()
        self._full: deque[JournalFile] = deque()
        self._current: JournalFile | None = None
        self._next_number = 0
        self._spare_begun = False
        self.sequence = FIRST_SEQUENCE
        self.durable = FIRST_SEQUENCE
        self.floor = 0

    def start(self, files: Sequence[JournalFile], sequence: int) -> None:
        """Go on behind the sequence; everything in these files is taken to be unnecessary by now."""
        self._free.extend(files)
        self._next_number = 1 + max((file.number for file in files), default=-1)
        self.sequence = self.durable = sequence
        self.floor = sequence + 1

    @property
    def kept_bytes(self) -> int:
        """How much lies in the journal that no checkpoint has covered."""
        current = self._current.written_bytes if self._current else 0
        return current + sum(full.written_bytes for full in self._full)

    def write(self, parts: Sequence[bytes | memoryview]) -> int:
        """Write one frame; its sequence. A frame that could not be written leaves nothing behind."""
        current = self._current_file()
        durable = self.durable if self._promises else 0
        buffers, size = self._format.encode(self.sequence + 1, durable, self.floor, parts)
        current.file.write(buffers, current.written_bytes, size)
        current.written_bytes += size
        self.sequence += 1
        current.last_sequence = self.sequence
        return self.sequence

    def erase_failed_write(self) -> None:
        """Take away what a failed write may have left: only padding may be missing, and it would count as a frame."""
        if self._current is not None:
            self._current.file.truncate(self._current.written_bytes)
            self._current.file.sync()

    def _current_file(self) -> JournalFile:
        current = self._current
        if current is not None and current.written_bytes < self._file_bytes:
            return current
        try:
            following = self._free.popleft() if self._free else self._new_file()
        except OSError as error:
            if current is None or not is_out_of_files(error):
                raise
            # It may grow: a file of the ring is written over as soon as it is superfluous, however large it became.
            return current
        if current is not None:
            self._full.append(current)
        self._current = following
        return following

    def _new_file(self) -> JournalFile:
        name = self._new_name()
        return open_journal_file(self._disk, name, self._lanes, create=True)

    def _new_name(self) -> str:
        self._next_number += 1
        return f"{FOLDER}/{self._next_number - 1:04d}"

    def begin_spare(self) -> "SpareFile | None":
        """A file to be made ready for when the current one is full; None while there is one."""
        if self._free or self._spare_begun:
            return None
        self._spare_begun = True
        return SpareFile(self._disk, self._new_name(), self._file_bytes, self._lanes)

    def finish_spare(self, spare: "SpareFile") -> None:
        self._spare_begun = False
        if spare.made is not None:
            self._free.append(spare.made)

    def unsynced_files(self) -> list[JournalFile]:
        """Files with frames behind `durable`, in order: what a sync has to reach."""
        files = [full for full in self._full if full.last_sequence > self.durable]
        if self._current is not None and self._current.last_sequence > self.durable:
            files.append(self._current)
        return files

    def release(self, sequence: int) -> None:
        """Everything up to the sequence is safe elsewhere: its files may be written over."""
        self.floor = max(self.floor, sequence + 1)
        while self._full and self._full[0].last_sequence <= sequence:
            self._recycle(self._full.popleft())
        if self._current is not None and self._current.last_sequence <= sequence:
            self._recycle(self._current)
            self._current = None

    def _recycle(self, released: JournalFile) -> None:
        released.written_bytes = 0
        released.last_sequence = -1
        self._free.append(released)

    def close(self) -> None:
        for opened in (*self._free, *self._full, *([self._current] if self._current else [])):
            opened.close()
        self._free.clear()
        self._full.clear()
        self._current = None


class SpareFile:
    """A new file of the ring, filled with zeroes, so that it has its blocks before it is needed. Made elsewhere."""

    def __init__(self, disk: Disk, name: str, size_bytes: int, lanes: int) -> None:
        self._disk = disk
        self._name = name
        self._size_bytes = size_bytes
        self._lanes = lanes
        self.made: JournalFile | None = None
        self.failure: SyncFailed | None = None

    def run(self) -> None:
        """Without room for it, or on a disk that fails, there is no spare; who writes meets the reason himself. But a
        sync that failed may be the only one that says so."""
        try:
            made = open_journal_file(self._disk, self._name, self._lanes, create=True)
        except OSError:
            return
        try:
            zeroes = bytes(min(self._size_bytes, SPARE_WRITE_BYTES))
            for position in range(0, self._size_bytes, len(zeroes)):
                made.file.write((zeroes,), position, len(zeroes))
            with syncing():
                made.file.sync()
        except OSError as error:
            made.close()
            if isinstance(error, SyncFailed):
                self.failure = error
            else:
                self._disk.remove(self._name)
            return
        self.made = made

    def discard(self) -> None:
        """Give its room back."""
        if self.made is not None:
            self.made.close()
            self._disk.remove(self._name)
            self.made = None


def sync_files(disk: Disk, files: Sequence[JournalFile], lane: int) -> None:
    """Make the files durable; runs in a thread that waits for the disk."""
    if any(file.is_new for file in files):
        disk.sync_folder(FOLDER)
    for file in files:
        file.sync(lane)
        file.is_new = False


def open_files(disk: Disk, *, promises: bool) -> list[JournalFile]:
    """The ring as an earlier life left it."""
    return [open_journal_file(disk, name, lanes_of(promises=promises)) for name in sorted(disk.names(FOLDER))]


def lanes_of(*, promises: bool) -> int:
    """How many syncs there may be at one time."""
    return SYNCS_AT_ONCE if promises else 1


class JournalFrame(NamedTuple):
    """A frame and the file it is in."""

    file: JournalFile
    frame: Frame

    @property
    def sequence(self) -> int:
        return self.frame.sequence

    def entries(self) -> Iterator[Entry]:
        return decode_entries(self.frame.payload(self.file.file))


def frames_behind(
    format: FrameFormat, files: Sequence[JournalFile], sequence: int
) -> tuple[list[JournalFrame], JournalFrame | None]:
    """All frames behind the sequence, without a gap; and the last frame of the chain, which may be the one of that
    sequence."""
    runs = [(run, file) for file in files if (run := format.run(file.file))]
    sequence = max([sequence, *(run[-1].floor - 1 for run, _ in runs)])
    found: list[JournalFrame] = []
    last: JournalFrame | None = None
    for run, file in sorted(runs, key=lambda pair: pair[0][0].sequence):
        expected = found[-1].sequence + 1 if found else sequence + 1
        if run[0].sequence > expected:
            break
        found += [JournalFrame(file, frame) for frame in run if frame.sequence >= expected]
        if run[-1].sequence >= sequence:
            last = JournalFrame(file, run[-1])
    return found, last


def stray_frames(
    format: FrameFormat, files: Sequence[JournalFile], last: JournalFrame | None, sequence: int
) -> list[JournalFrame]:
    """Whole frames behind the sequence that do not follow the last one, in order."""
    strays: dict[int, JournalFrame] = {}
    for file in files:
        begin = last.frame.next_position if last is not None and file is last.file else 0
        for frame in format.find(file.file, begin):
            if frame.sequence > sequence:
                strays[frame.sequence] = JournalFrame(file, frame)
    return [strays[number] for number in sorted(strays)]
