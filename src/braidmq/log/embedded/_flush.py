"""Flushing: the batches that only the journal and memory hold are written to the files of their segments.

It happens behind the back of the writers, in another thread and for many batches of a partition at once, because a
small write to each of a thousand files costs more than twice as much as few large ones. All writes of a job are one
call where that is compiled, so that the thread really runs beside the others.
"""

from typing import NamedTuple

from braidmq.log.embedded._disk import Disk, File, Write
from braidmq.log.embedded._health import is_out_of_files
from braidmq.log.embedded._partition import PartitionLog
from braidmq.log.embedded._segment import Segment
from braidmq.log.embedded._tail import TailBatch

FLUSH_BYTES = 128 * 1024
"""A partition with so much in its tail is due."""
DIRECT_BYTES = 64 * 1024
"""So much for one partition in one turn is written to its file at once, where nothing is promised."""


class TailWrite(NamedTuple):
    """The beginning of a partition's tail, to be written to its last segment."""

    partition: PartitionLog
    segment: Segment
    file: File | None
    batches: list[TailBatch]
    position: int
    size_bytes: int
    end_offset: int


def plan_write(partition: PartitionLog) -> TailWrite | None:
    """All of the tail that is not part of the turn in hand; None when there is nothing to write."""
    pending = partition.pending
    count = len(partition.tail) if pending is None else pending.tail_before
    if not count:
        return None
    end_offset = partition.end_offset if pending is None else pending.end_before
    size_bytes = partition.tail_bytes if pending is None else partition.tail_bytes - pending.size_bytes
    segment = partition.segments[-1]
    return TailWrite(
        partition, segment, segment.file, partition.tail[:count], segment.size_bytes, size_bytes, end_offset
    )


class FlushJob:
    """Many writes, made in another thread. `sequence`: with it done, frames up to there are in the segments' files."""

    def __init__(self, disk: Disk, writes: list[TailWrite], sequence: int, files_max: int) -> None:
        self._disk = disk
        self._files_max = files_max
        self.writes = writes
        self.sequence = sequence
        self.opened: dict[int, File] = {}
        """Files that had to be opened and may stay open, by the number of the write."""
        self.done = 0
        """How many of the writes succeeded; with `error` set, the next one did not."""
        self.error: OSError | None = None

    def run(self) -> None:
        together: list[Write] = []
        for number, write in enumerate(self.writes):
            try:
                file = write.file or self._open(number, write)
            except OSError as error:
                if not self._write(together):
                    return
                together = []
                opened = self._open_after_all(number, write, error)
                if opened is None:
                    return
                file = opened
            together.append(Write(file, write.batches, write.position))
            if write.file is None and number not in self.opened:
                is_written = self._write(together)
                file.close()
                together = []
                if not is_written:
                    return
        self._write(together)

    def _open(self, number: int, write: TailWrite) -> File:
        file = self._disk.open(write.segment.name, create=write.position == 0)
        if len(self.opened) < self._files_max:
            self.opened[number] = file
        return file

    def _open_after_all(self, number: int, write: TailWrite, error: OSError) -> File | None:
        """Where no more files may be open, those that this job opened make room: they have been written."""
        if is_out_of_files(error) and self.opened:
            for file in self.opened.values():
                file.close()
            self.opened.clear()
            self._files_max = 0
            try:
                return self._open(number, write)
            except OSError as again:
                error = again
        self.error = error
        return None

    def _write(self, together: list[Write]) -> bool:
        done, self.error = self._disk.write_many(together)
        self.done += done
        return self.error is None
