"""The manifest: what is known to be on disk outside the journal. A file of frames, each a list of edits; the first is
a full picture, those behind it are changes. It is written anew, under the next number, when the changes outgrow the
picture.

A partition's snapshot holds all that its segments do not say by themselves, so that a start needs to open none of them.
"""

from collections.abc import Iterable
from typing import ClassVar
from uuid import UUID

import msgspec

from braidmq.log._policy import Policy
from braidmq.log._port import GroupOffset
from braidmq.log._producers import AbortedRange, Producer
from braidmq.log.embedded._disk import Disk, File
from braidmq.log.embedded._frames import FIRST_SEQUENCE, FrameFormat
from braidmq.log.embedded._health import syncing
from braidmq.model.errors import DamagedLog

FOLDER = "manifest"
REWRITE_BYTES_MIN = 4 * 1024 * 1024


class SegmentSnapshot(msgspec.Struct, frozen=True, array_like=True):
    base_offset: int
    generation: int
    size_bytes: int
    end_offset: int
    latest_ms: int
    created_ms: int


class Damage(msgspec.Struct, frozen=True, array_like=True):
    """A range of offsets that was acknowledged and cannot be read any more, and where it should have been."""

    first_offset: int
    end_offset: int
    path: str
    position: int


class PartitionSnapshot(msgspec.Struct, frozen=True, array_like=True):
    number: int
    start_offset: int
    end_offset: int
    segments: list[SegmentSnapshot]
    producers: dict[int, Producer] = {}
    aborted: list[AbortedRange] = []
    damage: list[Damage] = []
    compacted_offset: int = 0
    next_generation: int = 1


class TopicEdit(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """A topic as it is from now on."""

    topic_id: UUID
    numbers: list[int]
    policy: Policy


class TopicDeleted(msgspec.Struct, frozen=True, array_like=True, tag=2):
    topic_id: UUID


class PartitionEdit(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """A partition as it is on disk."""

    snapshot: PartitionSnapshot


class GroupEdit(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """All offsets of a group; none when it is gone."""

    group: str
    offsets: dict[int, GroupOffset]


class JournalEdit(msgspec.Struct, frozen=True, array_like=True, tag=5):
    """The journal up to this sequence is contained in what the manifest says. `clean`: and there is nothing behind
    it."""

    sequence: int
    clean: bool


Edit = TopicEdit | TopicDeleted | PartitionEdit | GroupEdit | JournalEdit


class Picture:
    """What all edits together say."""

    def __init__(self) -> None:
        self.topics: dict[UUID, TopicEdit] = {}
        self.partitions: dict[int, PartitionSnapshot] = {}
        self.groups: dict[str, dict[int, GroupOffset]] = {}
        self.journal_sequence = FIRST_SEQUENCE
        self.clean = False
        self.damage: list[Damage] = []
        """Edits that cannot be read any more; what they said is found again by looking at the segments."""

    def apply(self, edits: Iterable[Edit]) -> None:
        for edit in edits:
            match edit:
                case TopicEdit():
                    self.topics[edit.topic_id] = edit
                case TopicDeleted():
                    deleted = self.topics.pop(edit.topic_id, None)
                    for number in deleted.numbers if deleted else ():
                        self.partitions.pop(number, None)
                case PartitionEdit():
                    self.partitions[edit.snapshot.number] = edit.snapshot
                case GroupEdit():
                    if edit.offsets:
                        self.groups[edit.group] = edit.offsets
                    else:
                        self.groups.pop(edit.group, None)
                case JournalEdit():
                    self.journal_sequence, self.clean = edit.sequence, edit.clean


class Manifest:
    """The file in use. Written only by one thread at a time, never by the event loop's."""

    _decoder: ClassVar = msgspec.msgpack.Decoder(list[Edit])
    _encoder: ClassVar = msgspec.msgpack.Encoder()

    def __init__(self, disk: Disk, format: FrameFormat) -> None:
        self._disk = disk
        self._format = format
        self._number = 0
        self._file: File | None = None
        self._size_bytes = 0
        self._sequence = 0
        self.rewrite_at_bytes = REWRITE_BYTES_MIN

    def load(self) -> Picture:
        """What the newest manifest says. Raises DamagedLog when there is one and it cannot be read."""
        names = sorted(self._disk.names(FOLDER))
        complete = [name for name in names if not name.endswith(".new")]
        picture = Picture()
        if complete:
            self._read(complete[-1], picture)
        for name in names:
            if not complete or name != complete[-1]:
                self._disk.remove(name)
        return picture

    def _read(self, name: str, picture: Picture) -> None:
        self._number = int(name.rpartition("/")[2])
        self._file = self._disk.open(name)
        self._file.drop_cache()
        frames = self._format.run(self._file)
        if not frames:
            path = self._disk.describe(name)
            raise DamagedLog(
                f"the manifest {path} cannot be read at byte 0; put back a copy of the data folder",
                path=path,
                position=0,
            )
        # Each frame is synced before the next is written: one that cannot be read while a later one can is damaged.
        # What lies behind the last whole frame was never relied on; new frames go over it.
        for later in self._format.find(self._file, frames[-1].next_position):
            if later.sequence > frames[-1].sequence:
                picture.damage.append(Damage(-1, -1, self._disk.describe(name), frames[-1].next_position))
                frames.append(later)
        for frame in frames:
            picture.apply(self._decoder.decode(frame.payload(self._file)))
        picture.clean = picture.clean and not picture.damage
        self._sequence = frames[-1].sequence
        self._size_bytes = frames[-1].next_position

    @property
    def wants_rewrite(self) -> bool:
        return self._file is None or self._size_bytes >= self.rewrite_at_bytes

    def append(self, edits: list[Edit]) -> None:
        """Make the edits durable behind the others."""
        assert self._file is not None, "the first write of a manifest is a rewrite"
        buffers, size = self._format.encode(self._sequence + 1, self._sequence, 0, [self._encoder.encode(edits)])
        self._file.write(buffers, self._size_bytes, size)
        with syncing():
            self._file.sync()
        self._sequence += 1
        self._size_bytes += size

    def rewrite(self, edits: list[Edit]) -> None:
        """Begin a new file with a full picture; it counts from the rename on."""
        name = f"{FOLDER}/{self._number + 1:010d}"
        file = self._disk.open(f"{name}.new", create=True)
        try:
            buffers, size = self._format.encode(1, 0, 0, [self._encoder.encode(edits)])
            file.truncate(0)
            file.write(buffers, 0, size)
            with syncing():
                file.sync()
            self._disk.rename(f"{name}.new", name)
            with syncing():
                self._disk.sync_folder(FOLDER)
        except BaseException:
            file.close()
            raise
        self._replace(file, size)

    def _replace(self, file: File, size: int) -> None:
        if self._file is not None:
            self._file.close()
            self._disk.remove(f"{FOLDER}/{self._number:010d}")
        self._file = file
        self._number += 1
        self._sequence = 1
        self._size_bytes = size
        self.rewrite_at_bytes = max(REWRITE_BYTES_MIN, 3 * size)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
