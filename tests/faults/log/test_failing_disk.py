"""The disk fails at any one call: nothing more is acknowledged, everybody is told, and a restart finds all that was.

A scripted life of a log runs once on a sound disk, to learn how many calls of each kind it makes. Then it runs again
for each of these calls, and that one fails.
"""

import asyncio
import contextlib
import errno
import os
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Literal, TypeVar
from uuid import UUID

import pytest

from braidmq.log import Appended, AppendResult, GroupOffset
from braidmq.log.embedded import EmbeddedLog, LogOptions
from braidmq.log.embedded._disk import RealDisk, Write, Written
from braidmq.model import BraidError
from braidmq.model.errors import DamagedLog, StorageFailed
from braidmq.records import Batch
from conftest import WaitFor
from faults.log.batches import body, of_producer, plain, split_served, topic
from faults.log.disks import FaultyDisk, NthCall

T = TypeVar("T")
Flush = Literal["commit", "interval"]
LIMIT_S = 10.0
"""A call that has not answered by then never will."""
FIRST_TOPIC = topic((1, 2), segment_bytes="400")
SECOND_TOPIC = topic((3,), topic_id=UUID(int=8))
COMPACTED = 4
COMPACTED_TOPIC = topic(
    (COMPACTED,),
    topic_id=UUID(int=9),
    segment_bytes="200",
    cleanup_policy="compact",
    min_cleanable_dirty_ratio="0",
)


