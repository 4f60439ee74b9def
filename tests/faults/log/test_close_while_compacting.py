"""A log that is closed while it compacts does not compact to the end first: what was begun is left, and nothing of it
stays."""

import asyncio
import threading
from pathlib import Path

import pytest

from braidmq.log._survivors import Survivors
from braidmq.log.embedded import EmbeddedLog, LogOptions
from braidmq.records import Batch
from faults.log.batches import body, plain, split_served, topic

LIMIT_S = 10.0
BATCHES = 40
PARTITIONS = (1, 2, 3)
TOPIC = topic(PARTITIONS, segment_bytes="200", cleanup_policy="compact", min_cleanable_dirty_ratio="0")


def text(number: int, at: int) -> str:
    return f"{number} {at}"


@pytest.mark.parametrize("asked_by", ["the log itself", "somebody else"])
async def test_a_log_that_is_closed_while_it_compacts_leaves_that_and_keeps_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked_by: str
) -> None:
    is_at_it, may_go_on = threading.Event(), threading.Event()
    learnt: list[Batch] = []
    learn = Survivors.learn

    def held_learn(self: Survivors, batch: Batch) -> None:
        learnt.append(batch)
        is_at_it.set()
        assert may_go_on.wait(LIMIT_S)
        learn(self, batch)

    monkeypatch.setattr(Survivors, "learn", held_learn)
    log = await EmbeddedLog.open(tmp_path, LogOptions(reserve_bytes=0, maintenance_interval_s=3600))
    await log.create_topic(TOPIC)
    for at in range(BATCHES):
        await log.append([(number, plain(text(number, at))) for number in PARTITIONS])
    maintenance = asyncio.create_task(log._maintain_quietly() if asked_by == "the log itself" else log.maintain())
    if asked_by == "the log itself":
        log._maintenance_task = maintenance
    assert await asyncio.to_thread(is_at_it.wait, LIMIT_S)
    closing = asyncio.create_task(log.close())
    await asyncio.sleep(0)
    may_go_on.set()
    async with asyncio.timeout(LIMIT_S):
        await closing
        await maintenance
    assert len(learnt) <= 2, "of so many that there are"
    assert not [path for path in (tmp_path / "segments").iterdir() if not path.stem.endswith("-0000")]
    again = await EmbeddedLog.open(tmp_path, LogOptions(reserve_bytes=0))
    assert again.recovery.clean
    for number in PARTITIONS:
        for at in range(BATCHES):
            (found,) = split_served((await again.read(number, at, 1)).data, at)
            assert body(found) == body(plain(text(number, at)))
    await again.close()
