"""The disk is full: writes are refused clearly, reading and deleting go on, and writing resumes by itself when there is
room. Nothing that was acknowledged is lost on the way, whatever the moment at which the last byte was taken.

The disk is a small file system of its own. What fills it is the log itself, or a file of somebody else.
"""

import asyncio
import errno
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Literal
from uuid import UUID

import msgspec
import pytest

from braidmq.log import Appended, GroupOffset
from braidmq.log.embedded import EmbeddedLog, LogOptions
from braidmq.log.embedded._disk import RealDisk
from braidmq.log.embedded._engine import Engine
from braidmq.log.embedded._frames import SALT_BYTES, FrameFormat
from braidmq.model import BraidError
from braidmq.model.errors import StorageFull
from braidmq.records import Batch
from faults.foreigner import Foreigner
from faults.log.batches import body, of_producer, split_served, topic
from faults.log.disks import Call, FaultyDisk, MemoryDisk

Flush = Literal["commit", "interval"]
WaitFor = Callable[[Callable[[], bool]], None]
BOTH_MODES = pytest.mark.parametrize("flush", ["commit", "interval"])
KIB = 1024
FIRST, SECOND = 1, 2
FIRST_TOPIC = topic((FIRST,), segment_bytes=str(128 * KIB))
SECOND_TOPIC = topic((SECOND,), topic_id=UUID(int=8), segment_bytes=str(128 * KIB))
RESUME_LIMIT_S = 5.0
BATCHES_MAX = 4000


def options(flush: Flush) -> LogOptions:
    """Checkpoints come only when they are needed, so that none helps a test by chance."""
    return LogOptions(
        flush=flush,
        flush_interval_ms=50,
        reserve_bytes=256 * KIB,
        journal_file_bytes=128 * KIB,
        checkpoint_interval_s=60,
    )


class Writer:
    """An idempotent producer for each partition, which remembers what was acknowledged."""

    def __init__(self, log: EmbeddedLog) -> None:
        self.log = log
        self.kept: dict[int, dict[int, bytes]] = {FIRST: {}, SECOND: {}}
        self.committed = -1

    def next_batch(self, number: int, size_bytes: int) -> Batch:
        sequence = len(self.kept[number])
        return of_producer(f"{number} {sequence} ", 900 + number, sequence, size_bytes=size_bytes)

    async def append(self, number: int, size_bytes: int = 100) -> BraidError | None:
        batch = self.next_batch(number, size_bytes)
        (answer,) = await self.log.append([(number, batch)])
        if isinstance(answer, BraidError):
            return answer
        assert isinstance(answer, Appended)
        assert answer.base_offset == len(self.kept[number]), "offsets have no gaps, however often a write was refused"
        self.kept[number][answer.base_offset] = body(batch)
        return None

    async def fill(self, number: int, size_bytes: int = 8 * KIB) -> BraidError:
        """Append until that is refused; the refusal."""
        for _ in range(BATCHES_MAX):
            if (refusal := await self.append(number, size_bytes)) is not None:
                return refusal
        raise AssertionError("the disk never became full")

    async def resume(self, number: int) -> float:
        """Append until that is taken again; how long it took."""
        return await self._until_taken(lambda: self.append(number))

    async def commit(self, offset: int) -> BraidError | None:
        try:
            await self.log.commit_offsets("group", {FIRST: GroupOffset(offset)})
        except StorageFull as error:
            return error
        self.committed = offset
        return None

    async def resume_commits(self, offset: int) -> float:
        return await self._until_taken(lambda: self.commit(offset))

    async def _until_taken(self, attempt: Callable[[], Awaitable[BraidError | None]]) -> float:
        began = time.monotonic()
        async with asyncio.timeout(2 * RESUME_LIMIT_S):
            while (refusal := await attempt()) is not None:
                assert isinstance(refusal, StorageFull), refusal
                await asyncio.sleep(0.02)
        return time.monotonic() - began

    async def check(self) -> None:
        """Everything that was acknowledged and not deleted is served."""
        for number, bodies in self.kept.items():
            start, _, end = self.log.bounds(number)
            assert end == len(bodies)
            offset = start
            while offset < end:
                for batch in split_served((await self.log.read(number, offset, 64 * KIB)).data, offset):
                    assert body(batch) == bodies[batch.base_offset]
                    offset = batch.last_offset + 1
        if self.committed >= 0:
            assert self.log.fetch_offsets("group")[FIRST].offset == self.committed

    async def reopen(self, folder: Path, flush: Flush) -> None:
        await self.log.close()
        self.log = await EmbeddedLog.open(folder, options(flush))


