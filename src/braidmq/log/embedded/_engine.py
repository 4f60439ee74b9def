"""The embedded log without a clock, a thread or an event loop of its own. Hot path: `append` runs for every batch.

A *turn* is what was appended between two calls of `commit_turn`. Committing a turn writes each partition's batches to its
segment with one call, then (flush = commit) one frame with all of them to the journal. From there on the turn waits for
a `SyncJob`, which another thread may run while new turns are written; `synced` then shows them to readers and answers.

The order matters. Segments come first, so that a full disk is met before anything is in the journal: the file is cut
back, offsets and producers are put back, and the callers hear StorageFull. An error of any other kind leaves the truth
unknown: the engine fails for good, answers nothing more, and only a restart, which reads the disk, may go on.
"""

import errno
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

import msgspec

from braidmq.log._policy import Policy, policy_of
from braidmq.log._port import Appended, AppendResult, GroupOffset
from braidmq.log._producers import Producers
from braidmq.log.embedded import _journal as journal
from braidmq.log.embedded._disk import Disk, File
from braidmq.log.embedded._files import OpenFiles
from braidmq.log.embedded._frames import FrameFormat
from braidmq.log.embedded._manifest import Manifest, Picture
from braidmq.log.embedded._options import LogOptions
from braidmq.log.embedded._partition import PartitionLog, PendingWrite, Slot
from braidmq.log.embedded._segment import Segment
from braidmq.model import BraidError, Topic
from braidmq.model.errors import LogClosed, StorageFailed, StorageFull, UnknownPartition
from braidmq.records import Batch, batch_prefix

LEADER_EPOCH = 0
PREFIX_BYTES = 16
TURN_BYTES_MAX = 4 * 1024 * 1024
RESERVE_NAME = "reserve"
FREE_CHECK_BYTES = 16 * 1024 * 1024
FULL_CHECK_MS = 200

Answer = Callable[[list[AppendResult]], None]
Done = Callable[[BraidError | None], None]


class Turn:
    """Everything between two commits."""

    __slots__ = ("answers", "batches", "entries", "marks", "partitions", "sequence", "size_bytes")

    def __init__(self) -> None:
        self.partitions: list[PartitionLog] = []
        self.answers: list[tuple[Answer, list[AppendResult]]] = []
        self.entries: list[JournalNote] = []
        self.marks: list[tuple[PartitionLog, int]] = []
        """How far readers may see once the turn is durable."""
        self.sequence = 0
        self.size_bytes = 0
        self.batches = 0


class JournalNote:
    """A change that is no batch: kept in the journal, applied when durable."""

    __slots__ = ("apply", "done", "parts")

    def __init__(self, parts: list[bytes], apply: Callable[[], None], done: Done) -> None:
        self.parts = parts
        self.apply = apply
        self.done = done


class SyncJob:
    """One wait for the disk; `run` may be called in another thread."""

    __slots__ = ("_disk", "_files", "sequence", "took_us")

    def __init__(self, disk: Disk, sequence: int, files: list[journal.JournalFile]) -> None:
        self._disk = disk
        self._files = files
        self.sequence = sequence
        self.took_us = 0

    def run(self) -> None:
        """Raises OSError, after which nothing may be trusted that was not known to be durable before."""
        began = time.perf_counter_ns()
        journal.sync_files(self._disk, self._files)
        self.took_us = (time.perf_counter_ns() - began) // 1000