class Life:
    """One life of a log, from open to close, and what it promised on the way."""

    def __init__(self, folder: Path, flush: Flush) -> None:
        self.folder = folder
        self.options = LogOptions(
            flush=flush, flush_interval_ms=20, journal_file_bytes=8192, reserve_bytes=4096, maintenance_interval_s=3600
        )
        self.acknowledged: dict[int, dict[int, bytes]] = {1: {}, 2: {}}
        self.committed = -1
        self.started = 0
        self.failures: list[BraidError] = []
        self.log: EmbeddedLog | None = None
        self.failed = False
        """The disk failed before the log was closed. A last frame that could not be synced may be there, and true."""
        self.broke: list[str] = []
        """Promises that were not kept."""
        self._sequence = 0
        self._newest = -1
        """The offset of the compacted partition's last batch, all of which have one key."""

    async def run(self, disk: FaultyDisk) -> None:
        try:
            self.log = await self._within(
                EmbeddedLog.open(self.folder, self.options, on_failure=self.failures.append, disk=disk)
            )
        except BraidError:
            return
        await self._script(self.log)
        self.failed = self.log.failure is not None
        await asyncio.sleep(0)
        if len(self.failures) != self.failed:
            self.broke.append(f"on_failure was called {len(self.failures)} times")
        await self._within(self.log.close())

    async def _script(self, log: EmbeddedLog) -> None:
        await self._try(log.create_topic(FIRST_TOPIC))
        for turn in range(3):
            await self._append(log, 4)
            await self._commit_offsets(log, turn)
        await self._fill_compacted(log)
        await self._try(log.maintain(), always_changes=False)
        await self._delete_records(log, 2)
        await self._append(log, 6)
        await self._try(log.create_topic(SECOND_TOPIC))
        await self._read_all(log)
        await self._try(log.delete_topic(SECOND_TOPIC.id), always_changes=False)
        await self._append(log, 3)
        await self._commit_offsets(log, 9)
        await self._read_all(log)

    async def _fill_compacted(self, log: EmbeddedLog) -> None:
        await self._try(log.create_topic(COMPACTED_TOPIC))
        for at in range(4):
            (answer,) = await self._within(log.append([(COMPACTED, plain(f"version {at}", size_bytes=100))]))
            if isinstance(answer, Appended):
                self._newest = answer.base_offset

    async def _within(self, call: Awaitable[T]) -> T:
        async with asyncio.timeout(LIMIT_S):
            return await call

    async def _try(self, call: Awaitable[object], *, always_changes: bool = True) -> bool:
        """Whether it succeeded; a log that had failed before must not let it, if there was anything to do."""
        assert self.log is not None
        failed_before = self.log.failure is not None
        try:
            await self._within(call)
        except BraidError as error:
            if failed_before and not isinstance(error, StorageFailed):
                self.broke.append(f"a failed log answered {type(error).__name__}")
            return False
        if failed_before and always_changes:
            self.broke.append("a failed log acknowledged a change")
        return True

    async def _append(self, log: EmbeddedLog, count: int) -> None:
        for _ in range(count):
            batches = [(1, plain(f"batch {self._sequence}", records=2)), (2, of_producer("batch", 77, self._sequence))]
            failed_before = log.failure is not None
            answers = await self._within(log.append(batches))
            for (number, batch), answer in zip(batches, answers, strict=True):
                self._note_answer(number, batch, answer, failed_before=failed_before)

    def _note_answer(self, number: int, batch: Batch, answer: AppendResult, *, failed_before: bool) -> None:
        if isinstance(answer, Appended):
            self.acknowledged[number][answer.base_offset] = body(batch)
            self._sequence += number == 2
            if failed_before:
                self.broke.append("a failed log acknowledged a batch")
        elif failed_before and not isinstance(answer, StorageFailed):
            self.broke.append(f"a failed log answered {type(answer).__name__}")

    async def _commit_offsets(self, log: EmbeddedLog, offset: int) -> None:
        if await self._try(log.commit_offsets("group", {1: GroupOffset(offset)})):
            self.committed = offset

    async def _delete_records(self, log: EmbeddedLog, before_offset: int) -> None:
        try:
            await self._within(log.delete_records(1, before_offset))
        except BraidError:
            return
        self.started = before_offset

    async def _read_all(self, log: EmbeddedLog) -> None:
        """What was acknowledged is read back even from a failed log, as long as the disk gives it."""
        for number, bodies in self.acknowledged.items():
            for offset in bodies:
                if offset >= log.bounds(number).start:
                    fetched = await self._within(log.read(number, offset, 1))
                    assert body(split_served(fetched.data, offset)[0]) == bodies[offset]
        if self._newest >= 0:
            fetched = await self._within(log.read(COMPACTED, self._newest, 1))
            assert body(split_served(fetched.data, self._newest)[0]) == body(
                plain(f"version {self._newest}", size_bytes=100)
            )

    def check_failed_for_good(self) -> None:
        """A sync that failed is the end of a log, whatever it was for; and nothing stays open."""
        if self.log is not None and self.log.failure is None:
            self.broke.append("the log went on")
        if descriptors_in(self.folder):
            self.broke.append(f"left open: {descriptors_in(self.folder)}")

    async def check_restart(self) -> None:
        """On a sound disk, the next life has everything that this one promised."""
        log = await EmbeddedLog.open(self.folder, self.options)
        try:
            if self.failed and log.recovery.clean:
                self.broke.append("a failed log was closed as clean")
            if self.committed >= 0 and log.fetch_offsets("group")[1].offset < self.committed:
                self.broke.append("a group offset went back")
            if self.started and log.bounds(1).start < self.started:
                self.broke.append("the start went back")
            await self._read_all(log)
        finally:
            await log.close()


def descriptors_in(folder: Path) -> list[str]:
    """The files below the folder that this process has open, where the system tells."""
    found = []
    with contextlib.suppress(FileNotFoundError):
        for descriptor in os.listdir("/proc/self/fd"):
            with contextlib.suppress(FileNotFoundError):  # that of the listing itself
                found.append(os.readlink(f"/proc/self/fd/{descriptor}"))
    return [name for name in found if Path(name).is_relative_to(folder)]


async def live(folder: Path, flush: Flush, fails: NthCall | None = None) -> tuple[Life, FaultyDisk]:
    disk = FaultyDisk(RealDisk(folder), fails) if fails else FaultyDisk(RealDisk(folder))
    life = Life(folder, flush)
    await life.run(disk)
    return life, disk


