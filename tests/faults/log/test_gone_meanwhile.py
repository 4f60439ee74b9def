"""A reader waits for the disk, and meanwhile what it reads is deleted, expires or is compacted. That is no damage: it
is told what is true now, and goes on with what there is."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from braidmq.log import TimedOffset
from braidmq.log.embedded import EmbeddedLog, LogOptions
from braidmq.log.embedded._disk import RealDisk, RealFile
from braidmq.model import Topic
from braidmq.model.errors import LogClosed, UnknownPartition
from braidmq.records import Batch, Record, build_batch, parse_batch
from conftest import WaitFor
from faults.log.batches import BORN_MS, topic
from faults.log.disks import FaultyDisk

T = TypeVar("T")
LIMIT_S = 10.0
BATCHES = 12
LARGE_BYTES = 40_000
"""Three batches in each segment, and one behind the first mark: what is read of it begins with its index."""


class HeldDisk(FaultyDisk):
    """Keeps the first call for a file's index, once that was asked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__(RealDisk(folder))
        self.is_armed = False
        self.is_at_it, self.may_go_on = threading.Event(), threading.Event()

    def note(self, kind: str, name: str) -> None:
        super().note(kind, name)
        if self.is_armed and kind == "open" and name.endswith(".index"):
            self.is_armed = False
            self.is_at_it.set()
            self.may_go_on.wait(LIMIT_S)

    def segments(self) -> int:
        return sum(name.endswith(".log") for name in self.names("segments"))


def at(number: int) -> int:
    """The time of a batch. Times fall: only the first segments have the latest."""
    return BORN_MS + 1000 * (BATCHES - number)


def batch(number: int) -> Batch:
    return build_batch([Record(0, at(number), b"key", b"%d".ljust(LARGE_BYTES, b".") % number)])


class Opened:
    """A log that knows nothing of its segments but what the manifest says, on a disk that can be made to wait."""

    def __init__(self, folder: Path, disk: HeldDisk, kept: Topic) -> None:
        self.folder = folder
        self.disk = disk
        self.topic = kept

    async def open(self) -> "Opened":
        options = LogOptions(reserve_bytes=0, maintenance_interval_s=3600, idle_close_s=1)
        self.log = await EmbeddedLog.open(self.folder, options, disk=self.disk)
        return self

    async def held_while(self, call: Awaitable[T], change: Callable[[], Awaitable[object]]) -> T:
        """What the call answers when the change is made while it waits for the disk."""
        self.disk.is_armed = True
        waiting = asyncio.ensure_future(call)
        async with asyncio.timeout(LIMIT_S):
            assert await asyncio.to_thread(self.disk.is_at_it.wait, LIMIT_S)
            await change()
            self.disk.may_go_on.set()
            return await waiting


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Opened]:
    disk = HeldDisk(tmp_path)
    kept = topic((1,), segment_bytes="140000", cleanup_policy="compact", min_cleanable_dirty_ratio="0")
    opened = await Opened(tmp_path, disk, kept).open()
    await opened.log.create_topic(opened.topic)
    for number in range(BATCHES):
        await opened.log.append([(1, batch(number))])
    await opened.log.close()
    await opened.open()
    assert disk.segments() == BATCHES / 3
    yield opened
    disk.may_go_on.set()
    await opened.log.close()


async def test_a_time_is_looked_up_in_what_is_left_when_the_first_messages_are_deleted_meanwhile(
    opened: Opened,
) -> None:
    found = await opened.held_while(opened.log.offset_for_time(1, at(5)), lambda: opened.log.delete_records(1, 4))
    assert found == TimedOffset(4, at(4))


async def test_a_time_that_only_deleted_messages_had_is_not_found_and_no_damage(
    opened: Opened, wait_for: WaitFor
) -> None:
    async def delete() -> None:
        await opened.log.delete_records(1, 6)
        await asyncio.to_thread(wait_for, lambda: opened.disk.segments() == BATCHES / 3 - 2)

    assert await opened.held_while(opened.log.offset_for_time(1, at(4)), delete) is None


async def test_the_latest_record_is_one_of_those_that_are_left(opened: Opened, wait_for: WaitFor) -> None:
    async def delete() -> None:
        await opened.log.delete_records(1, 6)
        await asyncio.to_thread(wait_for, lambda: opened.disk.segments() == BATCHES / 3 - 2)

    assert await opened.held_while(opened.log.latest_record(1), delete) == TimedOffset(6, at(6))


async def test_a_reader_goes_on_in_what_a_compaction_left_of_what_it_was_reading(opened: Opened) -> None:
    """Also where a read that ended late remembered its place in a file that is gone."""
    await opened.held_while(opened.log.read(1, 1, 1), opened.log.maintain)
    opened.log._engine.files.close_all()
    found = parse_batch((await opened.log.read(1, 2, 1)).data, 0)
    assert found.base_offset == BATCHES - 4, "of what was compacted, only the last stayed"
    assert not opened.log.statistics().damaged_ranges


@pytest.mark.parametrize(
    "call",
    [
        lambda log: log.read(1, 4, 1),
        lambda log: log.offset_for_time(1, at(5)),
        lambda log: log.latest_record(1),
    ],
    ids=["read", "offset_for_time", "latest_record"],
)
async def test_readers_of_a_topic_that_is_deleted_meanwhile_hear_that(
    opened: Opened, call: Callable[[EmbeddedLog], Awaitable[object]]
) -> None:
    with pytest.raises(UnknownPartition):
        await opened.held_while(call(opened.log), lambda: opened.log.delete_topic(opened.topic.id))


async def test_a_reader_hears_that_the_log_was_closed_meanwhile(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RealFile, "read_now", lambda *_: None)
    closing: list[asyncio.Task[None]] = []

    async def close() -> None:
        closing.append(asyncio.create_task(opened.log.close()))
        await asyncio.sleep(0)

    with pytest.raises(LogClosed):
        await opened.held_while(opened.log.read(1, 4, 1), close)
    await closing[0]