class Engine:
    """See the module's opening. Every method runs in one thread; jobs that wait for the disk may run in others."""

    def __init__(self, disk: Disk, format: FrameFormat, options: LogOptions, now_ms: Callable[[], int]) -> None:
        self.disk = disk
        self.options = options
        self.now_ms = now_ms
        self.partitions: dict[int, PartitionLog] = {}
        self.topics: dict[UUID, tuple[int, ...]] = {}
        self.groups: dict[str, dict[int, GroupOffset]] = {}
        self.dirty_groups: set[str] = set()
        self.files = OpenFiles(disk, options.open_files_max)
        self.format = format
        self.journal = journal.Journal(disk, format, options.journal_file_bytes)
        self.manifest = Manifest(disk, format)
        self.folder_dirty = False
        """Segment files were made since the folder was last synced."""
        self.doomed: list[Segment] = []
        """Segments that nothing refers to; their files go once the manifest says so."""
        self.failure: StorageFailed | None = None
        self.full = False
        self.closed = False
        self.appended_batches = self.appended_bytes = self.read_bytes = 0
        self.group_commits = self.sync_us_total = 0
        self.shown_sequence = 0
        """The last frame whose turn readers see: what a checkpoint covers."""
        self._durable = options.flush == "commit"
        self._turn: Turn | None = None
        self._unsynced: deque[Turn] = deque()
        self._written_since_check = 0
        self._full_checked_ms = 0

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
        pending = partition.pending
        if pending is None:
            pending = self._begin_pending(turn, partition, now_ms)
        base_offset = partition.end_offset
        end_offset = partition.end_offset = base_offset + batch.last_offset_delta + 1
        segment = pending.segment
        segment.note_batch(batch, base_offset, segment.size_bytes + pending.size_bytes)
        size = batch.length + 12
        pending.buffers += (batch_prefix(base_offset, batch.length, LEADER_EPOCH), bytes(batch.data[PREFIX_BYTES:]))
        pending.size_bytes += size
        pending.slots.append(Slot(results, len(results)))
        turn.size_bytes += size
        return Appended(base_offset, end_offset - 1, now_ms, partition.start_offset)

    def _append_of_producer(
        self, turn: Turn, partition: PartitionLog, batch: Batch, now_ms: int, results: list[AppendResult]
    ) -> AppendResult:
        producers = partition.producers
        if producers is None:
            producers = partition.producers = Producers()
        if not batch.is_control and (sent := producers.find_duplicate(batch)) is not None:
            return Appended(sent.base_offset, sent.last_offset, sent.append_ms, partition.start_offset, duplicate=True)
        try:
            producers.check(batch)
        except BraidError as error:
            return error
        before = producers.store(batch, partition.end_offset, now_ms)
        taken = self._take(turn, partition, batch, now_ms, results)
        assert partition.pending is not None
        partition.pending.producers_before.append(before)
        return taken

    def _begin_pending(self, turn: Turn, partition: PartitionLog, now_ms: int) -> PendingWrite:
        segments = partition.segments
        segment = segments[-1] if segments else None
        if segment is None or self._should_roll(segment, partition.policy, now_ms):
            segment = Segment(partition.number, partition.end_offset, created_ms=now_ms)
            segments.append(segment)
        pending = partition.pending = PendingWrite(segment, partition.end_offset)
        turn.partitions.append(partition)
        return pending

    @staticmethod
    def _should_roll(segment: Segment, policy: Policy, now_ms: int) -> bool:
        if not segment.size_bytes:
            return False
        return segment.size_bytes >= policy.segment_bytes or now_ms - segment.created_ms >= policy.segment_ms

    # Changes that are no batches.

    def note_offsets(self, group: str, offsets: Mapping[int, GroupOffset | None], done: Done) -> None:
        """Keep a group's offsets; None forgets one."""

        def apply() -> None:
            self.apply_offsets(group, offsets)

        payload = msgspec.msgpack.encode((group, offsets))
        self._note(journal.GROUP_OFFSETS, journal.NO_TOPIC, 0, 0, payload, apply, done)

    def apply_offsets(self, group: str, offsets: Mapping[int, GroupOffset | None]) -> None:
        kept = self.groups.setdefault(group, {})
        for number, offset in offsets.items():
            if offset is None:
                kept.pop(number, None)
            else:
                kept[number] = offset
        if not kept:
            del self.groups[group]
        self.dirty_groups.add(group)

    def note_start(self, partition: PartitionLog, start_offset: int, done: Done) -> None:
        """Move the start of a partition on."""

        def apply() -> None:
            self.apply_start(partition, start_offset)

        self._note(journal.START_OFFSET, partition.topic_id, partition.index, start_offset, b"", apply, done)

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

    def _note(
        self, kind: int, topic_id: bytes, index: int, offset: int, payload: bytes, apply: Callable[[], None], done: Done
    ) -> None:
        if (refusal := self._refusal(deleting=kind == journal.START_OFFSET)) is not None:
            done(refusal)
            return
        if self._turn is None:
            self._turn = Turn()
        header = journal.encode_entry(kind, topic_id, index, offset, offset, len(payload))
        self._turn.entries.append(JournalNote([header, payload], apply, done))

    # Committing a turn.

    def commit_turn(self) -> bool:
        """Write the turn; True when a sync is now due (flush = commit). Without anything to write, it answers at once."""
        turn, self._turn = self._turn, None
        if turn is None:
            return False
        if self.failure is not None:
            self._refuse_turn(turn, self.failure)
            return False
        for partition in turn.partitions:
            self._write_segment(turn, partition)
        parts = self._journal_parts(turn)
        if parts:
            self._write_journal(turn, parts)
        for partition in turn.partitions:
            partition.pending = None
        if self.failure is None and parts and self._durable:
            self._unsynced.append(turn)
            return True
        if self._unsynced and self.failure is None:
            # Nothing of its own to wait for, but a duplicate's first copy may still be on its way to the disk.
            turn.sequence = self.journal.sequence
            self._unsynced.append(turn)
            return True
        self._show(turn)
        return False

    def _write_segment(self, turn: Turn, partition: PartitionLog) -> None:
        pending = partition.pending
        assert pending is not None
        segment = pending.segment
        try:
            file = segment.file or self._open_for_writing(segment)
            file.write(pending.buffers, segment.size_bytes)
        except OSError as error:
            self._undo_write(partition, pending, error)
            return
        segment.touched = self.files.tick
        segment.size_bytes += pending.size_bytes
        segment.end_offset = partition.end_offset
        segment.dirty = True
        partition.dirty = True
        turn.batches += len(pending.slots)
        turn.marks.append((partition, partition.end_offset))

    def _open_for_writing(self, segment: Segment) -> File:
        if not segment.size_bytes:
            self.folder_dirty = True
        return self.files.open(segment, create=not segment.size_bytes)

    def _journal_parts(self, turn: Turn) -> list[bytes]:
        parts: list[bytes] = []
        if self._durable:
            for partition, end_offset in turn.marks:
                pending = partition.pending
                assert pending is not None
                parts.append(
                    journal.encode_entry(
                        journal.BATCHES,
                        partition.topic_id,
                        partition.index,
                        pending.end_before,
                        end_offset,
                        pending.size_bytes,
                    )
                )
                parts += pending.buffers
        for note in turn.entries:
            parts += note.parts
        return parts

    def _write_journal(self, turn: Turn, parts: list[bytes]) -> None:
        try:
            turn.sequence = self.journal.write(parts)
        except OSError as error:
            for partition, _ in turn.marks:
                pending = partition.pending
                assert pending is not None
                pending.segment.size_bytes -= pending.size_bytes
                self._undo_write(partition, pending, error)
            turn.marks.clear()
            refusal = self._refusal() or StorageFull()
            for note in turn.entries:
                note.done(refusal)
            turn.entries.clear()

    def _undo_write(self, partition: PartitionLog, pending: PendingWrite, error: OSError) -> None:
        """Put everything back as it was before the turn, and tell the callers why."""
        refusal = self._note_write_error(error)
        segment = pending.segment
        for before in reversed(pending.producers_before):
            assert partition.producers is not None
            partition.producers.undo(before)
        partition.end_offset = segment.end_offset = pending.end_before
        segment.latest_ms = pending.latest_before_ms
        if segment.index is not None:
            segment.index.truncate(segment.size_bytes)
        for slot in pending.slots:
            slot.results[slot.at] = refusal
        if segment.file is not None and self.failure is None:
            try:
                segment.file.truncate(segment.size_bytes)
            except OSError as truncate_error:
                self.fail(truncate_error, segment.name)

    def _note_write_error(self, error: OSError) -> BraidError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            self.note_full()
            return StorageFull()
        return self.fail(error, "a segment or the journal")

    # A full disk, a failed disk.

    def _refusal(self, *, deleting: bool = False) -> BraidError | None:
        """Why nothing can be taken now, if so."""
        if self.failure is not None:
            return self.failure
        if self.closed:
            return LogClosed()
        if self.full and not deleting and not self._has_room_again():
            return StorageFull()
        return None

    def note_full(self) -> None:
        """Refuse writes from now on, and give up the reserve so that deleting has room to work."""
        self.full = True
        self._full_checked_ms = self.now_ms()
        self.disk.remove(RESERVE_NAME)

    def _has_room_again(self) -> bool:
        now_ms = self.now_ms()
        if now_ms - self._full_checked_ms < FULL_CHECK_MS:
            return False
        self._full_checked_ms = now_ms
        if self.disk.free_bytes() < 2 * self.options.reserve_bytes:
            return False
        self.full = not self.make_reserve()
        return not self.full

    def make_reserve(self) -> bool:
        """Set the reserve aside; False when there is no room for it."""
        if not self.options.reserve_bytes:
            return True
        try:
            self.disk.allocate(RESERVE_NAME, self.options.reserve_bytes)
        except OSError:
            # Whatever the reason, the reserve is not there; writes meet the reason themselves.
            self.disk.remove(RESERVE_NAME)
            return False
        return True

    def fail(self, error: BaseException, what: str) -> StorageFailed:
        """The truth on disk is unknown: never acknowledge anything again."""
        if self.failure is None:
            self.failure = StorageFailed(
                f"the disk failed at {what}: {error}; nothing more is acknowledged, restart the node to read the disk again"
            )
            while self._unsynced:
                self._refuse_turn(self._unsynced.popleft(), self.failure)
        return self.failure

    def _refuse_turn(self, turn: Turn, refusal: BraidError) -> None:
        for note in turn.entries:
            note.done(refusal)
        for partition in turn.partitions:
            partition.pending = None
        for answer, results in turn.answers:
            answer([result if isinstance(result, BraidError) else refusal for result in results])

    # Syncing, and showing what is durable.

    def begin_sync(self) -> SyncJob:
        """What has to reach the disk before the turns written so far may be shown."""
        return SyncJob(self.disk, self.journal.sequence, self.journal.unsynced_files())

    def synced(self, job: SyncJob) -> bool:
        """Show and answer the turns that the job made durable; True when others wait for another sync."""
        if self.failure is not None:
            return False
        self.group_commits += 1
        self.sync_us_total += job.took_us
        sequence = job.sequence
        self.journal.durable = max(self.journal.durable, sequence)
        while self._unsynced and self._unsynced[0].sequence <= sequence:
            self._show(self._unsynced.popleft())
        return bool(self._unsynced)

    def _show(self, turn: Turn) -> None:
        if self.failure is not None:
            self._refuse_turn(turn, self.failure)
            return
        self.shown_sequence = max(self.shown_sequence, turn.sequence)
        for partition, end_offset in turn.marks:
            partition.visible_offset = end_offset
        if turn.marks:
            self.appended_batches += turn.batches
            self.appended_bytes += turn.size_bytes
        for note in turn.entries:
            note.apply()
            note.done(None)
        for answer, results in turn.answers:
            answer(results)
        for partition, _ in turn.marks:
            if partition.watchers:
                for watcher in tuple(partition.watchers.values()):
                    watcher(partition.number)
        self._check_room(turn.size_bytes)

    def _check_room(self, written_bytes: int) -> None:
        """A disk that is nearly full is treated as full while the reserve is still there."""
        self._written_since_check += written_bytes
        if self._written_since_check >= FREE_CHECK_BYTES:
            self._written_since_check = 0
            if not self.full and self.disk.free_bytes() < self.options.reserve_bytes:
                self.note_full()

    @property
    def has_unsynced(self) -> bool:
        return bool(self._unsynced)

    # Topics.

    def policy_for(self, topic: Topic) -> Policy:
        return policy_of(topic, self.options.segment_bytes)

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
            for segment in partition.segments:
                self.doom(segment)
        gone = set(numbers)
        for group, offsets in list(self.groups.items()):
            if not gone.isdisjoint(offsets):
                self.groups[group] = {number: offset for number, offset in offsets.items() if number not in gone}
                self.dirty_groups.add(group)
                if not self.groups[group]:
                    del self.groups[group]

    def restore(self, picture: Picture) -> None:
        """Take over what the manifest says."""
        for edit in picture.topics.values():
            self.add_partitions(edit.topic_id, edit.numbers, edit.policy)
        for snapshot in picture.partitions.values():
            if (partition := self.partitions.get(snapshot.number)) is not None:
                partition.restore(snapshot)
        self.groups = picture.groups
