"""Compaction: of every key, the last record stays. Sealed segments are written anew without what was superseded.

Only what committed readers can see is touched. Offsets stay as they are, so gaps appear; a batch keeps the range it
had. Records of aborted transactions go; deletions (records without a value) and transaction markers stay until they
have been through one compaction and are older than `delete.retention.ms`, so that a reader who is slow still learns of
them.

The new files are of the next generation. They count from the checkpoint on whose manifest names them; a crash before
that leaves the old files in force, and the new ones are removed by the recovery.
"""

import contextlib
import time
from collections.abc import Callable, Iterator

from braidmq.log._policy import Policy
from braidmq.log._retention import free_offset
from braidmq.log._survivors import Survivors, is_compaction_due, may_be_compacted
from braidmq.log.embedded._disk import Disk, File
from braidmq.log.embedded._engine import Engine
from braidmq.log.embedded._health import SyncFailed, syncing
from braidmq.log.embedded._partition import PartitionLog
from braidmq.log.embedded._segment import Segment, StoredBatch, Unreadable, scan
from braidmq.log.embedded._tail import TailBatch, tail_buffers
from braidmq.model.errors import DamagedLog
from braidmq.records import Batch

KEYS_MAX = 1_000_000
"""How many different keys one pass keeps in mind; what lies behind the key that was one too many waits for the next."""


class GivenUp(Exception):
    """Nobody waits for what the compaction would make."""


class Compaction:
    """One pass over the sealed segments of a partition; `run` only reads old files and writes new ones."""

    def __init__(
        self,
        disk: Disk,
        segments: list[Segment],
        partition: PartitionLog,
        now_ms: int,
        *,
        keys_max: int = KEYS_MAX,
        is_unwanted: Callable[[], bool] = lambda: False,
    ) -> None:
        self._disk = disk
        self._is_unwanted = is_unwanted
        self._policy: Policy = partition.policy
        self._cleaned_before = partition.compacted_offset
        aborted = partition.producers.aborted if partition.producers else ()
        self._survivors = Survivors(partition.policy, aborted, partition.compacted_offset, now_ms)
        self._generation = partition.next_generation
        self._keys_max = keys_max
        self._output: Segment | None = None
        self._output_file: File | None = None
        self.segments = segments
        self.outputs: list[Segment] = []
        self.compacted_offset = partition.compacted_offset

    def run(self) -> None:
        """Raises OSError, DamagedLog and GivenUp, after which `give_up` tidies up."""
        covered = self._find_newest()
        self.segments = self.segments[:covered]
        try:
            for segment in self.segments:
                self._rewrite(segment)
            self._finish_output()
        finally:
            self._close_output()

    def abandon(self) -> None:
        """Nothing refers to the new files. One that cannot be removed is written over by the next compaction."""
        for segment in self.outputs:
            with contextlib.suppress(OSError):
                self._disk.remove(segment.name)

    def _find_newest(self) -> int:
        """Learn the last offset of each key; how many segments could be taken in whole."""
        for count, segment in enumerate(self.segments):
            if segment.end_offset > self._cleaned_before:
                for batch in self._batches(segment):
                    self._survivors.learn(batch)
                if self._survivors.keys > self._keys_max and count > 0:
                    return count
            self.compacted_offset = max(self.compacted_offset, segment.end_offset)
        return len(self.segments)

    def _batches(self, segment: Segment) -> Iterator[Batch]:
        file = self._disk.open(segment.name)
        try:
            for found in scan(file, 0, segment.size_bytes, segment.base_offset, gaps=True):
                if isinstance(found, Unreadable):
                    path = self._disk.describe(segment.name)
                    raise DamagedLog(
                        f"{path} is damaged at byte {found.position}: {found.reason}",
                        path=path,
                        position=found.position,
                    )
                assert isinstance(found, StoredBatch)
                if self._is_unwanted():
                    raise GivenUp
                yield found.batch
                # Decoding holds the interpreter; the event loop gets its turn between two batches.
                time.sleep(0)
        finally:
            file.close()

    def _rewrite(self, segment: Segment) -> None:
        for batch in self._batches(segment):
            kept = self._survivors.kept(batch)
            if kept is not None:
                self._write(segment, kept)
        if self._output is not None:
            self._output.end_offset = segment.end_offset

    def _write(self, source: Segment, batch: Batch) -> None:
        output = self._output
        if output is None or output.size_bytes + batch.size_bytes > self._policy.segment_bytes:
            output = self._begin_output(source, batch)
        assert self._output_file is not None
        output.note_batch(batch, batch.base_offset, output.size_bytes)
        stored = tail_buffers((TailBatch(batch.base_offset, memoryview(batch.data), batch.size_bytes),))
        self._output_file.write(stored, output.size_bytes, batch.size_bytes)
        output.size_bytes += batch.size_bytes
        output.end_offset = batch.last_offset + 1

    def _begin_output(self, source: Segment, batch: Batch) -> Segment:
        self._finish_output()
        base_offset = batch.base_offset if self.outputs else self.segments[0].base_offset
        output = Segment(source.number, base_offset, self._generation, created_ms=source.created_ms)
        self.outputs.append(output)
        self._output = output
        self._output_file = self._disk.open(output.name, create=True)
        return output

    def _finish_output(self) -> None:
        if self._output_file is not None:
            with syncing():
                self._output_file.sync()
        self._close_output()

    def _close_output(self) -> None:
        if self._output_file is not None:
            self._output_file.close()
            self._output_file = None
            self._output = None


