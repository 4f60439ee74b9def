"""Nodes report where they listen, and are gone when they say so or say nothing."""

import asyncio
from pathlib import Path

import pytest

from braidmq.core import presence
from braidmq.core.presence import GONE_MS, Presence
from braidmq.core.timing import LoopClock
from braidmq.store import Catalog, Store


class HandClock(LoopClock):
    """The time of day is set by hand."""

    ms = 1_000_000

    def now_ms(self) -> int:
        return self.ms


async def test_nodes_are_there_from_their_report_to_their_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "REPORT_S", 0.01)
    store = await Store.open(f"sqlite:///{tmp_path / 'store'}")
    clock = HandClock()
    catalog = await Catalog.open(store, now_ms=clock.now_ms)
    first, second = Presence(catalog, clock, "a"), Presence(catalog, clock, "b")
    await first.start({"rocketmq": ["127.0.0.1:9876"]})
    await second.start({})
    assert [node[:2] for node in first.nodes()] == [("a", {"rocketmq": ["127.0.0.1:9876"]}), ("b", {})]
    clock.ms += GONE_MS + 1
    assert first.nodes() == [], "nobody has reported for too long"
    for _ in range(500):
        if len(first.nodes()) == 2:
            break
        await asyncio.sleep(0.01)
    assert len(first.nodes()) == 2, "both report again and again"
    await second.close()
    assert [node.name for node in first.nodes()] == ["a"]
    await first.close()
    await store.close()
