"""The embedded log as the rest of the house sees it. Hot path: `append` and `read_now` run for every request."""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TypeVar
from uuid import UUID

from braidmq.log._port import AppendResult, Bounds, Fetched, GroupOffset, ProducerState, Room, TimedOffset
from braidmq.log._retention import check_free
from braidmq.log._watches import PartitionWatch, wait_for_data
from braidmq.log.embedded._checkpoint import (
    SYNC_AHEAD_BYTES,
    Checkpoint,
    WriteOut,
    begin_checkpoint,
    begin_edit,
    finish_checkpoint,
)
from braidmq.log.embedded._compaction import GivenUp, begin_compaction, finish_compaction, give_up
from braidmq.log.embedded._disk import Disk, RealDisk
from braidmq.log.embedded._engine import Engine
from braidmq.log.embedded._flush import FlushJob
from braidmq.log.embedded._frames import FrameFormat
from braidmq.log.embedded._health import is_full, is_out_of_files
from braidmq.log.embedded._journal import SYNCS_AT_ONCE, SpareFile
from braidmq.log.embedded._lock import FolderLock, read_salt
from braidmq.log.embedded._manifest import TopicDeleted, TopicEdit
from braidmq.log.embedded._options import LogOptions, LogStatistics
from braidmq.log.embedded._partition import PartitionLog
from braidmq.log.embedded._reader import (
    Answer,
    Got,
    LoadIndex,
    ReadBytes,
    Request,
    build_index,
    damaged,
    latest_steps,
    read_on,
    read_steps,
    tail_on,
    time_steps,
)
from braidmq.log.embedded._recovery import Recovery, recover
from braidmq.log.embedded._retention import apply_retention
from braidmq.log.embedded._syncing import Syncing
from braidmq.log.embedded._turn import SyncJob
from braidmq.logger import get_logger
from braidmq.model import BraidError, Topic
from braidmq.model.errors import (
    DamagedLog,
    LogClosed,
    OffsetOutOfRange,
    StorageFailed,
    StorageFull,
    TooManyFiles,
    UnknownPartition,
)
from braidmq.records import Batch

TICK_S = 1.0
READERS = 4
JOURNAL_FILES_CHECKPOINT = 2
JOURNAL_FILES_RELEASE = 6
JOURNAL_FILES_MAX = 12
"""When so many journal files are in use, a checkpoint begins; everything is flushed to release them (where nothing is
promised); turns wait."""
FLUSH_WORTH_BYTES = 1024 * 1024
"""How much should lie in tails before the thread is woken that writes those of them that are due; each tick writes the
rest."""
WRITE_OUT_WORTH_BYTES = 24 * 1024 * 1024
WRITE_OUT_AHEAD_BYTES = 256 * 1024
WRITE_OUTS_MAX = 8
WRITE_OUT_JOURNAL_MAX = 0.85
"""How little must be left to be brought to the disk before a checkpoint begins, and how little the disk is given at a
time while there is room in the journal. How often it is tried, and how much of the journal may be in use, before the
checkpoint goes on all the same: there are writers whom no disk keeps up with."""
SYNC_WORTH_BYTES = 256 * 1024
"""How much should have been written for each segment that a checkpoint syncs."""

FILES_AGAIN_S = 0.1
"""How long it takes to try again what found too many files open."""

T = TypeVar("T")
_logger = get_logger(__name__)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def _ignore(_: BraidError) -> None:
    """Callers hear of a failure by their own calls."""


def _ignore_held(_: Mapping[int, int]) -> None:
    """Who wants to know asks for `held_bytes`."""


def _deleted(number: int) -> UnknownPartition:
    return UnknownPartition(f"partition number {number} was deleted")


class _SegmentGone(Exception):
    """The partition does not have the segment any more that was to be read."""


