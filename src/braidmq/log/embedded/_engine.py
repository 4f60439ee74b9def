"""The embedded log without a clock, a thread or an event loop of its own. Hot path: `append` runs for every batch.

A *turn* is what was appended between two calls of `commit_turn`. Committing a turn writes one frame with all of its
batches to the journal. With flush = commit the turn then waits for a `SyncJob`, which another thread may run while new
turns are written; `synced` shows them to readers and answers. With flush = interval it is shown at once.

The batches stay in memory, in the *tail* of their partition, until a `FlushJob` has written them to the segment's file.
Only with flush = interval, a partition that has much to write skips the journal and goes to its file directly.

A full disk is met by the journal before anything is promised: offsets and producers are put back, and the callers hear
StorageFull. What is in a tail then always finds room, because no more is kept in tails than the reserve file sets
aside. Where too many files are open, tails stay what they are until there are fewer. An error of any other kind leaves
the truth unknown: the engine fails for good, answers nothing more, and only a restart, which reads the disk, may go on.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from braidmq.log._policy import Policy, policy_of
from braidmq.log._port import Appended, AppendResult, GroupOffset
from braidmq.log._producers import Producers
from braidmq.log._watches import wake
from braidmq.log.embedded import _journal as journal
from braidmq.log.embedded._disk import Disk, Write
from braidmq.log.embedded._files import OpenFiles
from braidmq.log.embedded._flush import DIRECT_BYTES, FLUSH_BYTES, FlushJob, TailWrite, plan_write
from braidmq.log.embedded._frames import FrameFormat
from braidmq.log.embedded._health import DiskHealth, is_full, is_out_of_files
from braidmq.log.embedded._manifest import Manifest, Picture
from braidmq.log.embedded._options import LogOptions
from braidmq.log.embedded._partition import PartitionLog, Pending
from braidmq.log.embedded._segment import Segment
from braidmq.log.embedded._tail import TailBatch
from braidmq.log.embedded._turn import (
    WHOLE,
    Answer,
    Done,
    JournalNote,
    SyncJob,
    Turn,
    offsets_entry,
    start_entry,
)
from braidmq.model import BraidError, Topic
from braidmq.model.errors import LogClosed, StorageFailed, StorageFull, TooManyFiles, UnknownPartition
from braidmq.records import BATCH_OVERHEAD_BYTES, CHECKS_VIEWS, Batch, Buffer

TURN_BYTES_MAX = 4 * 1024 * 1024
TAIL_BYTES_MAX = 96 * 1024 * 1024


def _kept(data: Buffer) -> bytes | memoryview:
    """What a tail keeps: a view only where it keeps alive little else, and nobody can change it."""
    if CHECKS_VIEWS and type(data) is memoryview and type(data.obj) is bytes and 2 * len(data) >= len(data.obj):
        return data
    return bytes(data)


_new = tuple.__new__
"""Makes a named tuple in a third of the time; for the two that are made for every batch."""


class Engine:
    """See the module's opening. Every method runs in one thread; jobs that wait for the disk may run in others."""

    def __init__(self, disk: Disk, format: FrameFormat, options: LogOptions, now_ms: Callable[[], int]) -> None:
        self.disk = disk
        self.options = options
        self.now_ms = now_ms
        self.partitions: dict[int, PartitionLog] = {}
        self.topics: dict[UUID, tuple[int, ...]] = {}
        self.groups: dict[str, dict[int, GroupOffset]] = {}
        # Sets whose order matters to the disk are kept as dicts: a simulated life goes the same way each time.
        self.dirty_groups: dict[str, None] = {}
        """Changed since a checkpoint last began."""
        self.unsaved_groups: dict[str, None] = {}
        self.unsaved_partitions: set[PartitionLog] = set()
        """Part of a checkpoint that is not finished, like the groups."""
        self.held_bytes: dict[int, int] = {}
        """What the last retention left alone because it is waited for, by partition."""
        self.ready: dict[PartitionLog, None] = {}
        """Partitions whose tails are due to be flushed."""
        self.due_bytes = FLUSH_BYTES
        """How much a tail holds when it is due."""
        self.direct_bytes = DIRECT_BYTES
        self.syncing_segments = False
        """A checkpoint is at it: who writes to a segment now may have to wait for the disk."""
        self.tail_bytes = 0
        self.tail_bytes_max = min(TAIL_BYTES_MAX, options.reserve_bytes * 3 // 4) or TAIL_BYTES_MAX
        self.files = OpenFiles(disk, options.open_files_max)
        self.format = format
        self.journal = journal.Journal(disk, format, options.journal_file_bytes, promises=options.flush == "commit")
        self.manifest = Manifest(disk, format)
        self.folder_dirty = False
        """Segment files were made since the folder was last synced."""
        self.doomed: list[Segment] = []
        """Segments that nothing refers to; their files go once the manifest says so."""
        self.health = DiskHealth(disk, options.reserve_bytes, now_ms)
        self.closing = False
        """No more is begun that may take long, and what is under way and can be left is left."""
        self.closed = False
        self.appended_batches = self.appended_bytes = self.read_bytes = 0
        self.group_commits = self.sync_us_total = 0
        self.shown_sequence = 0
        """The last frame whose turn readers see: what a checkpoint covers."""
        self._durable = options.flush == "commit"
        self._turn: Turn | None = None
        self._unsynced: deque[Turn] = deque()
        self._syncs: deque[SyncJob] = deque()
        """Under way, as they began."""
        self._next_lane = 0

    # Appending.

    def append(self, entries: Sequence[tuple[int, Batch]], answer: Answer) -> bool:
        """Take the batches into the current turn; True when the turn is large enough to be committed at once."""
        turn = self._turn
        if turn is None:
            turn = self._turn = Turn()
        results: list[AppendResult] = []
        refusal = self._refusal()
        now_ms = self.now_ms()
        for number, batch in entries:
            partition = self.partitions.get(number)
            if refusal is not None:
                results.append(refusal)
            elif partition is None:
                results.append(UnknownPartition(f"there is no partition number {number}"))
            elif batch.producer_id >= 0:
                results.append(self._append_of_producer(turn, partition, batch, now_ms, results))
            else:
                results.append(self._take(turn, partition, batch, now_ms, results))
        turn.answers.append((answer, results))
        return turn.size_bytes >= TURN_BYTES_MAX

    def _take(
        self, turn: Turn, partition: PartitionLog, batch: Batch, now_ms: int, results: list[AppendResult]
    ) -> Appended:
        """Give the batch its offsets and put it behind the others of this turn."""
        size = batch.length + BATCH_OVERHEAD_BYTES
        pending = partition.pending
        if pending is None:
            pending = self._begin_pending(turn, partition, size, now_ms)
        base_offset = partition.end_offset
        last_offset = base_offset + batch.last_offset_delta
        partition.end_offset = last_offset + 1
        segment = partition.segments[-1]
        position = segment.size_bytes + partition.tail_bytes
        if position >= segment.next_mark_at:
            segment.mark(base_offset, position)
        if batch.max_timestamp > segment.latest_ms:
            segment.latest_ms = batch.max_timestamp
        data = batch.data
        if type(data) is not bytes:
            data = _kept(data)
        partition.tail.append(_new(TailBatch, (base_offset, data, size)))
        partition.tail_bytes += size
        pending.size_bytes += size
        turn.slots.append((partition, results, len(results)))
        turn.size_bytes += size
        return _new(Appended, (base_offset, last_offset, now_ms, partition.start_offset, False))

    def _append_of_producer(
        self, turn: Turn, partition: PartitionLog, batch: Batch, now_ms: int, results: list[AppendResult]
    ) -> AppendResult:
        producers = partition.producers
        if producers is None:
            producers = partition.producers = Producers()
        before = producers.store_next(batch, partition.end_offset, now_ms)
        if before is None:
            if not batch.is_control and (sent := producers.find_duplicate(batch)) is not None:
                start_offset = partition.start_offset
                return Appended(sent.base_offset, sent.last_offset, sent.append_ms, start_offset, duplicate=True)
            try:
                producers.check(batch)
            except BraidError as error:
                return error
            before = producers.store(batch, partition.end_offset, now_ms)
        taken = self._take(turn, partition, batch, now_ms, results)
        pending = partition.pending
        assert pending is not None
        if pending.producers_before is None:
            pending.producers_before = []
        pending.producers_before.append(before)
        return taken

    def _begin_pending(self, turn: Turn, partition: PartitionLog, size: int, now_ms: int) -> Pending:
        segments = partition.segments
        segment = segments[-1] if segments else None
        if segment is None or (
            segment.size_bytes + partition.tail_bytes + size > partition.policy.segment_bytes
            or now_ms - segment.created_ms >= partition.policy.segment_ms
        ):
            segment = self._roll(partition, segment, now_ms)
        pending = partition.pending = Pending(partition.end_offset, len(partition.tail), segment.latest_ms)
        turn.partitions.append(partition)
        return pending

    def _roll(self, partition: PartitionLog, segment: Segment | None, now_ms: int) -> Segment:
        """A new segment for what comes now, unless the old one is empty or its tail cannot be written just now."""
        if segment is not None:
            has_batches = segment.size_bytes or partition.tail
            if not has_batches or (partition.tail and not self._write_tail_now(partition)):
                return segment
        following = Segment(partition.number, partition.end_offset, created_ms=now_ms)
        partition.segments.append(following)
        return following

    # Changes that are no batches.

    def note_offsets(self, group: str, offsets: Mapping[int, GroupOffset | None], done: Done) -> None:
        """Keep a group's offsets; None forgets one."""

        def apply() -> None:
            self.apply_offsets(group, offsets)

        self._note(offsets_entry(group, offsets), apply, done)

    def apply_offsets(self, group: str, offsets: Mapping[int, GroupOffset | None]) -> None:
        kept = self.groups.setdefault(group, {})
        if WHOLE in offsets:
            kept.clear()
            offsets = {number: offset for number, offset in offsets.items() if number != WHOLE}
        for number, offset in offsets.items():
            if offset is None:
                kept.pop(number, None)
            else:
                kept[number] = offset
        if not kept:
            del self.groups[group]
        self.dirty_groups[group] = None

    def note_start(self, partition: PartitionLog, start_offset: int, done: Done) -> None:
        """Move the start of a partition on."""

        def apply() -> None:
            self.apply_start(partition, start_offset)

        self._note([start_entry(partition, start_offset)], apply, done, deleting=True)

    def apply_start(self, partition: PartitionLog, start_offset: int) -> None:
        """Forget all before the offset; segments that hold nothing else are given up."""
        if start_offset <= partition.start_offset:
            return
        partition.start_offset = start_offset
        partition.dirty = True
        while len(partition.segments) > 1 and partition.segments[1].base_offset <= start_offset:
            self.doom(partition.segments.pop(0))
        partition.hints = None
        partition.damage = tuple(damage for damage in partition.damage if damage.end_offset > start_offset)

    def doom(self, segment: Segment) -> None:
        """The segment is part of nothing any more; its file goes after the next checkpoint."""
        self.doomed.append(segment)

    def _note(self, parts: list[bytes], apply: Callable[[], None], done: Done, *, deleting: bool = False) -> None:
        if (refusal := self._refusal(deleting=deleting)) is not None:
            done(refusal)
            return
        if self._turn is None:
            self._turn = Turn()
        self._turn.notes.append(JournalNote(parts, apply, done))

    # Committing a turn.

    def commit_turn(self) -> bool:
        """Write the turn; True when a sync is now due. Without anything to write it is answered at once."""
        turn, self._turn = self._turn, None
        if turn is None:
            return False
        if self.failure is not None:
            for partition in turn.partitions:
                partition.pending = None
            self._refuse_turn(turn, self.failure)
            return False
        journaled = self._write_journal(turn, self._journaled_partitions(turn))
        for partition in turn.partitions:
            partition.pending = None
        if self.failure is None and (self._unsynced or (journaled and self._durable)):
            # A turn with nothing of its own to wait for may hold a duplicate whose first copy is on its way to the
            # disk.
            turn.sequence = self.journal.sequence
            self._unsynced.append(turn)
            return True
        self._show(turn)
        return False

    def _journaled_partitions(self, turn: Turn) -> list[PartitionLog]:
        """Those whose batches go to the journal: all, unless nothing is promised and there is much to write."""
        if self._durable:
            return turn.partitions
        journaled = []
        for partition in turn.partitions:
            pending = partition.pending
            assert pending is not None
            is_large = pending.size_bytes >= self.direct_bytes
            may_write = is_large and not partition.flushing and not self.syncing_segments
            if not (may_write and self._write_directly(turn, partition)):
                journaled.append(partition)
        return journaled

    def _write_directly(self, turn: Turn, partition: PartitionLog) -> bool:
        """False where the segment's file cannot be opened just now: the journal takes what it cannot."""
        pending, partition.pending = partition.pending, None
        assert pending is not None
        write = plan_write(partition)
        assert write is not None
        try:
            self._write_tail(write)
        except OSError as error:
            partition.pending = pending
            if is_out_of_files(error):
                return False
            self._undo(turn, [partition], self._note_unwritten(error, write.segment))
            return True
        # Batches of earlier turns were counted when they came.
        self.tail_bytes -= write.size_bytes - pending.size_bytes
        turn.marks.append((partition, partition.end_offset))
        return True

    def _write_tail(self, write: TailWrite) -> None:
        segment = write.segment
        file = write.file or self.files.open(segment, create=write.position == 0)
        self.folder_dirty = self.folder_dirty or write.position == 0
        _, error = self.disk.write_many([Write(file, write.batches, write.position)])
        if error is not None:
            raise error
        segment.touched = self.files.tick
        write.partition.tail_written(len(write.batches), write.size_bytes, write.end_offset)

    def _write_journal(self, turn: Turn, partitions: list[PartitionLog]) -> bool:
        """One frame for all of them and for the turn's notes; False when there was nothing, or it was refused."""
        parts: list[bytes | memoryview] = []
        encode = journal.encode_entry
        for partition in partitions:
            pending = partition.pending
            assert pending is not None
            end_offset = partition.end_offset
            parts.append(
                encode(
                    journal.BATCHES,
                    partition.topic_id,
                    partition.index,
                    pending.end_before,
                    end_offset,
                    pending.size_bytes,
                )
            )
            tail = partition.tail
            if len(tail) == pending.tail_before + 1:
                parts.append(tail[-1].data)
            else:
                parts += [batch.data for batch in tail[pending.tail_before :]]
        for note in turn.notes:
            parts += note.parts
        if not parts:
            return False
        try:
            turn.sequence = self.journal.write(parts)
        except OSError as error:
            refusal = self.note_write_error(error, "the journal")
            self._erase_refused()
            self._refuse_writes(turn, partitions, self.failure or refusal)
            return False
        due_bytes = self.due_bytes
        for partition in partitions:
            pending = partition.pending
            assert pending is not None
            turn.marks.append((partition, partition.end_offset))
            partition.dirty = True
            self.tail_bytes += pending.size_bytes
            if partition.tail_bytes >= due_bytes:
                self.ready[partition] = None
        return True

    def _erase_refused(self) -> None:
        if self.failure is None:
            try:
                self.journal.erase_failed_write()
            except OSError as error:
                self.fail(error, "the journal")

    def _refuse_writes(self, turn: Turn, partitions: list[PartitionLog], refusal: BraidError) -> None:
        self._undo(turn, partitions, refusal)
        for note in turn.notes:
            note.done(refusal)
        turn.notes.clear()

    def _undo(self, turn: Turn, partitions: list[PartitionLog], refusal: BraidError) -> None:
        """Put the partitions back as they were before the turn, and tell the callers why."""
        for partition in partitions:
            self._undo_partition(partition)
        undone = set(partitions)
        for partition, results, at in turn.slots:
            if partition in undone:
                results[at] = refusal
        turn.slots = [slot for slot in turn.slots if slot[0] not in undone]

    def _undo_partition(self, partition: PartitionLog) -> None:
        pending = partition.pending
        assert pending is not None
        for before in reversed(pending.producers_before or ()):
            assert partition.producers is not None
            partition.producers.undo(before)
        partition.end_offset = pending.end_before
        del partition.tail[pending.tail_before :]
        partition.tail_bytes -= pending.size_bytes
        segment = partition.segments[-1]
        segment.latest_ms = pending.latest_before_ms
        segment.forget_marks(segment.size_bytes + partition.tail_bytes)

    def _cut(self, segment: Segment) -> None:
        """Take away what a failed write may have left: what was refused must not come back after a crash."""
        if self.failure is None:
            try:
                file = self.files.open(segment, create=True)
                file.truncate(segment.size_bytes)
                file.sync()
            except OSError as error:
                self.fail(error, segment.name)

    def _note_unwritten(self, error: OSError, segment: Segment) -> BraidError:
        """As `note_write_error`, for what should have come into a segment's file."""
        refusal = self.note_write_error(error, segment.name)
        if not is_out_of_files(error):
            self._cut(segment)
        return refusal

    def note_write_error(self, error: OSError, what: str) -> BraidError:
        """Do what can be done about it; what to say to those whose write it was."""
        if is_full(error):
            return self.health.note_full()
        if is_out_of_files(error):
            self.files.make_room()
            return TooManyFiles()
        return self.fail(error, what)

    # Flushing tails to the segments' files.

    @property
    def is_crowded(self) -> bool:
        """Whether so much is in tails that room is made although few of them are due."""
        return self.tail_bytes >= self.tail_bytes_max // 2

    def begin_flush(self, *, everything: bool = False) -> FlushJob:
        """The tails that are due, or all. One job at a time."""
        if everything:
            self.ready.clear()
        writes = []
        for partition in self._tails() if everything else self._due():
            write = plan_write(partition)
            if write is not None:
                partition.flushing = len(write.batches)
                write.segment.pins += 1
                self.folder_dirty = self.folder_dirty or write.position == 0
                writes.append(write)
        return FlushJob(self.disk, writes, self.journal.sequence, self.files.room())

    def _due(self) -> list[PartitionLog]:
        """Where many partitions share the room, none may have much. Then the larger half of what there is goes: the
        others grow meanwhile, so that each is written when it has twice the mean, and not all at one time."""
        if not self.is_crowded:
            chosen = list(self.ready)
            self.ready.clear()
            return chosen
        tails = self._tails()
        mean_bytes = self.tail_bytes // max(1, len(tails))
        wanted_bytes = self.tail_bytes // 2
        chosen = []
        for partition in tails:
            if wanted_bytes > 0 and partition.tail_bytes >= mean_bytes:
                wanted_bytes -= partition.tail_bytes
                chosen.append(partition)
                self.ready.pop(partition, None)
        return chosen

    def _tails(self) -> list[PartitionLog]:
        return [partition for partition in self.partitions.values() if partition.tail]

    def finish_flush(self, job: FlushJob) -> None:
        """Take note of what is in the files now; what is not stays in the tails."""
        for number, write in enumerate(job.writes):
            partition, segment = write.partition, write.segment
            partition.flushing = 0
            segment.pins -= 1
            if number in job.opened:
                self.files.adopt(segment, job.opened[number])
            if self.partitions.get(partition.number) is not partition:
                continue  # deleted meanwhile, and its tail with it
            if number < job.done:
                segment.touched = self.files.tick
                partition.tail_written(len(write.batches), write.size_bytes, write.end_offset)
                self.tail_bytes -= write.size_bytes
            else:
                self.ready[partition] = None
        if job.error is not None:
            self._note_unwritten(job.error, job.writes[job.done].segment)

    def _write_tail_now(self, partition: PartitionLog) -> bool:
        """Write the tail in this thread; False when another one is at it, or there is no room."""
        if partition.flushing:
            return False
        write = plan_write(partition)
        if write is None:
            return True
        for _ in range(2):
            try:
                self._write_tail(write)
            except OSError as error:
                self._note_unwritten(error, write.segment)
                if self.failure is not None:
                    return False
                # The reserve has been given up, or files were closed: there should be room now.
                continue
            self.tail_bytes -= write.size_bytes
            return True
        return False

    def flush_now(self) -> bool:
        """Write every tail in this thread, between two jobs; False when there was no room for all."""
        for _ in range(2):
            job = self.begin_flush(everything=True)
            job.run()
            self.finish_flush(job)
            if job.error is None or self.failure is not None:
                break
            # The reserve has been given up, or files were closed: there should be room now.
        return job.error is None

    def release_flushed(self, job: FlushJob) -> None:
        """Without a promise, the journal up to a flush of everything is superfluous, but for the notes in it."""
        if job.error is not None or self.failure is not None:
            return
        parts: list[bytes] = []
        for group in self.dirty_groups | self.unsaved_groups:
            parts += offsets_entry(group, self.groups.get(group, {}), whole=True)
        for partition in self.partitions.values():
            if partition.start_offset and (partition.dirty or partition in self.unsaved_partitions):
                parts.append(start_entry(partition, partition.start_offset))
        if parts:
            try:
                self.shown_sequence = self.journal.write(parts)
            except OSError as error:
                self.note_write_error(error, "the journal")
                self._erase_refused()
                return
        self.journal.release(job.sequence)

    # A full disk, a failed disk.

    def _refusal(self, *, deleting: bool = False) -> BraidError | None:
        """Why nothing can be taken now, if so."""
        return LogClosed() if self.closed else self.health.refusal(deleting=deleting)

    def fail(self, error: BaseException, what: str) -> StorageFailed:
        """The truth on disk is unknown: never acknowledge anything again."""
        failure = self.health.fail(error, what)
        while self._unsynced:
            self._refuse_turn(self._unsynced.popleft(), failure)
        return failure

    def cannot_flush(self) -> BraidError:
        """Why `flush_now` did not write everything."""
        return self.failure or (StorageFull() if self.health.full else TooManyFiles())

    @property
    def failure(self) -> StorageFailed | None:
        return self.health.failure

    def _refuse_turn(self, turn: Turn, refusal: BraidError) -> None:
        for note in turn.notes:
            note.done(refusal)
        for answer, results in turn.answers:
            answer([result if isinstance(result, BraidError) else refusal for result in results])

    # Syncing, and showing what is durable.

    def begin_sync(self) -> SyncJob | None:
        """What has to reach the disk before the turns written so far may be shown. None when a sync that is under way
        brings it there, or when there are as many as may be: the end of one is the time to ask again."""
        syncs = self._syncs
        if self.failure is not None or not self._unsynced:
            return None
        if syncs and (syncs[-1].sequence >= self._unsynced[-1].sequence or len(syncs) == journal.SYNCS_AT_ONCE):
            return None
        self._next_lane = (self._next_lane + 1) % journal.SYNCS_AT_ONCE
        job = SyncJob(self.disk, self.journal.sequence, self.journal.unsynced_files(), self._next_lane)
        syncs.append(job)
        return job

    def synced(self, job: SyncJob, error: BaseException | None = None) -> None:
        """Take note that the job has ended. The turns that it made durable are shown and answered once those that
        began before it have ended well, too."""
        job.has_ended = True
        if error is not None:
            self.fail(error, "the journal")
        while self._syncs and self._syncs[0].has_ended:
            self._count_sync(self._syncs.popleft())

    def _count_sync(self, job: SyncJob) -> None:
        if self.failure is not None:
            return
        self.group_commits += 1
        self.sync_us_total += job.took_us
        self.journal.durable = max(self.journal.durable, job.sequence)
        while self._unsynced and self._unsynced[0].sequence <= job.sequence:
            self._show(self._unsynced.popleft())

    @property
    def is_syncing(self) -> bool:
        return bool(self._syncs)

    def _show(self, turn: Turn) -> None:
        if self.failure is not None:
            self._refuse_turn(turn, self.failure)
            return
        self.shown_sequence = max(self.shown_sequence, turn.sequence)
        for partition, end_offset in turn.marks:
            partition.visible_offset = end_offset
        self.appended_batches += len(turn.slots)
        self.appended_bytes += turn.size_bytes if turn.marks else 0
        for note in turn.notes:
            note.apply()
            note.done(None)
        # Who waits for messages has them before who sent them hears that they are kept.
        for partition, _ in turn.marks:
            if partition.watchers:
                wake(partition, partition.number)
        for answer, results in turn.answers:
            answer(results)
        self.health.note_written(turn.size_bytes)

    # The journal's next file.

    def begin_spare(self) -> journal.SpareFile | None:
        """A file for the journal that is made ready before it is needed; none while every byte is needed elsewhere."""
        return None if self.health.full else self.journal.begin_spare()

    def finish_spare(self, spare: journal.SpareFile) -> None:
        """One that was made while the disk became full lies where the reserve was, and what is in tails needs that. One
        that could not be synced says of the disk what any other file would say."""
        if spare.failure is not None:
            self.fail(spare.failure, "the journal")
        if self.health.full:
            spare.discard()
        self.journal.finish_spare(spare)

    # What a checkpoint is for.

    def has_unsaved(self) -> bool:
        """Whether there is anything that the manifest does not know."""
        return bool(self.dirty_groups or self.doomed) or any(p.dirty for p in self.partitions.values())

    @property
    def has_unsynced(self) -> bool:
        return bool(self._unsynced)

    # Topics.

    def policy_for(self, topic: Topic) -> Policy:
        return policy_of(topic, self.options.segment_bytes, self.options.archive)

    def add_partitions(self, topic_id: UUID, numbers: Sequence[int], policy: Policy) -> None:
        """Make the partitions that are not there yet, and give all of them the policy."""
        id_bytes = topic_id.bytes
        for index, number in enumerate(numbers):
            partition = self.partitions.get(number)
            if partition is None:
                self.partitions[number] = PartitionLog(number, id_bytes, index, policy)
            else:
                partition.policy = policy
        self.topics[topic_id] = tuple(numbers)

    def drop_topic(self, topic_id: UUID) -> None:
        """Forget the topic; its files go after the next checkpoint."""
        numbers = self.topics.pop(topic_id, ())
        for number in numbers:
            partition = self.partitions.pop(number)
            self._drop_tail(partition)
            for segment in partition.segments:
                self.doom(segment)
            # A compaction that is under way finds out that nobody waits for what it makes.
            partition.segments = []
            wake(partition, number)
        gone = set(numbers)
        for group, offsets in list(self.groups.items()):
            if not gone.isdisjoint(offsets):
                self.groups[group] = {number: offset for number, offset in offsets.items() if number not in gone}
                self.dirty_groups[group] = None
                if not self.groups[group]:
                    del self.groups[group]

    def _drop_tail(self, partition: PartitionLog) -> None:
        """What was not flushed never will be, and takes no room among the tails; what is in the turn in hand is
        refused. A flush that is under way may still write to the file, which goes with the others."""
        if partition.pending is not None:
            assert self._turn is not None, "pending is what the turn in hand appends"
            self._undo(self._turn, [partition], UnknownPartition(f"partition number {partition.number} was deleted"))
            self._turn.partitions.remove(partition)
            partition.pending = None
        self.tail_bytes -= partition.tail_bytes
        self.ready.pop(partition, None)
        partition.tail, partition.tail_bytes = [], 0

    def restore(self, picture: Picture) -> None:
        """Take over what the manifest says."""
        for edit in picture.topics.values():
            self.add_partitions(edit.topic_id, edit.numbers, edit.policy)
        for snapshot in picture.partitions.values():
            if (partition := self.partitions.get(snapshot.number)) is not None:
                partition.restore(snapshot)
        self.groups = picture.groups