@pytest.fixture
async def writer(small_disk: Path, flush: Flush) -> AsyncIterator[Writer]:
    log = await EmbeddedLog.open(small_disk / "log", options(flush))
    await log.create_topic(FIRST_TOPIC)
    await log.create_topic(SECOND_TOPIC)
    writer = Writer(log)
    yield writer
    await writer.log.close()


@pytest.fixture
def foreigner(small_disk: Path) -> Foreigner:
    return Foreigner(small_disk)


def check_refusal(refusal: BraidError | None) -> None:
    assert isinstance(refusal, StorageFull)
    assert refusal.retriable
    assert "full" in refusal.message


@BOTH_MODES
async def test_writes_are_refused_and_reads_go_on_when_the_disk_is_full(writer: Writer) -> None:
    check_refusal(await writer.fill(FIRST))
    check_refusal(await writer.append(SECOND, 8 * KIB))
    assert writer.log.statistics().storage_full
    await writer.check()
    assert writer.log.failure is None


@BOTH_MODES
async def test_deleting_records_of_a_full_disk_lets_writes_go_on(
    writer: Writer, small_disk: Path, flush: Flush
) -> None:
    await writer.fill(FIRST)
    end = writer.log.bounds(FIRST).end
    assert await writer.log.delete_records(FIRST, end - 10) == end - 10
    await writer.log.maintain()
    assert await writer.resume(FIRST) < RESUME_LIMIT_S
    assert await writer.resume(SECOND) < RESUME_LIMIT_S
    await writer.check()
    await writer.reopen(small_disk / "log", flush)
    await writer.check()


@BOTH_MODES
async def test_deleting_records_frees_a_full_disk_without_anybody_asking_for_maintenance(
    writer: Writer, wait_for: WaitFor
) -> None:
    await writer.append(FIRST)
    # The first checkpoint of a life comes soon; it is not the one that may help.
    await asyncio.to_thread(wait_for, lambda: writer.log.statistics().journal_bytes == 0)
    await writer.fill(FIRST)
    await writer.log.delete_records(FIRST, writer.log.bounds(FIRST).end - 10)
    assert await writer.resume(FIRST) < RESUME_LIMIT_S


@BOTH_MODES
async def test_a_deletion_that_finds_no_room_for_its_own_record_is_tried_again_soon(
    tmp_path: Path, flush: Flush, wait_for: WaitFor
) -> None:
    """What it would have removed is the only room that can come back."""
    disk = FaultyDisk(RealDisk(tmp_path))
    writer = Writer(await EmbeddedLog.open(tmp_path, options(flush), disk=disk))
    await writer.log.create_topic(FIRST_TOPIC)
    for _ in range(2):
        for _ in range(20):
            await writer.append(FIRST, 8 * KIB)
        await writer.log.maintain()  # a segment does not end while it is written to
    refused: list[str] = []

    def full_once(call: Call) -> OSError | None:
        if call.kind != "write" or not call.name.startswith("manifest") or refused:
            return None
        refused.append(call.name)
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    disk.fails = full_once
    segments = len(disk.names("segments"))
    try:
        await writer.log.delete_records(FIRST, writer.log.bounds(FIRST).end - 10)
        await asyncio.to_thread(wait_for, lambda: len(disk.names("segments")) < segments)
        assert refused, "the first attempt was to find no room"
    finally:
        await writer.log.close()