class EmbeddedLog:
    """Implements the port `Log`. Open it with `EmbeddedLog.open`, inside a running event loop."""

    def __init__(
        self,
        engine: Engine,
        lock: FolderLock,
        recovery: Recovery,
        on_failure: Callable[[BraidError], None],
        on_held: Callable[[Mapping[int, int]], None],
    ) -> None:
        self.recovery = recovery
        self._engine = engine
        self._lock = lock
        self._on_failure = on_failure
        self._on_held = on_held
        self._loop = asyncio.get_running_loop()
        self._commit_scheduled = False
        self._sync_idle = asyncio.Event()
        self._sync_idle.set()
        self._failure_told = False
        self._syncing = Syncing(SYNCS_AT_ONCE, self._synced)
        self._is_durable = engine.options.flush == "commit"
        self._flushing = self._flush_wanted = False
        self._flush_idle = asyncio.Event()
        self._flush_idle.set()
        self._flush_queue: SimpleQueue[tuple[FlushJob, bool] | None] = SimpleQueue()
        self._flush_thread = Thread(target=self._run_flushes, name="braid-log-flush", daemon=True)
        self._flush_thread.start()
        self._checkpointer = ThreadPoolExecutor(1, thread_name_prefix="braid-log-checkpoint")
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="braid-log-read")
        self._checkpoint_lock = asyncio.Lock()
        self._checkpoints: set[asyncio.Task[None]] = set()
        self._checkpoint_task: asyncio.Task[None] | None = None
        self._checkpoint_wanted = False
        """Another one, when the one that is under way has ended."""
        self._maintenance_task: asyncio.Task[None] | None = None
        self._checkpoint_at = self._maintain_at = self._loop.time()
        self._tick_handle = self._loop.call_later(TICK_S, self._tick)

    @classmethod
    async def open(
        cls,
        folder: Path,
        options: LogOptions | None = None,
        *,
        on_failure: Callable[[BraidError], None] = _ignore,
        on_held: Callable[[Mapping[int, int]], None] = _ignore_held,
        clock: Callable[[], int] = now_ms,
        disk: Disk | None = None,
    ) -> "EmbeddedLog":
        """Lock the folder, recover what is in it, and begin. `on_held` hears after each maintenance what it held back,
        as `held_bytes` says. Raises DataFolderInUse, DamagedLog, StorageFull, StorageFailed."""
        lock: FolderLock | None = None
        try:
            lock = FolderLock(folder)
            engine, recovery = await asyncio.to_thread(
                _open_engine, disk or RealDisk(folder), options or LogOptions(), clock
            )
        except BaseException as error:
            if lock is not None:
                lock.release()
            if not isinstance(error, OSError):
                raise
            if is_full(error):
                raise StorageFull(f"the log in {folder} cannot be opened: the disk is full; make room first") from error
            raise StorageFailed(f"the log in {folder} cannot be opened: {error}") from error
        return cls(engine, lock, recovery, on_failure, on_held)

    # Appending.

    def append(self, entries: Sequence[tuple[int, Batch]]) -> "asyncio.Future[list[AppendResult]]":
        future: asyncio.Future[list[AppendResult]] = self._loop.create_future()

        def answer(results: list[AppendResult]) -> None:
            if not future.done():
                future.set_result(results)

        self.append_then(entries, answer)
        return future

    def append_then(self, entries: Sequence[tuple[int, Batch]], answer: Callable[[list[AppendResult]], None]) -> None:
        if self._engine.append(entries, answer):
            self._commit()
        elif not self._commit_scheduled:
            self._commit_scheduled = True
            self._loop.call_soon(self._commit)

    def _commit(self) -> None:
        self._commit_scheduled = False
        engine = self._engine
        if self._engine.closed:
            # What came too late is refused; the last checkpoint is not to be followed by anything.
            engine.commit_turn()
            return
        if self._must_wait():
            # The flush or the checkpoint that is under way commits the turn when it is done.
            return
        if engine.commit_turn():
            self._request_sync()
        if engine.ready and engine.tail_bytes >= FLUSH_WORTH_BYTES and self._may_flush():
            self._begin_flush()
        if (spare := engine.begin_spare()) is not None:
            making = self._loop.run_in_executor(self._readers, spare.run)
            making.add_done_callback(lambda _: self._finish_spare(spare))
        if engine.failure is not None:
            self._tell_failure()

    def _finish_spare(self, spare: SpareFile) -> None:
        self._engine.finish_spare(spare)
        self._tell_failure()

    def _must_wait(self) -> bool:
        """Whether the disk is so far behind that no more can be taken; begins what brings it forward."""
        engine = self._engine
        if engine.failure is not None or engine.closed:
            # What closes the log writes the last checkpoint; none may come behind it.
            return False
        files = engine.journal.kept_bytes / engine.options.journal_file_bytes
        if not self._is_durable:
            self._flush_wanted = self._flush_wanted or files >= JOURNAL_FILES_RELEASE
        elif self._checkpoint_task is None and files >= self._checkpoint_files():
            self._begin_checkpoint()
        if self._flush_wanted and self._may_flush():
            self._begin_flush(everything=True)
        elif engine.is_crowded and self._may_flush():
            self._begin_flush()
        is_behind = files >= JOURNAL_FILES_MAX or engine.tail_bytes >= engine.tail_bytes_max
        return is_behind and (not self._may_flush() or self._checkpoint_task is not None)

    def _may_flush(self) -> bool:
        """One flush at a time, and none beside a sync of segments: a file that is written to while it is synced brings
        that to the disk as well, with blocks of its own to be noted by the file system, and a thousand of these took
        half a second."""
        return not self._flushing and not self._engine.syncing_segments

    def _checkpoint_files(self) -> float:
        """How full the journal is when a checkpoint is worth it: the more files it has to sync, the later."""
        worth_bytes = len(self._engine.files) * SYNC_WORTH_BYTES
        files = worth_bytes / self._engine.options.journal_file_bytes
        return min(max(JOURNAL_FILES_CHECKPOINT, files), JOURNAL_FILES_MAX * 5 / 12)

    def _begin_flush(self, *, everything: bool = False) -> None:
        assert not self._flushing, "one flush at a time"
        if everything:
            self._flush_wanted = False
        job = self._engine.begin_flush(everything=everything)
        if not job.writes:
            self._finish_flush(job, everything)
        else:
            self._flushing = True
            self._flush_idle.clear()
            self._flush_queue.put((job, everything))

    def _run_flushes(self) -> None:
        while (item := self._flush_queue.get()) is not None:
            job, everything = item
            broken: Exception | None = None
            try:
                job.run()
            except Exception as error:  # for want of memory, say: nobody waits for ever, and nothing more is promised
                broken = error
            self._loop.call_soon_threadsafe(self._flushed, job, everything, broken)
            del item, job  # partitions of it may be deleted before the next one comes

    def _flushed(self, job: FlushJob, everything: bool, broken: Exception | None) -> None:
        if broken is not None:
            self._engine.fail(broken, "the segments")
        self._finish_flush(job, everything)
        if job.error is not None and is_out_of_files(job.error):
            self._loop.call_later(FILES_AGAIN_S, self._flush_again)
        else:
            self._end_flush()
            self._commit()

    def _end_flush(self) -> None:
        self._flushing = False
        self._flush_idle.set()

    def _flush_again(self) -> None:
        """After what waits for the flush to be over: the log could not be closed if the next one came before that."""
        self._end_flush()
        self._loop.call_soon(self._commit)

    def _finish_flush(self, job: FlushJob, everything: bool) -> None:
        self._engine.finish_flush(job)
        if everything and not self._is_durable:
            self._engine.release_flushed(job)

    def _request_sync(self) -> None:
        if (job := self._engine.begin_sync()) is not None:
            self._sync_idle.clear()
            self._syncing.begin(job)

    def _synced(self, job: SyncJob, error: Exception | None) -> None:
        self._engine.synced(job, error)
        self._request_sync()
        if not self._engine.is_syncing:
            self._sync_idle.set()
        if self._engine.failure is not None:
            self._tell_failure()

    def _tell_failure(self) -> None:
        if not self._failure_told and self._engine.failure is not None:
            self._failure_told = True
            self._loop.call_soon(self._on_failure, self._engine.failure)

    # Reading.

    def bounds(self, number: int) -> Bounds:
        return self._partition(number).bounds()

    def size_bytes(self, number: int) -> int:
        partition = self._partition(number)
        return sum(segment.size_bytes for segment in partition.segments) + partition.tail_bytes

    async def room(self) -> Room:
        disk = self._engine.disk
        return await self._loop.run_in_executor(self._readers, lambda: Room(disk.total_bytes(), disk.free_bytes()))

    def _partition(self, number: int) -> PartitionLog:
        partition = self._engine.partitions.get(number)
        if partition is None or self._engine.closed:
            self._check_open()
            raise UnknownPartition(f"there is no partition number {number}")
        return partition

    def read_now(self, number: int, offset: int, bytes_max: int, *, committed: bool = False) -> Fetched | None:
        partition = self._partition(number)
        if not committed and (known := read_on(partition, offset, bytes_max, self._engine.files.tick)):
            self._engine.read_bytes += len(known.data)
            return known
        if (known := tail_on(partition, offset, bytes_max, committed=committed)) is not None:
            self._engine.read_bytes += len(known.data)
            return known
        steps = read_steps(self._engine.disk, partition, offset, bytes_max, committed)
        try:
            request = next(steps)
            while True:
                got = self._get_now(request)
                if got is None:
                    steps.close()
                    return None
                request = steps.send(got)
        except _SegmentGone:
            return None
        except StopIteration as stop:
            fetched: Fetched = stop.value
            self._engine.read_bytes += len(fetched.data)
            return fetched

    def _get_now(self, request: Request) -> Got | None:
        if isinstance(request, LoadIndex):
            return None
        segment = request.segment
        segment.touched = self._engine.files.tick
        try:
            data = (segment.file or self._engine.files.open(segment)).read_now(request.size, request.position)
        except OSError as error:
            raise self._unreadable(request, error) from error
        if data is None or len(data) != request.size:
            return None
        return Got(data, from_disk=False)

    async def read(self, number: int, offset: int, bytes_max: int, *, committed: bool = False) -> Fetched:
        disk = self._engine.disk
        fetched = await self._drive(number, lambda kept: read_steps(disk, kept, offset, bytes_max, committed))
        self._engine.read_bytes += len(fetched.data)
        return fetched

    async def offset_for_time(self, number: int, timestamp_ms: int) -> TimedOffset | None:
        return await self._drive(number, lambda kept: time_steps(self._engine.disk, kept, timestamp_ms))

    async def latest_record(self, number: int) -> TimedOffset | None:
        return await self._drive(number, lambda kept: latest_steps(self._engine.disk, kept))

    def producers(self, number: int) -> Sequence[ProducerState]:
        producers = self._partition(number).producers
        return () if producers is None else producers.states()

    async def _drive(self, number: int, begin: Callable[[PartitionLog], Generator[Request, Answer, T]]) -> T:
        """To the end; from the beginning where what was to be read went meanwhile, by retention or by a compaction."""
        while True:
            partition = self._partition(number)
            with contextlib.suppress(_SegmentGone):
                return await self._walk(partition, begin(partition))

    async def _walk(self, partition: PartitionLog, steps: Generator[Request, Answer, T]) -> T:
        try:
            request = next(steps)
            while True:
                answer: Answer | None = self._get_now(request)
                if answer is None:
                    answer = await self._get(request)
                    if self._engine.partitions.get(partition.number) is not partition:
                        raise _deleted(partition.number)
                request = steps.send(answer)
        except StopIteration as stop:
            result: T = stop.value
            return result

    async def _get(self, request: Request) -> Answer:
        self._check_open()
        segment = request.segment
        segment.pins += 1
        try:
            file = self._engine.files.open(segment)
            if isinstance(request, LoadIndex):
                return await self._loop.run_in_executor(self._readers, build_index, self._engine.disk, file, request)
            data = await self._loop.run_in_executor(self._readers, file.read, request.size, request.position)
            return Got(data, from_disk=True)
        except OSError as error:
            raise self._unreadable(request, error) from error
        finally:
            segment.pins -= 1

    def _unreadable(self, request: Request, error: OSError) -> Exception:
        """What the disk does not give is as good as damaged: the reader is told where, and others go on. But a file may
        be gone because nobody needs it any more."""
        segment = request.segment
        partition = self._engine.partitions.get(segment.number)
        if partition is None:
            return _deleted(segment.number)
        if segment not in partition.segments:
            partition.hints = None  # one may lead there, of a read that was under way when it went
            return _SegmentGone()
        if is_out_of_files(error):
            self._engine.files.make_room()
            return TooManyFiles()
        position = request.position if isinstance(request, ReadBytes) else 0
        return damaged(self._engine.disk.describe(segment.name), position, segment.base_offset, str(error))

    def watch(self, numbers: Iterable[int], on_data: Callable[[int], None]) -> PartitionWatch:
        known = [self._partition(number).number for number in numbers]
        return PartitionWatch(self._engine.partitions, known, on_data)

    async def wait(self, positions: Mapping[int, int], timeout_s: float) -> bool:
        return await wait_for_data(self, positions, timeout_s)

    # Topics.

    async def create_topic(self, topic: Topic) -> None:
        await self._save_topic(topic)

    async def expand_topic(self, topic: Topic) -> None:
        await self._save_topic(topic)

    async def configure_topic(self, topic: Topic) -> None:
        await self._save_topic(topic)

    async def _save_topic(self, topic: Topic) -> None:
        """The topic is there for appends once the manifest has it, not before."""
        self._check_open()
        engine = self._engine
        policy = engine.policy_for(topic)
        known = engine.topics.get(topic.id)
        if known == topic.partition_numbers and engine.partitions[known[0]].policy == policy:
            return
        edit = TopicEdit(topic.id, list(topic.partition_numbers), policy)
        await self._run_checkpoint(
            lambda: begin_edit(engine, [edit]),
            then=lambda: engine.add_partitions(topic.id, topic.partition_numbers, policy),
        )

    async def delete_topic(self, topic_id: UUID) -> None:
        self._check_open()
        engine = self._engine
        if topic_id not in engine.topics:
            return
        await self._run_checkpoint(
            lambda: begin_edit(engine, [TopicDeleted(topic_id)]), then=lambda: engine.drop_topic(topic_id)
        )
        await self._checkpoint()

    async def delete_records(self, number: int, before_offset: int) -> int:
        partition = self._partition(number)
        start, _, end = partition.bounds()
        if before_offset > end:
            raise OffsetOutOfRange(
                f"offset {before_offset} is behind the end, {end}", start_offset=start, end_offset=end
            )
        if before_offset > start:
            check_free(partition.policy, self._engine.groups, number, before_offset)
            await self._noted(lambda done: self._engine.note_start(partition, before_offset, done))
            if self._engine.doomed:
                # Somebody may be waiting for the room, and a checkpoint that is under way knows nothing of it.
                if self._checkpoint_task is None:
                    self._begin_checkpoint()
                else:
                    self._checkpoint_wanted = True
        return partition.start_offset

    def held_bytes(self) -> Mapping[int, int]:
        return self._engine.held_bytes

    # Group offsets.

    async def commit_offsets(self, group: str, offsets: Mapping[int, GroupOffset]) -> None:
        await self._noted(lambda done: self._engine.note_offsets(group, offsets, done))

    def fetch_offsets(self, group: str) -> Mapping[int, GroupOffset]:
        self._check_open()
        return self._engine.groups.get(group, {})

    async def delete_offsets(self, group: str, numbers: Iterable[int] | None = None) -> None:
        self._check_open()
        kept = self._engine.groups.get(group, {})
        gone = {number: None for number in (kept if numbers is None else numbers) if number in kept}
        if gone:
            await self._noted(lambda done: self._engine.note_offsets(group, gone, done))

    def groups_with_offsets(self) -> Iterable[str]:
        self._check_open()
        return self._engine.groups.keys()

    async def _noted(self, note: Callable[[Callable[[BraidError | None], None]], None]) -> None:
        future: asyncio.Future[None] = self._loop.create_future()

        def done(error: BraidError | None) -> None:
            if future.done():
                return
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)

        note(done)
        if not self._commit_scheduled:
            self._commit_scheduled = True
            self._loop.call_soon(self._commit)
        await future

    # Checkpoints and maintenance.

    def _tick(self) -> None:
        engine = self._engine
        self._tick_handle = self._loop.call_later(self._tick_interval(), self._tick)
        engine.files.tick += 1
        engine.files.close_idle(engine.options.idle_close_s)
        if engine.tail_bytes and self._may_flush():
            self._begin_flush(everything=True)
        now = self._loop.time()
        # What waits to be removed makes room: on a full disk it is not put off, however often there was none before.
        is_due = now >= self._checkpoint_at or (engine.health.full and engine.doomed)
        if is_due and self._checkpoint_task is None and engine.has_unsaved():
            self._begin_checkpoint()
        if now >= self._maintain_at + engine.options.maintenance_interval_s and self._maintenance_task is None:
            self._maintain_at = now
            self._maintenance_task = self._loop.create_task(self._maintain_quietly())

    def _tick_interval(self) -> float:
        options = self._engine.options
        return min(TICK_S, options.flush_interval_ms / 1000) if options.flush == "interval" else TICK_S

    def _begin_checkpoint(self) -> None:
        options = self._engine.options
        interval_s = options.flush_interval_ms / 1000 if options.flush == "interval" else options.checkpoint_interval_s
        self._checkpoint_at = self._loop.time() + interval_s
        self._checkpoint_task = self._loop.create_task(self._checkpoint())
        self._checkpoint_task.add_done_callback(self._checkpoint_done)

    def _checkpoint_done(self, task: "asyncio.Task[None]") -> None:
        self._checkpoint_task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            _logger.error("checkpoint failed", error=str(error))
        if self._checkpoint_wanted and not self._engine.closed and self._engine.failure is None:
            self._checkpoint_wanted = False
            self._begin_checkpoint()
        if not self._engine.closed:
            self._commit()

    async def _checkpoint(self, *, clean: bool = False) -> None:
        await self._run_checkpoint(lambda: self._begin_full_checkpoint(clean=clean), flush=True)

    def _begin_full_checkpoint(self, *, clean: bool) -> Checkpoint:
        """What came since the flush is written here and now, so that the manifest speaks of one moment."""
        if self._engine.commit_turn():
            self._request_sync()
        if not self._engine.flush_now():
            raise self._engine.cannot_flush()
        return begin_checkpoint(self._engine, clean=clean)

    async def _run_checkpoint(
        self, begin: Callable[[], Checkpoint], *, flush: bool = False, then: Callable[[], None] | None = None
    ) -> None:
        """One at a time, and to its end although its caller may be cancelled. Raises StorageFull when there was no
        room, and the failure when the disk failed."""
        task = self._loop.create_task(self._checkpoint_to_its_end(begin, flush, then))
        self._checkpoints.add(task)
        task.add_done_callback(self._checkpoints.discard)
        await asyncio.shield(task)

    async def _checkpoint_to_its_end(
        self, begin: Callable[[], Checkpoint], flush: bool, then: Callable[[], None] | None
    ) -> None:
        async with self._checkpoint_lock:
            if flush:
                await self._flush_all()
                await self._write_out()
                await self._flush_all()
            if self._engine.failure is not None:
                raise self._engine.failure
            checkpoint = begin()
            error: OSError | None = None
            self._engine.syncing_segments = True
            try:
                await self._loop.run_in_executor(self._checkpointer, checkpoint.run)
            except OSError as failed:
                error = failed
            finally:
                self._engine.syncing_segments = False
            finish_checkpoint(self._engine, checkpoint, error)
            if error is None and then is not None:
                then()
        self._tell_failure()
        if not self._engine.closed:
            self._commit()  # tails that were due meanwhile are flushed, and turns go on that waited for that
        if error is not None:
            if is_out_of_files(error):
                await asyncio.sleep(FILES_AGAIN_S)
                raise TooManyFiles() from error
            raise self._engine.failure or StorageFull() from error

    async def _write_out(self) -> None:
        """Leave little for the checkpoint itself to write, since what comes meanwhile waits for it in memory. The more
        is in the journal, the more of the disk is taken for it; all of it, where nobody waits for a sync."""
        engine = self._engine
        for _ in range(WRITE_OUTS_MAX):
            used = engine.journal.kept_bytes / (engine.options.journal_file_bytes * JOURNAL_FILES_MAX)
            if engine.failure is not None or used > WRITE_OUT_JOURNAL_MAX:
                return
            ahead_bytes = int(WRITE_OUT_AHEAD_BYTES * 2 ** (4 * used)) if self._is_durable else SYNC_AHEAD_BYTES
            job = WriteOut(engine, ahead_bytes)
            if job.found_bytes < WRITE_OUT_WORTH_BYTES:
                return
            job.begin()
            try:
                await self._loop.run_in_executor(self._checkpointer, job.run)
            except OSError as error:
                engine.fail(error, "the segments")
            finally:
                job.finish()

    async def _flush_all(self) -> None:
        """Wait until no flush is under way, and what was in the tails is written."""
        await self._no_flush()
        self._begin_flush(everything=True)
        await self._no_flush()

    async def _no_flush(self) -> None:
        while self._flushing:
            await self._flush_idle.wait()

    async def _maintain_quietly(self) -> None:
        try:
            await self.maintain()
        except BraidError as error:
            _logger.warning("maintenance did not finish", error=error.message)
        finally:
            self._maintenance_task = None

    async def maintain(self) -> None:
        self._check_open()
        engine = self._engine
        await self._flush_all()
        apply_retention(engine)
        self._on_held(engine.held_bytes)
        for partition in list(engine.partitions.values()):
            if partition.policy.compact and engine.failure is None and not engine.closing:
                await self._compact(partition)
        if self._engine.has_unsaved() and not engine.closing:
            await self._checkpoint()

    async def _compact(self, partition: PartitionLog) -> None:
        job = begin_compaction(self._engine, partition)
        if job is None:
            return
        try:
            await self._loop.run_in_executor(self._readers, job.run)
        except (OSError, DamagedLog, GivenUp) as error:
            if not isinstance(error, GivenUp):
                _logger.warning("compaction did not finish", partition=partition.number, error=str(error))
            give_up(self._engine, job, error)
            self._tell_failure()
            return
        if self._engine.closed:
            # The last checkpoint knows nothing of it.
            job.abandon()
        else:
            finish_compaction(self._engine, partition, job)

    # The end.

    def _check_open(self) -> None:
        if self._engine.closed:
            raise LogClosed()

    async def close(self) -> None:
        if self._engine.closed:
            return
        self._engine.closing = True
        self._tick_handle.cancel()
        if self._maintenance_task is not None:
            await asyncio.wait([self._maintenance_task])
        if self._checkpoints:
            await asyncio.wait(self._checkpoints)
        if self._engine.commit_turn():
            self._request_sync()
        self._engine.closed = True
        await self._sync_idle.wait()
        await self._close_clean()
        await self._syncing.close()
        self._flush_queue.put(None)
        await asyncio.to_thread(self._flush_thread.join)
        await asyncio.to_thread(self._checkpointer.shutdown)
        await asyncio.to_thread(self._readers.shutdown)
        await asyncio.sleep(0)
        self._engine.files.close_all()
        self._engine.journal.close()
        self._engine.manifest.close()
        self._engine.disk.close()
        self._lock.release()

    async def _close_clean(self) -> None:
        try:
            await self._checkpoint(clean=True)
        except (StorageFull, TooManyFiles):
            _logger.warning("no room for the last checkpoint; the next start recovers from the journal")
        except StorageFailed:
            _logger.warning("no last checkpoint, since the disk failed; the next start reads it again")

    @property
    def failure(self) -> BraidError | None:
        return self._engine.failure

    @property
    def topic_ids(self) -> frozenset[UUID]:
        """All topics that the log holds, whether the catalog knows them or not."""
        return frozenset(self._engine.topics)

    @property
    def moved_bytes(self) -> int:
        """How much was appended and read since it was opened."""
        return self._engine.appended_bytes + self._engine.read_bytes

    def statistics(self) -> LogStatistics:
        engine = self._engine
        return LogStatistics(
            appended_batches=engine.appended_batches,
            appended_bytes=engine.appended_bytes,
            read_bytes=engine.read_bytes,
            group_commits=engine.group_commits,
            sync_us_total=engine.sync_us_total,
            journal_bytes=engine.journal.kept_bytes,
            partitions=len(engine.partitions),
            segments=sum(len(partition.segments) for partition in engine.partitions.values()),
            open_files=len(engine.files),
            damaged_ranges=sum(len(partition.damage) for partition in engine.partitions.values()),
            storage_full=engine.health.full,
            failed=engine.failure is not None,
        )


def _open_engine(disk: Disk, options: LogOptions, clock: Callable[[], int]) -> tuple[Engine, Recovery]:
    try:
        engine = Engine(disk, FrameFormat(read_salt(disk, os.urandom)), options, clock)
    except BaseException:
        disk.close()
        raise
    try:
        return engine, recover(engine)
    except BaseException:
        engine.files.close_all()
        engine.journal.close()
        engine.manifest.close()
        disk.close()
        raise