@pytest.mark.parametrize("flush", ["commit", "interval"])
@pytest.mark.parametrize(
    "kind", ["write", "sync", "open", "rename", "truncate", "sync_folder", "remove", "allocate", "names"]
)
async def test_a_disk_that_fails_at_any_call_costs_nothing_that_was_acknowledged(
    tmp_path: Path, flush: Flush, kind: str
) -> None:
    sound, disk = await live(tmp_path / "sound", flush)
    assert not sound.broke
    assert sound.log is not None
    assert sound.log.failure is None
    await sound.check_restart()
    count = Counter(call.kind for call in disk.calls)[kind]
    broke: list[str] = []
    for number in range(1, count + 1):
        fails = NthCall(kind, number)
        try:
            life, disk = await live(tmp_path / str(number), flush, fails)
            if fails.failed is not None and kind in ("sync", "sync_folder"):
                life.check_failed_for_good()
            await life.check_restart()
        except (OSError, TimeoutError, AssertionError, KeyError) as error:
            broke.append(f"{kind} {number} ({fails.failed}): {type(error).__name__} {error}")
            continue
        broke += [f"{kind} {number} ({fails.failed}): {what}" for what in life.broke]
    assert not broke, "\n".join(broke)


@pytest.mark.parametrize("flush", ["commit", "interval"])
async def test_a_failed_sync_is_never_tried_again(tmp_path: Path, flush: Flush) -> None:
    _, disk = await live(tmp_path / "sound", flush)
    count = Counter(call.kind for call in disk.calls)["sync"]
    for number in range(1, count + 1):
        fails = NthCall("sync", number)
        _, disk = await live(tmp_path / str(number), flush, fails)
        if fails.failed is None:
            # Two syncs of the sound life were one in this one.
            continue
        later = disk.calls[disk.calls.index(fails.failed) + 1 :]
        again = [call for call in later if call.kind == "sync" and call.name == fails.failed.name]
        assert not again, f"sync {number} of {fails.failed.name} was repeated"


async def journal_synced(log: EmbeddedLog) -> None:
    await log.create_topic(FIRST_TOPIC)
    await log.append([(1, plain("kept"))])


async def test_a_sync_that_found_no_room_is_a_failure_like_any_other(tmp_path: Path) -> None:
    """Where a disk gives out its blocks late, the sync is what finds it full, and the pages are dropped."""
    disk = FaultyDisk(RealDisk(tmp_path))
    log = await EmbeddedLog.open(tmp_path, LogOptions(reserve_bytes=4096), disk=disk)
    await journal_synced(log)
    disk.fails = lambda call: (
        OSError(errno.ENOSPC, "no room") if call.kind == "sync" and call.name.startswith("segments/") else None
    )
    with pytest.raises(BraidError):
        await log.maintain()
    disk.fails = lambda _: None
    failure = log.failure
    await log.close()
    assert isinstance(failure, StorageFailed)


async def test_a_disk_that_fails_under_a_reader_is_reported_to_that_reader_alone(tmp_path: Path) -> None:
    log = await EmbeddedLog.open(tmp_path, LogOptions(reserve_bytes=4096))
    await journal_synced(log)
    await log.close()
    disk = FaultyDisk(RealDisk(tmp_path))
    log = await EmbeddedLog.open(tmp_path, LogOptions(reserve_bytes=4096), disk=disk)
    disk.fails = lambda call: OSError(errno.EIO, "unreadable") if call.kind == "read" else None
    try:
        with pytest.raises(DamagedLog, match="unreadable"):
            await log.read(1, 0, 1)
    finally:
        disk.fails = lambda _: None
        await check_goes_on(log)
        await log.close()


async def check_goes_on(log: EmbeddedLog) -> None:
    assert body(split_served((await log.read(1, 0, 1)).data, 0)[0]) == body(plain("kept"))
    assert isinstance((await log.append([(1, plain("more"))]))[0], Appended)


@pytest.mark.parametrize("flush", ["commit", "interval"])
async def test_a_thread_that_breaks_for_want_of_memory_leaves_nobody_waiting(tmp_path: Path, flush: Flush) -> None:
    class Exhausted(FaultyDisk):
        def write_many(self, writes: Sequence[Write]) -> tuple[int, OSError | None]:
            raise MemoryError(f"none left for {len(writes)} writes")

    log = await EmbeddedLog.open(
        tmp_path, LogOptions(flush=flush, reserve_bytes=4096), disk=Exhausted(RealDisk(tmp_path))
    )
    await journal_synced(log)
    async with asyncio.timeout(LIMIT_S):
        with pytest.raises(StorageFailed):
            await log.maintain()
        (answer,) = await log.append([(1, plain("more"))])
        await log.close()
    assert isinstance(answer, StorageFailed)
    log = await EmbeddedLog.open(tmp_path, LogOptions(flush=flush, reserve_bytes=4096))
    await check_goes_on(log)
    await log.close()