def test_no_file_is_made_ready_for_the_journal_in_the_room_that_the_reserve_gave_up() -> None:
    engine = Engine(MemoryDisk(), FrameFormat(bytes(SALT_BYTES)), options("commit"), lambda: 0)
    begun_before = engine.begin_spare()
    assert begun_before is not None
    engine.health.note_full()
    begun_before.run()
    engine.finish_spare(begun_before)
    assert engine.disk.names("journal") == []
    assert engine.begin_spare() is None
    engine.health.full = False
    assert engine.begin_spare() is not None


@BOTH_MODES
async def test_deleting_a_topic_of_a_full_disk_lets_the_others_go_on(
    writer: Writer, small_disk: Path, flush: Flush
) -> None:
    await writer.append(SECOND)
    await writer.fill(FIRST)
    await writer.log.delete_topic(FIRST_TOPIC.id)
    del writer.kept[FIRST]
    assert await writer.resume(SECOND) < RESUME_LIMIT_S
    await writer.check()
    await writer.reopen(small_disk / "log", flush)
    await writer.check()


@BOTH_MODES
async def test_retention_frees_a_full_disk(writer: Writer) -> None:
    await writer.fill(FIRST)
    await writer.log.configure_topic(msgspec.structs.replace(FIRST_TOPIC, retention_bytes=256 * KIB))
    await writer.log.maintain()
    assert await writer.resume(FIRST) < RESUME_LIMIT_S
    await writer.check()


@BOTH_MODES
async def test_a_disk_filled_by_others_before_the_journal_is_written_loses_nothing(
    writer: Writer, foreigner: Foreigner, small_disk: Path, flush: Flush
) -> None:
    for _ in range(20):
        await writer.append(FIRST, 2 * KIB)
    await writer.commit(5)
    foreigner.fill()
    check_refusal(await writer.fill(FIRST, 2 * KIB))
    await writer.commit(6)
    await writer.check()
    foreigner.leave()
    assert await writer.resume(FIRST) < RESUME_LIMIT_S
    assert await writer.resume_commits(7) < RESUME_LIMIT_S
    await writer.check()
    await writer.reopen(small_disk / "log", flush)
    await writer.check()


@BOTH_MODES
async def test_a_disk_filled_by_others_before_a_checkpoint_loses_nothing(
    writer: Writer, foreigner: Foreigner, small_disk: Path, flush: Flush
) -> None:
    for number in (FIRST, SECOND) * 10:
        await writer.append(number, 2 * KIB)
    await writer.commit(5)
    foreigner.fill()
    # The first attempt may use the reserve; what is taken then is filled again.
    for _ in range(3):
        try:
            await writer.log.maintain()
        except StorageFull as error:
            check_refusal(error)
        foreigner.fill()
    await writer.check()
    foreigner.leave()
    assert await writer.resume(FIRST) < RESUME_LIMIT_S
    await writer.log.maintain()
    await writer.check()
    await writer.reopen(small_disk / "log", flush)
    await writer.check()


@BOTH_MODES
async def test_a_log_is_closed_on_a_disk_without_any_room_and_has_everything_when_it_opens_again(
    writer: Writer, foreigner: Foreigner, small_disk: Path, flush: Flush
) -> None:
    for number in (FIRST, SECOND) * 10:
        await writer.append(number, 2 * KIB)
    await writer.commit(5)
    foreigner.fill()
    await writer.fill(FIRST)
    # The room of the reserve, which the log gave up, is taken as well.
    foreigner.fill()
    closing = asyncio.create_task(writer.log.close())
    done, _ = await asyncio.wait([closing], timeout=RESUME_LIMIT_S)
    foreigner.leave()
    await closing
    writer.log = await EmbeddedLog.open(small_disk / "log", options(flush))
    await writer.check()
    assert done, "close waited for room"


@BOTH_MODES
async def test_a_log_that_cannot_open_for_lack_of_room_says_so_and_opens_when_there_is_some(
    writer: Writer, foreigner: Foreigner, small_disk: Path, flush: Flush
) -> None:
    await writer.append(FIRST)
    await writer.log.close()
    foreigner.fill()
    try:
        with pytest.raises(StorageFull):
            await EmbeddedLog.open(small_disk / "log", options(flush))
    finally:
        foreigner.leave()
        writer.log = await EmbeddedLog.open(small_disk / "log", options(flush))
        await writer.check()
