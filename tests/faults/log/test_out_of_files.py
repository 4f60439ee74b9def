"""The process has as many files open as it may, most of them clients' connections: that is neither a failed disk nor
damage. Writers go on or are told to try again, readers too, and all is well once there are fewer."""

import asyncio
import contextlib
import errno
import os
import resource
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Literal

import pytest

from braidmq.log import Appended
from braidmq.log.embedded import EmbeddedLog, LogOptions
from braidmq.log.embedded._disk import RealDisk
from braidmq.model.errors import TooManyFiles
from conftest import WaitFor
from faults.log.bare import BareLog
from faults.log.batches import body, plain, split_served, topic
from faults.log.disks import Call, FaultyDisk, MemoryDisk

Flush = Literal["commit", "interval"]
BOTH_MODES = pytest.mark.parametrize("flush", ["commit", "interval"])
LIMIT_S = 10.0
PARTITIONS = tuple(range(1, 31))
LIMIT_OF_FILES = 400
DIRECT_BYTES = 100_000
"""More than goes through the journal, where nothing is promised."""


def options(flush: Flush) -> LogOptions:
    return LogOptions(
        flush=flush, flush_interval_ms=50, reserve_bytes=1 << 22, journal_file_bytes=1 << 16, idle_close_s=3600
    )


class Crowd:
    """Takes every descriptor that there is, and gives them back."""

    def __init__(self) -> None:
        self._taken: list[int] = []

    def take_all(self) -> None:
        with contextlib.suppress(OSError):
            while len(self._taken) < LIMIT_OF_FILES:
                self._taken.append(os.open(os.devnull, os.O_RDONLY))
        assert len(self._taken) < LIMIT_OF_FILES, "the limit is the process's own"

    def leave(self) -> None:
        while self._taken:
            os.close(self._taken.pop())


