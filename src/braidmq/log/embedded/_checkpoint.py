"""Checkpoints: the written segments are synced, the manifest says so, and the journal up to there is free again.

Begun and finished between turns by the engine's thread; `run` waits for the disk and may be anywhere. What a checkpoint
writes is decided when it begins, so that the log goes on changing while it runs.
"""

from typing import NamedTuple
from uuid import UUID

from braidmq.log.embedded._disk import Disk, Written
from braidmq.log.embedded._engine import Engine
from braidmq.log.embedded._health import SyncFailed, is_out_of_files, syncing
from braidmq.log.embedded._manifest import (
    Edit,
    GroupEdit,
    JournalEdit,
    Manifest,
    PartitionEdit,
    TopicEdit,
)
from braidmq.log.embedded._segment import FOLDER, Segment

MARKS_WORTH_SAVING = 64
SYNC_AHEAD_BYTES = 2 * 1024 * 1024
"""How much the disk is given at a time while nothing else is written to the segments."""
WRITE_OUT_BYTES_MAX = 64 * 1024 * 1024
"""About how much is written out in one go."""


class _Sync(NamedTuple):
    """A segment to be synced, and how large it was when that was decided."""

    segment: Segment
    size_bytes: int
    written: Written | None
    """None where its file is not open."""


class _Marks(NamedTuple):
    """Marks to be added to an index file, or to begin it with."""

    segment: Segment
    block: bytes
    is_first: bool


class WriteOut:
    """What a checkpoint will have to sync is brought to the disk before it begins, while the log goes on writing: some
    of it, in each of these. What came meanwhile is left to the next, or to the checkpoint."""

    def __init__(self, engine: Engine, ahead_bytes: int) -> None:
        self._disk = engine.disk
        self._ahead_bytes = ahead_bytes
        self._stretches: list[tuple[Segment, Written]] = []
        self.found_bytes = 0
        """How much there was that had not been brought to the disk."""
        size_bytes = 0
        for partition in engine.partitions.values():
            for segment in partition.segments:
                written = written_since(segment) if segment.dirty else None
                if written is None:
                    continue
                self.found_bytes += written.end - written.begin
                if size_bytes < WRITE_OUT_BYTES_MAX and written.end > written.begin:
                    size_bytes += written.end - written.begin
                    self._stretches.append((segment, written))

    def begin(self) -> None:
        """Nobody closes the files until `finish`."""
        for segment, _ in self._stretches:
            segment.pins += 1

    def run(self) -> None:
        """Raises OSError where the disk could not write: it may not say so again."""
        with syncing():
            self._disk.write_out([written for _, written in self._stretches], self._ahead_bytes)

    def finish(self) -> None:
        for segment, written in self._stretches:
            segment.pins -= 1
            segment.written_out_bytes = written.end


def written_since(segment: Segment) -> Written | None:
    """What the disk has not been given yet; None where the file is not open."""
    return None if segment.file is None else Written(segment.file, segment.written_out_bytes, segment.size_bytes)


class Checkpoint:
    """One checkpoint. With `edits` alone it only adds these to the manifest."""

    def __init__(self, disk: Disk, manifest: Manifest) -> None:
        self._disk = disk
        self._manifest = manifest
        self.edits: list[Edit] = []
        self.is_full_picture = False
        self.syncs: list[_Sync] = []
        self.marks: list[_Marks] = []
        self.sync_folder = False
        self.doomed: list[Segment] = []
        self.dirty_groups: dict[str, None] = {}
        self.journal_sequence = -1

    def run(self) -> None:
        """Raises OSError. The order is what makes it safe: data, folder, manifest, and only then the removals."""
        opened = [sync.written for sync in self.syncs if sync.written is not None]
        with syncing():
            # All blocks are given out before the first sync waits for the file system to note them.
            self._disk.write_out(opened, SYNC_AHEAD_BYTES)
            self._disk.sync_many([written.file for written in opened])
        for sync in self.syncs:
            if sync.written is None:
                self._open_and_sync(sync.segment)
        if self.sync_folder:
            with syncing():
                self._disk.sync_folder(FOLDER)
        for marks in self.marks:
            self._save_marks(marks)
        if self.is_full_picture:
            self._manifest.rewrite(self.edits)
        else:
            self._manifest.append(self.edits)
        for segment in self.doomed:
            self._disk.remove(segment.name)
            self._disk.remove(segment.index_name)
        if self.doomed:
            with syncing():
                self._disk.sync_folder(FOLDER)

    def _open_and_sync(self, segment: Segment) -> None:
        try:
            file = self._disk.open(segment.name)
        except OSError as error:
            if is_out_of_files(error):
                raise
            raise SyncFailed(error.errno, f"a file to be synced cannot be opened: {error.strerror}") from error
        try:
            with syncing():
                file.sync()
        finally:
            file.close()

    def _save_marks(self, marks: _Marks) -> None:
        """Not synced: what is missing or wrong here is found again in the segment."""
        file = self._disk.open(marks.segment.index_name, create=True)
        try:
            if marks.is_first:
                file.truncate(0)
            file.write((marks.block,), file.size(), len(marks.block))
        finally:
            file.close()


