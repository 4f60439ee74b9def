"""The embedded log's engine driven step by step in one thread: what happens when, and what lies on disk then, is exact.

The event loop and the threads of `EmbeddedLog` only decide the order of these steps; here a test decides it.
"""

from collections.abc import Generator, Mapping
from typing import NamedTuple, TypeVar

from braidmq.log import Appended, AppendResult, GroupOffset
from braidmq.log.embedded import LogOptions, Recovery
from braidmq.log.embedded._checkpoint import begin_checkpoint, begin_edit, finish_checkpoint, topic_edit
from braidmq.log.embedded._engine import Engine
from braidmq.log.embedded._frames import FrameFormat
from braidmq.log.embedded._lock import read_salt
from braidmq.log.embedded._reader import Answer, Got, LoadIndex, Request, build_index, read_steps
from braidmq.log.embedded._recovery import recover
from braidmq.model import BraidError
from braidmq.model.errors import DamagedLog
from braidmq.records import Batch
from faults.log.batches import BORN_MS, TOPIC_ID, policy, split_served
from faults.log.disks import MemoryDisk

T = TypeVar("T")
READ_BYTES = 1 << 20
OFFSETS_MAX = 100_000
"""No test writes so many; a log that says so is wrong, and reading it would not end."""


class Served(NamedTuple):
    """All that a partition gives away: its batches in order, and the ranges of offsets that were refused."""

    start: int
    end: int
    batches: list[Batch]
    refused: list["Refused"]


class Refused(NamedTuple):
    first_offset: int
    end_offset: int
    path: str
    position: int


class BareLog:
    """An engine on a disk in memory, just opened."""

    def __init__(self, disk: MemoryDisk, options: LogOptions, now_ms: int = BORN_MS) -> None:
        self.disk = disk
        self.now_ms = now_ms
        self.engine = Engine(disk, FrameFormat(read_salt(disk, _same_salt)), options, lambda: self.now_ms)
        self.recovery: Recovery = recover(self.engine)

    def create(self, numbers: tuple[int, ...], segment_bytes: int) -> None:
        """One topic with these partitions, known to the manifest."""
        self.engine.add_partitions(TOPIC_ID, numbers, policy(segment_bytes))
        begin_edit(self.engine, [topic_edit(self.engine, TOPIC_ID)]).run()

    # Writing.

    def append(self, entries: list[tuple[int, Batch]]) -> list[Appended]:
        """One turn, kept: written and, where that is promised, synced."""
        answers: list[AppendResult] = []
        self.engine.append(entries, answers.extend)
        self.settle()
        return [_taken(answer) for answer in answers]

    def commit_offset(self, group: str, number: int, offset: int) -> None:
        self.engine.note_offsets(group, {number: GroupOffset(offset)}, _must_succeed)
        self.settle()

    def delete_records(self, number: int, before_offset: int) -> None:
        self.engine.note_start(self.engine.partitions[number], before_offset, _must_succeed)
        self.settle()

    def settle(self) -> None:
        """Commit the turn in hand and wait for the disk."""
        while self.engine.commit_turn() or self.engine.has_unsynced:
            job = self.engine.begin_sync()
            assert job is not None
            job.run()
            self.engine.synced(job)

    def flush(self) -> None:
        """Write all tails to the segments; without a promise, the journal is free again."""
        job = self.engine.begin_flush(everything=True)
        job.run()
        self.engine.finish_flush(job)
        if self.engine.options.flush == "interval":
            self.engine.release_flushed(job)

    def checkpoint(self, *, clean: bool = False) -> None:
        self.flush()
        checkpoint = begin_checkpoint(self.engine, clean=clean)
        checkpoint.run()
        finish_checkpoint(self.engine, checkpoint, None)

    # Reading.

    def read(self, number: int, offset: int, bytes_max: int = READ_BYTES) -> list[Batch]:
        steps = read_steps(self.disk, self.engine.partitions[number], offset, bytes_max, committed=False)
        return split_served(self._drive(steps).data, offset)

    def _drive(self, steps: Generator[Request, Answer, T]) -> T:
        try:
            request = next(steps)
            while True:
                request = steps.send(self._answer(request))
        except StopIteration as stop:
            result: T = stop.value
            return result

    def _answer(self, request: Request) -> Answer:
        file = self.engine.files.open(request.segment)
        if isinstance(request, LoadIndex):
            return build_index(self.disk, file, request)
        return Got(file.read(request.size, request.position), from_disk=True)

    def serve(self, number: int, bytes_max: int = READ_BYTES) -> Served:
        """Read the whole partition as a consumer that asks for the next offset wherever it is refused."""
        start, _, end = self.engine.partitions[number].bounds()
        batches: list[Batch] = []
        refused: list[Refused] = []
        offset = start
        assert end - start < OFFSETS_MAX, f"partition {number} ends at {end}, which nobody wrote"
        while offset < end:
            try:
                found = self.read(number, offset, bytes_max)
            except DamagedLog as error:
                _note_refusal(refused, offset, error)
                offset += 1
                continue
            assert found, f"nothing was served at offset {offset} of {start} to {end}"
            batches += found
            offset = found[-1].last_offset + 1
        return Served(start, end, batches, refused)

    def group_offset(self, group: str, number: int) -> int:
        kept: Mapping[int, GroupOffset] = self.engine.groups.get(group, {})
        return kept[number].offset if number in kept else -1


def _same_salt(size: int) -> bytes:
    return b"\x5a\x17braid"[:size].ljust(size, b"!")


def _taken(answer: AppendResult) -> Appended:
    if isinstance(answer, BraidError):
        raise answer
    return answer


def _must_succeed(error: BraidError | None) -> None:
    if error is not None:
        raise error


def _note_refusal(refused: list[Refused], offset: int, error: DamagedLog) -> None:
    """Offsets that are refused for the same reason are one range."""
    assert error.path, "a refusal names the file"
    assert error.position >= 0, "a refusal names the byte"
    assert error.path in error.message
    assert str(error.position) in error.message
    last = refused[-1] if refused else None
    if last is not None and (last.end_offset, last.path, last.position) == (offset, error.path, error.position):
        refused[-1] = last._replace(end_offset=offset + 1)
    else:
        refused.append(Refused(offset, offset + 1, error.path, error.position))