async def test_what_the_disk_cannot_write_out_before_a_checkpoint_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system tells of it once, and the sync that comes later would know nothing of it."""
    monkeypatch.setattr("braidmq.log.embedded._log.WRITE_OUT_WORTH_BYTES", 1)
    refused = OSError(errno.EIO, "a bad block")

    class Unwritable(FaultyDisk):
        def write_out(self, written: Sequence[Written], ahead_bytes: int) -> None:
            super().write_out(written, ahead_bytes)
            if any(each.end > each.begin for each in written):
                raise refused

    log = await EmbeddedLog.open(tmp_path, LogOptions(reserve_bytes=4096), disk=Unwritable(RealDisk(tmp_path)))
    await journal_synced(log)
    async with asyncio.timeout(LIMIT_S):
        with pytest.raises(StorageFailed, match="a bad block"):
            await log.maintain()
        await log.close()
    assert isinstance(log.failure, StorageFailed)


class Watched(FaultyDisk):
    """Remembers what it was asked to write out."""

    def __init__(self, folder: Path) -> None:
        super().__init__(RealDisk(folder))
        self.stretches: list[list[tuple[int, int]]] = []

    def write_out(self, written: Sequence[Written], ahead_bytes: int) -> None:
        super().write_out(written, ahead_bytes)
        self.stretches.append([(each.begin, each.end) for each in written])


async def test_a_checkpoint_writes_out_all_that_was_too_little_to_be_written_out_before(tmp_path: Path) -> None:
    disk = Watched(tmp_path)
    log = await EmbeddedLog.open(tmp_path, LogOptions(reserve_bytes=4096), disk=disk)
    await journal_synced(log)
    disk.stretches.clear()
    await log.maintain()
    await log.append([(1, plain("more"))])
    await log.maintain()
    await log.close()
    (((first_begin, first_end),), ((second_begin, second_end),), *rest) = disk.stretches
    assert first_begin == 0 < first_end == second_begin < second_end
    assert not any(rest)


async def test_a_checkpoint_begins_although_there_is_always_more_to_write_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("braidmq.log.embedded._log.WRITE_OUT_WORTH_BYTES", 0)
    disk = Watched(tmp_path)
    log = await EmbeddedLog.open(tmp_path, LogOptions(flush="interval", reserve_bytes=4096), disk=disk)
    await journal_synced(log)
    disk.calls.clear()
    async with asyncio.timeout(LIMIT_S):
        await log.maintain()
    assert any(call.kind == "sync" and call.name.startswith("segments/") for call in disk.calls)
    await log.close()


async def test_what_is_deleted_while_a_checkpoint_runs_makes_room_as_soon_as_that_has_ended(
    tmp_path: Path, wait_for: WaitFor
) -> None:
    may_go_on, is_at_it = threading.Event(), threading.Event()

    class Slow(FaultyDisk):
        def write_out(self, written: Sequence[Written], ahead_bytes: int) -> None:
            super().write_out(written, ahead_bytes)
            if written:
                is_at_it.set()
                may_go_on.wait(LIMIT_S)

    disk = Slow(RealDisk(tmp_path))
    log = await EmbeddedLog.open(tmp_path, LogOptions(reserve_bytes=4096, maintenance_interval_s=3600), disk=disk)
    await log.create_topic(FIRST_TOPIC)
    for number in range(20):
        await log.append([(1, plain(f"batch {number}", records=2))])
    await log.delete_records(1, 10)
    assert await asyncio.to_thread(is_at_it.wait, LIMIT_S)
    end = log.bounds(1).end
    await log.delete_records(1, end)
    may_go_on.set()
    began = time.monotonic()
    await asyncio.to_thread(wait_for, lambda: sum(name.endswith(".log") for name in disk.names("segments")) <= 1)
    assert time.monotonic() - began < LIMIT_S / 2, "the next one by itself comes after ten seconds"
    await log.close()
