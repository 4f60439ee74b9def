"""Several syncs at one time: whose disk failed acknowledges nothing, in whatever order the syncs end."""

import asyncio
import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from braidmq.log import Appended, AppendResult
from braidmq.log.embedded import EmbeddedLog, LogOptions
from braidmq.log.embedded._disk import RealDisk
from braidmq.log.embedded._journal import SYNCS_AT_ONCE, JournalFile
from braidmq.log.embedded._turn import SyncJob
from braidmq.model import BraidError
from braidmq.model.errors import StorageFailed
from conftest import WaitFor
from faults.log.bare import BareLog
from faults.log.batches import plain, topic
from faults.log.disks import FaultyDisk, MemoryDisk, MemoryFile


class FailingDisk(MemoryDisk):
    """Something could not be written to it: each opening of each file hears of that once, by its next sync."""

    has_failed = False

    def open(self, name: str, *, create: bool = False) -> MemoryFile:
        super().open(name, create=create)
        return FailingFile(self, self.files[name])


class FailingFile(MemoryFile):
    def __init__(self, disk: FailingDisk, content: bytearray) -> None:
        super().__init__(content)
        self._disk = disk
        self._knows = False

    def sync(self) -> None:
        if self._disk.has_failed and not self._knows:
            self._knows = True
            raise OSError(errno.EIO, os.strerror(errno.EIO))


class Waiting:
    """A log with two turns, each with a sync of its own that was begun and has not run."""

    def __init__(self) -> None:
        self.disk = FailingDisk()
        self.log = BareLog(self.disk, LogOptions(reserve_bytes=0))
        self.log.create((1,), segment_bytes=1000)
        self.log.append([(1, plain("the journal's file is new no more"))])
        self.answers: list[AppendResult] = []
        self.first = self._begin("first")
        self.second = self._begin("second")

    def _begin(self, text: str) -> SyncJob:
        self.log.engine.append([(1, plain(text))], self.answers.extend)
        assert self.log.engine.commit_turn()
        job = self.log.engine.begin_sync()
        assert job is not None
        return job


def test_who_comes_while_the_disk_syncs_has_a_sync_of_his_own() -> None:
    waiting = Waiting()
    engine = waiting.log.engine
    assert engine.begin_sync() is None, "all is on its way"
    waiting.second.run()
    engine.synced(waiting.second)
    assert not waiting.answers, "the first sync may still fail"
    waiting.first.run()
    engine.synced(waiting.first)
    assert [answer.base_offset for answer in waiting.answers if isinstance(answer, Appended)] == [1, 2]
    assert not engine.is_syncing


def test_there_are_only_so_many_syncs_at_one_time() -> None:
    waiting = Waiting()
    engine = waiting.log.engine
    jobs = [waiting.first, waiting.second]
    while len(jobs) < SYNCS_AT_ONCE:
        jobs.append(waiting._begin("more"))
    engine.append([(1, plain("too many"))], waiting.answers.extend)
    assert engine.commit_turn()
    assert engine.begin_sync() is None
    jobs[0].run()
    engine.synced(jobs[0])
    last = engine.begin_sync()
    assert last is not None
    for job in [*jobs[1:], last]:
        job.run()
        engine.synced(job)
    assert len(waiting.answers) == SYNCS_AT_ONCE + 1


@pytest.mark.parametrize("fails_first", [True, False])
def test_a_failure_is_heard_by_every_sync_that_waits_for_the_same_file(fails_first: bool) -> None:
    """The system tells of it once for each time that a file was opened. Were two syncs to share one, the other would
    acknowledge what the disk has dropped."""
    waiting = Waiting()
    engine = waiting.log.engine
    jobs = [waiting.first, waiting.second] if fails_first else [waiting.second, waiting.first]
    waiting.disk.has_failed = True
    errors = []
    for job in jobs:
        with pytest.raises(OSError, match=os.strerror(errno.EIO)) as caught:
            job.run()
        errors.append(caught.value)
    for job, error in zip(reversed(jobs), reversed(errors), strict=True):
        engine.synced(job, error)
    assert [type(answer) for answer in waiting.answers] == [StorageFailed, StorageFailed]
    assert not engine.is_syncing


async def test_a_log_answers_in_order_although_a_later_sync_ends_first(tmp_path: Path, wait_for: WaitFor) -> None:
    disk = FaultyDisk(RealDisk(tmp_path))
    log = await EmbeddedLog.open(tmp_path, LogOptions(reserve_bytes=0), disk=disk)
    await log.create_topic(topic((1,)))
    await log.append([(1, plain("the journal's file is new no more"))])
    held = threading.Event()
    ran: list[SyncJob] = []
    run = SyncJob.run

    def run_first_last(job: SyncJob) -> None:
        is_first = not ran
        ran.append(job)
        if is_first:
            assert held.wait(10)
        run(job)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SyncJob, "run", run_first_last)
        first = log.append([(1, plain("first"))])
        await asyncio.to_thread(wait_for, lambda: len(ran) == 1)
        second = log.append([(1, plain("second"))])
        await asyncio.to_thread(wait_for, lambda: ran[-1].has_ended)
        assert not first.done()
        assert not second.done()
        assert log.bounds(1).end == 1, "what may still be lost is not shown"
        held.set()
        answers = [*await first, *await second]
    assert [answer.base_offset for answer in answers if isinstance(answer, Appended)] == [1, 2]
    await log.close()


async def test_a_failure_that_the_systems_own_threads_hear_is_final(
    tmp_path: Path, require_compiled: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    require_compiled("braidmq.log.embedded._lanes")
    failures: list[BraidError] = []
    log = await EmbeddedLog.open(tmp_path, LogOptions(reserve_bytes=0), on_failure=failures.append)
    await log.create_topic(topic((1,)))
    await log.append([(1, plain("the journal's file is new no more"))])
    reading, writing = os.pipe()  # which cannot be synced
    with monkeypatch.context() as patch:
        patch.setattr(JournalFile, "descriptor", lambda *_: reading)
        (refused,) = await log.append([(1, plain("lost"))])
    assert isinstance(refused, StorageFailed)
    (again,) = await log.append([(1, plain("the disk is not asked again"))])
    assert isinstance(again, StorageFailed)
    assert log.bounds(1).end == 1
    assert [type(failure) for failure in failures] == [StorageFailed]
    await log.close()
    os.close(reading)
    os.close(writing)