def begin_compaction(engine: Engine, partition: PartitionLog) -> Compaction | None:
    """A pass over what can be compacted, if enough of it is new."""
    now_ms = engine.now_ms()
    free = free_offset(partition.policy, engine.groups, partition.number)
    sealed = _compactable(partition, now_ms, free)
    new = [segment for segment in sealed if segment.end_offset > partition.compacted_offset]
    new_bytes = sum(segment.size_bytes for segment in new)
    total_bytes = sum(segment.size_bytes for segment in sealed)
    since_ms = new[0].created_ms if new else now_ms
    if not is_compaction_due(partition.policy, new_bytes, total_bytes, since_ms, now_ms):
        return None

    def is_unwanted() -> bool:
        return engine.closing or engine.partitions.get(partition.number) is not partition

    return Compaction(engine.disk, sealed, partition, now_ms, is_unwanted=is_unwanted)


def _compactable(partition: PartitionLog, now_ms: int, free: int) -> list[Segment]:
    """The segments, from the first on, that nothing in them forbids to compact, and nobody has to see before."""
    stable_offset = min(partition.bounds().stable, free)
    sealed: list[Segment] = []
    for segment in partition.segments[:-1]:
        latest_ms = segment.latest_ms if segment.latest_ms >= 0 else segment.created_ms
        is_young = not may_be_compacted(partition.policy, latest_ms, now_ms)
        if segment.end_offset > stable_offset or partition.damage or is_young:
            break
        if segment.size_bytes:
            sealed.append(segment)
    return sealed


def give_up(engine: Engine, job: Compaction, error: Exception) -> None:
    """It did not come to its end; the old segments stay in force. Where the disk did not keep what it had been given,
    nothing else is trusted either."""
    job.abandon()
    if isinstance(error, SyncFailed):
        engine.fail(error, "a compaction")


def finish_compaction(engine: Engine, partition: PartitionLog, job: Compaction) -> bool:
    """Put the new segments in the place of the old; False when the old are no longer there."""
    first = next((at for at, segment in enumerate(partition.segments) if segment is job.segments[0]), None)
    if first is None or partition.segments[first : first + len(job.segments)] != job.segments:
        job.abandon()
        return False
    for segment in job.outputs:
        # Its bytes are synced; as "dirty" the next checkpoint saves its marks.
        segment.dirty = True
    partition.segments[first : first + len(job.segments)] = job.outputs
    for segment in job.segments:
        engine.doom(segment)
    partition.compacted_offset = job.compacted_offset
    partition.next_generation += 1
    partition.hints = None
    partition.dirty = True
    engine.folder_dirty = True
    return True