def begin_checkpoint(engine: Engine, *, clean: bool = False) -> Checkpoint:
    """Everything that changed since the last one. No turn may be in hand, and no tail unwritten."""
    checkpoint = Checkpoint(engine.disk, engine.manifest)
    checkpoint.is_full_picture = engine.manifest.wants_rewrite
    checkpoint.journal_sequence = engine.shown_sequence
    checkpoint.sync_folder, engine.folder_dirty = engine.folder_dirty, False
    checkpoint.doomed, engine.doomed = engine.doomed, []
    checkpoint.dirty_groups, engine.dirty_groups = engine.dirty_groups, {}
    engine.unsaved_groups = checkpoint.dirty_groups
    for partition in engine.partitions.values():
        if partition.dirty:
            partition.dirty = False
            engine.unsaved_partitions.add(partition)
            for segment in partition.segments:
                _plan_segment(checkpoint, segment, save_marks=clean or segment is not partition.segments[-1])
            checkpoint.edits.append(PartitionEdit(partition.snapshot()))
        elif checkpoint.is_full_picture and (partition.segments or partition.start_offset):
            checkpoint.edits.append(PartitionEdit(partition.snapshot()))
    groups = engine.groups if checkpoint.is_full_picture else checkpoint.dirty_groups
    checkpoint.edits += [GroupEdit(group, dict(engine.groups.get(group, {}))) for group in groups]
    if checkpoint.is_full_picture:
        checkpoint.edits[:0] = [topic_edit(engine, topic_id) for topic_id in engine.topics]
    checkpoint.edits.append(JournalEdit(checkpoint.journal_sequence, clean))
    return checkpoint


def _plan_segment(checkpoint: Checkpoint, segment: Segment, *, save_marks: bool) -> None:
    """Few new marks of a segment that still grows are not worth a file: they are quickly found again. One that grows no
    more may have been synced before that was known."""
    if segment.dirty:
        segment.pins += 1
        checkpoint.syncs.append(_Sync(segment, segment.size_bytes, written_since(segment)))
    index = segment.index
    if index is not None and (save_marks or len(index) - index.saved >= MARKS_WORTH_SAVING):
        is_first = index.covers_from == 0 and index.saved == 0
        if block := index.unsaved_block():
            checkpoint.marks.append(_Marks(segment, block, is_first))


def begin_edit(engine: Engine, edits: list[Edit]) -> Checkpoint:
    """Only these edits; files that they make superfluous go with the next full checkpoint."""
    checkpoint = Checkpoint(engine.disk, engine.manifest)
    checkpoint.edits = edits
    return checkpoint


def finish_checkpoint(engine: Engine, checkpoint: Checkpoint, error: OSError | None) -> None:
    """Take note that it ran, or of why it did not: it is tried again later where the disk was full or too many files
    were open, and never where the disk failed."""
    for segment, size_bytes, _ in checkpoint.syncs:
        segment.pins -= 1
        if error is None:
            segment.written_out_bytes = size_bytes
            segment.dirty = segment.size_bytes != size_bytes
    for marks in checkpoint.marks:
        if error is None and marks.segment.file is None:
            marks.segment.let_marks_go()  # its file was closed when they were not on disk yet
    for segment in checkpoint.doomed:
        if not segment.pins:
            engine.files.close(segment)
    if checkpoint.journal_sequence >= 0:
        engine.unsaved_groups = {}
        engine.unsaved_partitions = set()
    if error is None:
        if checkpoint.journal_sequence >= 0:
            engine.journal.release(checkpoint.journal_sequence)
        return
    engine.note_write_error(error, "a checkpoint")
    if engine.failure is not None:
        return
    engine.doomed += checkpoint.doomed
    engine.dirty_groups |= checkpoint.dirty_groups
    engine.folder_dirty = engine.folder_dirty or checkpoint.sync_folder
    for edit in checkpoint.edits:
        if isinstance(edit, PartitionEdit) and (again := engine.partitions.get(edit.snapshot.number)) is not None:
            again.dirty = True


def topic_edit(engine: Engine, topic_id: UUID) -> TopicEdit:
    numbers = engine.topics[topic_id]
    return TopicEdit(topic_id, list(numbers), engine.partitions[numbers[0]].policy)
