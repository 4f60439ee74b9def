"""A turn of the engine, what it writes to the journal besides batches, and the wait for the disk that ends it."""

import time
from collections.abc import Callable, Mapping

import msgspec

from braidmq.log._port import AppendResult, GroupOffset
from braidmq.log.embedded import _journal as journal
from braidmq.log.embedded._disk import Disk
from braidmq.log.embedded._partition import PartitionLog
from braidmq.model import BraidError

Answer = Callable[[list[AppendResult]], None]
Done = Callable[[BraidError | None], None]

Slot = tuple[PartitionLog, list[AppendResult], int]
"""Where the answer for one appended batch goes, so that it can be changed when the write fails."""

WHOLE = -1
"""In place of a partition's number: these are all offsets of the group."""


class Turn:
    """Everything between two commits."""

    __slots__ = ("answers", "marks", "notes", "partitions", "sequence", "size_bytes", "slots")

    def __init__(self) -> None:
        self.partitions: list[PartitionLog] = []
        self.answers: list[tuple[Answer, list[AppendResult]]] = []
        self.notes: list[JournalNote] = []
        self.marks: list[tuple[PartitionLog, int]] = []
        """How far readers may see once the turn is kept."""
        self.slots: list[Slot] = []
        """A batch that is kept has one."""
        self.sequence = 0
        self.size_bytes = 0


class JournalNote:
    """A change that is no batch: kept in the journal, applied when the turn is shown."""

    __slots__ = ("apply", "done", "parts")

    def __init__(self, parts: list[bytes], apply: Callable[[], None], done: Done) -> None:
        self.parts = parts
        self.apply = apply
        self.done = done


class SyncJob:
    """One wait for the disk; `run` may be called in another thread, and beside that of other lanes."""

    __slots__ = ("_disk", "_files", "has_ended", "lane", "sequence", "took_us")

    def __init__(self, disk: Disk, sequence: int, files: list[journal.JournalFile], lane: int) -> None:
        self._disk = disk
        self._files = files
        self.lane = lane
        self.has_ended = False
        self.sequence = sequence
        self.took_us = 0

    def descriptors(self) -> list[int] | None:
        """What the system is to sync, and nothing else; None where there is more to it, and `run` must be called."""
        found: list[int] = []
        for file in self._files:
            descriptor = None if file.is_new else file.descriptor(self.lane)
            if descriptor is None:
                return None
            found.append(descriptor)
        return found

    def run(self) -> None:
        """Raises OSError, after which nothing may be trusted that was not known to be durable before."""
        began = time.perf_counter_ns()
        journal.sync_files(self._disk, self._files, self.lane)
        self.took_us = (time.perf_counter_ns() - began) // 1000


def offsets_entry(group: str, offsets: Mapping[int, GroupOffset | None], *, whole: bool = False) -> list[bytes]:
    """A group's offsets for the journal; with `whole`, they replace all that it had."""
    payload = msgspec.msgpack.encode((group, {WHOLE: None, **offsets} if whole else offsets))
    return [journal.encode_entry(journal.GROUP_OFFSETS, journal.NO_TOPIC, 0, 0, 0, len(payload)), payload]


def start_entry(partition: PartitionLog, start_offset: int) -> bytes:
    """A partition's start for the journal."""
    return journal.encode_entry(
        journal.START_OFFSET, partition.topic_id, partition.index, start_offset, start_offset, 0
    )
