"""What a group commit costs the disk: one sync of the journal, however many partitions and writers it acknowledges."""

import asyncio
from pathlib import Path

from braidmq.log import Appended
from braidmq.log.embedded import EmbeddedLog, LogOptions
from braidmq.log.embedded._disk import RealDisk
from conftest import WaitFor
from faults.log.batches import plain, topic
from faults.log.disks import FaultyDisk

PARTITIONS = tuple(range(1, 201))
OPTIONS = LogOptions(reserve_bytes=0, checkpoint_interval_s=3600, maintenance_interval_s=3600)


async def append(log: EmbeddedLog, numbers: tuple[int, ...]) -> None:
    for answer in await log.append([(number, plain(f"batch of {number}")) for number in numbers]):
        assert isinstance(answer, Appended)


async def test_a_turn_is_synced_once_however_many_partitions_and_writers_it_has(
    tmp_path: Path, wait_for: WaitFor
) -> None:
    disk = FaultyDisk(RealDisk(tmp_path))
    log = await EmbeddedLog.open(tmp_path, OPTIONS, disk=disk)
    await log.create_topic(topic(PARTITIONS))
    await append(log, PARTITIONS)
    # The first checkpoint of a life comes soon, the journal's next file is made ready, and its name is synced once.
    await asyncio.to_thread(wait_for, lambda: log.statistics().journal_bytes == 0 and bool(log._engine.journal._free))
    await append(log, PARTITIONS[:1])
    for writers in ([PARTITIONS[:1]], [PARTITIONS], [(number,) for number in PARTITIONS]):
        disk.calls.clear()
        commits = log.statistics().group_commits
        await asyncio.gather(*(append(log, numbers) for numbers in writers))
        synced = [call.name for call in disk.calls if call.kind in ("sync", "sync_folder")]
        assert len(synced) == 1, synced
        assert synced[0].startswith("journal/")
        assert log.statistics().group_commits == commits + 1
    await log.close()
