"""The threads that wait for the disk: compiled or not, every sync is told once, with its error if it failed."""

import asyncio
import errno
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from braidmq.log.embedded import _syncing
from braidmq.log.embedded._disk import RealDisk
from braidmq.log.embedded._journal import FOLDER, JournalFile, open_journal_file
from braidmq.log.embedded._syncing import Syncing
from braidmq.log.embedded._turn import SyncJob

LANES = 3
NAME = "braidmq.log.embedded._lanes"
Told = list[tuple[SyncJob, Exception | None]]


class Waiter:
    """Hears of syncs that ended."""

    def __init__(self) -> None:
        self.told: Told = []
        self._more = asyncio.Event()

    def hear(self, job: SyncJob, error: Exception | None) -> None:
        self.told.append((job, error))
        self._more.set()

    async def heard(self, count: int) -> Told:
        async with asyncio.timeout(10):
            while len(self.told) < count:
                self._more.clear()
                await self._more.wait()
        return self.told


@pytest.fixture(params=["compiled", "python"])
def is_compiled(
    request: pytest.FixtureRequest, require_compiled: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> bool:
    if request.param == "compiled":
        require_compiled(NAME)
        return True
    monkeypatch.setattr(_syncing, "_IS_COMPILED", False)
    return False


@pytest.fixture
def waiter() -> Waiter:
    return Waiter()


@pytest.fixture
async def syncing(is_compiled: bool, waiter: Waiter) -> AsyncIterator[Syncing]:
    made = Syncing(LANES, waiter.hear)
    yield made
    await made.close()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[RealDisk]:
    made = RealDisk(tmp_path)
    made.names(FOLDER)
    yield made
    made.close()


@pytest.fixture
def file(disk: RealDisk) -> Iterator[JournalFile]:
    """One that is new no more, with something to sync."""
    made = open_journal_file(disk, f"{FOLDER}/0000", LANES, create=True)
    made.file.write((b"x" * 100,), 0, 100)
    made.is_new = False
    yield made
    made.close()


async def test_every_lane_tells_of_its_sync(
    syncing: Syncing, waiter: Waiter, disk: RealDisk, file: JournalFile
) -> None:
    jobs = [SyncJob(disk, number, [file], number) for number in range(LANES)]
    for job in jobs:
        syncing.begin(job)
    told = await waiter.heard(LANES)
    assert {id(job) for job, _ in told} == set(map(id, jobs))
    assert [error for _, error in told] == [None] * LANES
    assert all(job.took_us > 0 for job in jobs)


async def test_a_lane_is_used_again(syncing: Syncing, waiter: Waiter, disk: RealDisk, file: JournalFile) -> None:
    for number in range(20):
        syncing.begin(SyncJob(disk, number, [file], 0))
        await waiter.heard(number + 1)
    assert [job.sequence for job, _ in waiter.told] == list(range(20))


async def test_a_failure_is_told_with_the_disks_own_reason(
    syncing: Syncing, waiter: Waiter, disk: RealDisk, file: JournalFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe cannot be synced. Behind it nothing more of the job is: what failed must not be hidden by what did not."""
    reading, writing = os.pipe()
    monkeypatch.setattr(JournalFile, "descriptor", lambda *_: reading)
    monkeypatch.setattr(JournalFile, "sync", lambda *_: os.fdatasync(reading))
    syncing.begin(SyncJob(disk, 1, [file, file], 1))
    ((_, error),) = await waiter.heard(1)
    assert isinstance(error, OSError)
    assert error.errno == errno.EINVAL
    os.close(reading)
    os.close(writing)


async def test_the_folder_of_a_file_that_was_just_made_is_synced_too(
    syncing: Syncing, waiter: Waiter, disk: RealDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    sync_folder = RealDisk.sync_folder

    def note(self: RealDisk, folder: str) -> None:
        synced.append(folder)
        sync_folder(self, folder)

    monkeypatch.setattr(RealDisk, "sync_folder", note)
    made = open_journal_file(disk, f"{FOLDER}/0001", LANES, create=True)
    syncing.begin(SyncJob(disk, 1, [made], 0))
    assert (await waiter.heard(1))[0][1] is None
    assert synced == [FOLDER]
    assert not made.is_new
    syncing.begin(SyncJob(disk, 2, [made], 1))
    assert (await waiter.heard(2))[1][1] is None
    assert synced == [FOLDER]
    made.close()


async def test_compiled_lanes_are_no_threads_of_the_interpreters(
    require_compiled: Callable[[str], ModuleType], waiter: Waiter, disk: RealDisk, file: JournalFile
) -> None:
    require_compiled(NAME)
    before = threading.active_count()
    syncing = Syncing(LANES, waiter.hear)
    syncing.begin(SyncJob(disk, 1, [file], 0))
    await waiter.heard(1)
    assert threading.active_count() == before
    await syncing.close()


def test_a_lane_takes_one_sync_at_a_time_and_ends_what_it_has_begun(
    require_compiled: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    lanes = require_compiled(NAME).Lanes(1)
    descriptor = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    os.pwrite(descriptor, b"x", 0)
    lanes.begin(0, [descriptor])
    with pytest.raises(RuntimeError, match="lane 0 is syncing"):  # until it is asked whether it has ended
        lanes.begin(0, [descriptor])
    with pytest.raises(IndexError):
        lanes.begin(1, [descriptor])
    lanes.close()
    lanes.close()
    os.close(descriptor)
    with pytest.raises(IndexError):
        lanes.begin(0, [descriptor])
