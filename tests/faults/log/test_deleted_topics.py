"""A topic is deleted while its batches are in a turn, in tails, being flushed or compacted: nothing of it stays behind,
neither in memory nor on disk, and the other topics do not notice."""

import asyncio
import threading
from pathlib import Path
from uuid import UUID

import pytest

from braidmq.log import AppendResult
from braidmq.log.embedded import EmbeddedLog, LogOptions
from braidmq.log.embedded._disk import RealDisk
from braidmq.model.errors import UnknownPartition
from faults.log.bare import BareLog
from faults.log.batches import TOPIC_ID, plain, policy, topic
from faults.log.disks import FaultyDisk, MemoryDisk

KEPT_ID = UUID(int=8)
KEPT = 9
LIMIT_S = 10.0


@pytest.fixture(params=["commit", "interval"])
def log(request: pytest.FixtureRequest) -> BareLog:
    """Two topics, of which the first is deleted by the tests."""
    made = BareLog(MemoryDisk(), LogOptions(flush=request.param, reserve_bytes=0))
    made.create((1, 2), segment_bytes=1000)
    made.engine.add_partitions(KEPT_ID, (KEPT,), policy(1000))
    return made


def tails_bytes(log: BareLog) -> int:
    """How much lies in the tails of the partitions that there are."""
    return sum(partition.tail_bytes for partition in log.engine.partitions.values())


def test_what_a_deleted_topic_had_in_its_tails_takes_no_room_among_them(log: BareLog) -> None:
    for _ in range(3):
        log.append([(1, plain("gone")), (2, plain("gone")), (KEPT, plain("kept"))])
    log.engine.drop_topic(TOPIC_ID)
    assert log.engine.tail_bytes == tails_bytes(log) > 0
    log.checkpoint()
    assert log.engine.tail_bytes == 0


def test_tails_that_were_due_are_not_written_once_their_topic_is_deleted(log: BareLog) -> None:
    log.engine.due_bytes = 1
    log.append([(1, plain("gone")), (KEPT, plain("kept"))])
    log.engine.drop_topic(TOPIC_ID)
    job = log.engine.begin_flush()
    assert [write.partition.number for write in job.writes] == [KEPT]
    job.run()
    log.engine.finish_flush(job)
    assert log.engine.tail_bytes == 0


@pytest.mark.parametrize("deleted_when", ["begun", "run"])
def test_a_flush_that_is_under_way_counts_nothing_of_a_topic_that_was_deleted_meanwhile(
    log: BareLog, deleted_when: str
) -> None:
    log.append([(1, plain("gone")), (KEPT, plain("kept"))])
    job = log.engine.begin_flush(everything=True)
    if deleted_when == "run":
        job.run()
    log.append([(1, plain("gone, too")), (KEPT, plain("kept, too"))])
    log.engine.drop_topic(TOPIC_ID)
    if deleted_when == "begun":
        job.run()
    log.engine.finish_flush(job)
    assert log.engine.tail_bytes == tails_bytes(log) > 0
    assert set(log.engine.ready) <= set(log.engine.partitions.values())
    log.checkpoint()
    assert log.engine.tail_bytes == 0
    assert {name.partition("-")[0] for name in log.disk.names("segments")} == {f"segments/{KEPT:07d}"}


def test_batches_of_the_turn_in_hand_are_refused_when_their_topic_is_deleted(log: BareLog) -> None:
    answers: list[AppendResult] = []
    log.append([(1, plain("before"))])
    log.engine.append([(1, plain("gone")), (KEPT, plain("kept")), (2, plain("gone"))], answers.extend)
    log.engine.drop_topic(TOPIC_ID)
    log.settle()
    assert [isinstance(answer, UnknownPartition) for answer in answers] == [True, False, True]
    assert log.engine.tail_bytes == tails_bytes(log) > 0
    log.checkpoint()
    assert log.engine.tail_bytes == 0
    assert [batch.base_offset for batch in log.serve(KEPT).batches] == [0]


def test_batches_that_wait_for_the_disk_are_answered_although_their_topic_is_deleted() -> None:
    log = BareLog(MemoryDisk(), LogOptions(reserve_bytes=0))
    log.create((1, 2), segment_bytes=1000)
    answers: list[AppendResult] = []
    log.engine.append([(1, plain("on its way"))], answers.extend)
    assert log.engine.commit_turn()
    job = log.engine.begin_sync()
    assert job is not None
    log.engine.drop_topic(TOPIC_ID)
    job.run()
    log.engine.synced(job)
    assert len(answers) == 1
    assert log.engine.tail_bytes == 0


@pytest.mark.parametrize("flush", ["commit", "interval"])
async def test_topics_that_come_and_go_leave_room_for_the_others(tmp_path: Path, flush: str) -> None:
    options = LogOptions(flush="commit" if flush == "commit" else "interval", reserve_bytes=0)
    log = await EmbeddedLog.open(tmp_path, options)
    try:
        for number in range(1, 6):
            passing = topic((number,), topic_id=UUID(int=number))
            await log.create_topic(passing)
            await log.append([(number, plain("passing", size_bytes=2000))])
            await log.delete_topic(passing.id)
        await log.maintain()
        assert log._engine.tail_bytes == 0
    finally:
        await log.close()


async def test_a_compaction_of_a_topic_that_is_deleted_meanwhile_leaves_no_file(tmp_path: Path) -> None:
    is_at_it, may_go_on = threading.Event(), threading.Event()

    class Held(FaultyDisk):
        """Keeps a compaction at its first write."""

        def note(self, kind: str, name: str) -> None:
            super().note(kind, name)
            if kind == "write" and name.endswith("-0001.log"):
                is_at_it.set()
                may_go_on.wait(LIMIT_S)

    disk = Held(RealDisk(tmp_path))
    compacted = topic((1,), segment_bytes="200", cleanup_policy="compact", min_cleanable_dirty_ratio="0")
    log = await EmbeddedLog.open(tmp_path, LogOptions(reserve_bytes=0), disk=disk)
    try:
        await log.create_topic(compacted)
        for number in range(6):
            await log.append([(1, plain(f"batch {number}"))])
        maintenance = asyncio.create_task(log.maintain())
        assert await asyncio.to_thread(is_at_it.wait, LIMIT_S)
        deletion = asyncio.create_task(log.delete_topic(compacted.id))
        async with asyncio.timeout(LIMIT_S):
            await deletion
            may_go_on.set()
            await maintenance
    finally:
        may_go_on.set()
        await log.close()
    assert disk.names("segments") == []