@pytest.fixture
def crowd() -> Iterator[Crowd]:
    """The limit is the process's own, so that the tests need not open a million."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.ExitStack() as undone:
        undone.callback(resource.setrlimit, resource.RLIMIT_NOFILE, before)
        resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT_OF_FILES, before[1]))
        crowd = Crowd()
        undone.callback(crowd.leave)
        yield crowd


@pytest.fixture
async def log(tmp_path: Path, flush: Flush, crowd: Crowd) -> AsyncIterator[EmbeddedLog]:
    opened = await EmbeddedLog.open(tmp_path, options(flush))
    await opened.create_topic(topic(PARTITIONS))
    yield opened
    crowd.leave()
    await opened.close()


async def append(log: EmbeddedLog, text: str, numbers: tuple[int, ...] = PARTITIONS, size_bytes: int = 300) -> None:
    for answer in await log.append([(number, plain(text, size_bytes=size_bytes)) for number in numbers]):
        assert isinstance(answer, Appended), answer


async def read(log: EmbeddedLog, number: int, offset: int) -> bytes:
    async with asyncio.timeout(LIMIT_S):
        return body(split_served((await log.read(number, offset, 1)).data, offset)[0])


def expected(text: str, size_bytes: int = 300) -> bytes:
    return body(plain(text, size_bytes=size_bytes))


@BOTH_MODES
async def test_writers_and_readers_go_on_beside_a_crowd_of_connections(
    log: EmbeddedLog, crowd: Crowd, wait_for: WaitFor
) -> None:
    """What the log has open makes room for what it needs."""
    await append(log, "before")
    await log.maintain()
    crowd.take_all()
    for turn in range(4):
        await append(log, f"turn {turn}")
        await append(log, f"large {turn}", numbers=PARTITIONS[:3], size_bytes=DIRECT_BYTES)
        async with asyncio.timeout(LIMIT_S):
            await log.maintain()
    for number in PARTITIONS:
        assert await read(log, number, 0) == expected("before")
    assert log.failure is None
    crowd.leave()
    await append(log, "after")
    await log.maintain()
    assert log._engine.tail_bytes == 0


@BOTH_MODES
async def test_what_cannot_be_flushed_stays_in_the_tails_until_a_file_can_be_opened(
    log: EmbeddedLog, crowd: Crowd, wait_for: WaitFor
) -> None:
    await append(log, "before")
    await log.maintain()
    await append(log, "kept in tails")
    log._engine.files.close_all()
    crowd.take_all()
    await append(log, "large", numbers=PARTITIONS[:3], size_bytes=DIRECT_BYTES)
    with pytest.raises(TooManyFiles):
        async with asyncio.timeout(LIMIT_S):
            await log.maintain()
    assert log._engine.tail_bytes > 0
    for number in PARTITIONS:
        assert await read(log, number, 1) == expected("kept in tails")
    with pytest.raises(TooManyFiles):
        await read(log, 1, 0)
    crowd.leave()
    await asyncio.to_thread(wait_for, lambda: log._engine.tail_bytes == 0)
    assert log.failure is None
    assert not log.statistics().storage_full
    assert not log.statistics().damaged_ranges
    for number in PARTITIONS:
        assert await read(log, number, 0) == expected("before")
        assert await read(log, number, 1) == expected("kept in tails")
    assert await read(log, 1, 2) == expected("large", DIRECT_BYTES)


@BOTH_MODES
async def test_the_journal_goes_on_in_the_file_it_has(log: EmbeddedLog, crowd: Crowd) -> None:
    await append(log, "before")
    await log.maintain()
    log._engine.files.close_all()
    crowd.take_all()
    async with asyncio.timeout(LIMIT_S):
        for turn in range(12):
            await append(log, f"turn {turn}", numbers=PARTITIONS[:10], size_bytes=2000)
    assert log.statistics().journal_bytes > 2 * options("commit").journal_file_bytes
    assert log.failure is None


@BOTH_MODES
async def test_everything_acknowledged_is_there_when_the_log_closes_amid_a_crowd(
    tmp_path: Path, flush: Flush, crowd: Crowd
) -> None:
    opened = await EmbeddedLog.open(tmp_path, options(flush))
    await opened.create_topic(topic(PARTITIONS))
    await append(opened, "kept")
    crowd.take_all()
    async with asyncio.timeout(LIMIT_S):
        await opened.close()
    crowd.leave()
    again = await EmbeddedLog.open(tmp_path, options(flush))
    for number in PARTITIONS:
        assert await read(again, number, 0) == expected("kept")
    await again.close()


def refuses(call: Call) -> OSError | None:
    return OSError(errno.ENFILE, os.strerror(errno.ENFILE)) if call.kind == "open" else None


def test_a_journal_without_any_file_refuses_and_takes_the_same_again_later() -> None:
    log = BareLog(MemoryDisk(), LogOptions(reserve_bytes=0))
    log.create((1,), segment_bytes=1000)
    disk = FaultyDisk(log.disk, refuses)
    log.engine.journal._disk = disk
    with pytest.raises(TooManyFiles):
        log.append([(1, plain("refused"))])
    disk.fails = lambda _: None
    assert log.append([(1, plain("kept"))])[0].base_offset == 0
    assert [body(each) for each in log.serve(1).batches] == [body(plain("kept"))]


async def test_a_checkpoint_that_cannot_open_what_it_has_to_sync_is_made_again(tmp_path: Path) -> None:
    disk = FaultyDisk(RealDisk(tmp_path))
    log = await EmbeddedLog.open(tmp_path, LogOptions(reserve_bytes=0, segment_bytes=400), disk=disk)
    try:
        await log.create_topic(topic(PARTITIONS[:3]))
        await append(log, "kept", numbers=PARTITIONS[:3])
        assert log._engine.flush_now()
        log._engine.files.close_all()
        disk.fails = refuses
        with pytest.raises(TooManyFiles):
            await log.maintain()
        assert log.failure is None
        disk.fails = lambda _: None
        disk.calls.clear()
        await log.maintain()
        synced = {call.name for call in disk.calls if call.kind == "sync" and call.name.startswith("segments/")}
        assert len(synced) == 3
        assert log.statistics().journal_bytes == 0
    finally:
        await log.close()
