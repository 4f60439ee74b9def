"""Many partitions, few descriptors: files are opened when they are needed, closed when they are too many or idle."""

import asyncio
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from braidmq.log import Appended
from braidmq.log.embedded import EmbeddedLog, LogOptions
from braidmq.log.embedded._segment import Segment
from braidmq.records import Batch
from faults.log.batches import body, plain, split_served, topic

Flush = Literal["commit", "interval"]
BOTH_MODES = pytest.mark.parametrize("flush", ["commit", "interval"])
NEEDS_PROC = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="descriptors are counted in /proc")
PARTITIONS = tuple(range(1, 201))
FILES_MAX = 16
OTHER_FILES = 12
"""The journal's ring, the manifest, and what a flush or a read has in hand."""

WaitFor = Callable[[Callable[[], bool]], None]


def segments_open(folder: Path) -> int:
    """How many descriptors of this process lead into the log's folder."""
    count = 0
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            count += os.readlink(f"/proc/self/fd/{descriptor}").startswith(str(folder))
        except FileNotFoundError:
            # The descriptor of the listing itself.
            continue
    return count


class Watched:
    """Appends and reads at random, and counts the descriptors after each step."""

    def __init__(self, log: EmbeddedLog, folder: Path, seed: int) -> None:
        self._log = log
        self._folder = folder
        self._chance = random.Random(seed)
        self.bodies: dict[int, list[bytes]] = {number: [] for number in PARTITIONS}
        self.most = 0

    def _count(self) -> None:
        self.most = max(self.most, segments_open(self._folder))

    async def append(self, count: int) -> None:
        numbers = self._chance.sample(PARTITIONS, count)
        batches = [(number, plain(f"{number} {len(self.bodies[number])}", size_bytes=300)) for number in numbers]
        for (number, batch), answer in zip(batches, await self._log.append(batches), strict=True):
            assert isinstance(answer, Appended)
            assert answer.base_offset == len(self.bodies[number])
            self.bodies[number].append(body(batch))
        self._count()

    async def read(self, number: int) -> None:
        for offset, expected in enumerate(self.bodies[number]):
            fetched = await self._log.read(number, offset, 1)
            assert body(split_served(fetched.data, offset)[0]) == expected
            self._count()

    async def run(self, steps: int) -> None:
        for _ in range(steps):
            await self.append(self._chance.randint(1, len(PARTITIONS)))
            await self._log.maintain()
            self._count()
            await self.read(self._chance.choice(PARTITIONS))
        for number in PARTITIONS:
            await self.read(number)


async def run_watched(folder: Path, flush: Flush, steps: int) -> Watched:
    options = LogOptions(flush=flush, open_files_max=FILES_MAX, reserve_bytes=1 << 20, segment_bytes=2000)
    log = await EmbeddedLog.open(folder, options)
    try:
        await log.create_topic(topic(PARTITIONS))
        watched = Watched(log, folder, seed=7)
        await watched.run(steps)
    finally:
        await log.close()
    return watched


@NEEDS_PROC
@BOTH_MODES
async def test_two_hundred_partitions_are_written_and_read_rightly_through_few_files(
    tmp_path: Path, flush: Flush
) -> None:
    await run_watched(tmp_path, flush, steps=6)
    assert segments_open(tmp_path) == 0


@NEEDS_PROC
@BOTH_MODES
async def test_two_hundred_partitions_need_no_more_files_than_the_cap(tmp_path: Path, flush: Flush) -> None:
    watched = await run_watched(tmp_path, flush, steps=2)
    assert watched.most <= FILES_MAX + OTHER_FILES


async def test_idle_files_are_closed(tmp_path: Path, wait_for: WaitFor) -> None:
    log = await EmbeddedLog.open(tmp_path, LogOptions(idle_close_s=1, reserve_bytes=1 << 20))
    try:
        await log.create_topic(topic(PARTITIONS[:8]))
        await log.append([(number, plain("idle")) for number in PARTITIONS[:8]])
        await log.maintain()
        assert log.statistics().open_files == 8
        await asyncio.to_thread(wait_for, lambda: log.statistics().open_files == 0)
        fetched = await log.read(1, 0, 1)
        assert body(split_served(fetched.data, 0)[0]) == body(plain("idle"))
    finally:
        await log.close()


async def test_marks_that_are_on_disk_go_from_memory_with_their_idle_file_and_come_back(
    tmp_path: Path, wait_for: WaitFor
) -> None:
    options = LogOptions(idle_close_s=1, reserve_bytes=1 << 20, segment_bytes=300_000)
    log = await EmbeddedLog.open(tmp_path, options)
    try:
        await log.create_topic(topic((1,)))
        segments = log._engine.partitions[1].segments
        for begin, end in ((0, 310), (310, 620)):
            for first in range(begin, end, TOGETHER):
                await asyncio.gather(*(log.append([(1, large(at))]) for at in range(first, first + TOGETHER)))
            await log.maintain()
            assert max(marks(segment) for segment in segments[:-1]) > 3
            await asyncio.to_thread(wait_for, lambda: log.statistics().open_files == 0)
            assert not any(marks(segment) for segment in segments[:-1]), "all of them are on disk"
            for offset in (0, begin, begin + 42, end - 100, end - 1):
                assert body(split_served((await log.read(1, offset, 1)).data, offset)[0]) == body(large(offset))
    finally:
        await log.close()


TOGETHER = 31
"""So many batches share a turn, and the file does not become idle between two of them on a slow machine."""


def large(at: int) -> Batch:
    return plain(f"large {at}", size_bytes=2_000)


def marks(segment: Segment) -> int:
    """How many are in memory."""
    return 0 if segment.index is None else len(segment.index)
