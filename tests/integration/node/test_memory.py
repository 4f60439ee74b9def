"""How much memory a node takes when nobody uses it, and after it was used much."""

import asyncio
import itertools
import os
import platform
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from braidmq.node import _memory
from braidmq.node._memory import MemoryReturn
from braidmq.store import Catalog, Store
from running_node import WaitFor

Launch = Callable[..., Any]

MIB = 1024 * 1024
TOPICS = 1_000
PARTITIONS_PER_TOPIC = 10

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")


def resident_bytes(node: Any) -> int:
    (line,) = [line for line in Path(f"/proc/{node.process.pid}/status").read_text().splitlines() if "VmRSS" in line]
    return int(line.split()[1]) * 1024


def test_an_empty_node_is_small(launch: Launch) -> None:
    node = launch().wait_ready()
    assert node.get("/metrics").status == 200
    assert resident_bytes(node) < 110 * MIB


async def test_ten_thousand_idle_partitions_fit_into_120_mib(launch: Launch, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    store = await Store.open(f"sqlite:///{data}/store.sqlite")
    catalog = await Catalog.open(store)
    for number in range(TOPICS):
        await catalog.create_topic(f"topic-{number}", partitions=PARTITIONS_PER_TOPIC)
    await store.close()
    launch().wait_ready().stop()
    node = launch().wait_ready()
    (partitions,) = re.findall(r"^braid_log_partitions (\d+)", node.get("/metrics").body.decode(), re.MULTILINE)
    assert int(partitions) >= TOPICS * PARTITIONS_PER_TOPIC  # the node's own topics are among them
    assert resident_bytes(node) < 120 * MIB


LOAD_BYTES = 64 * MIB
PIECE_BYTES = 16 * 1024


class Load:
    """Takes memory in pieces, and gives back nearly all: what stays lies between what goes, so that the C library keeps
    the whole of it."""

    def __init__(self) -> None:
        self.before_bytes = _memory.resident_bytes()
        pieces = [os.urandom(PIECE_BYTES) for _ in range(LOAD_BYTES // PIECE_BYTES)]
        self._left = pieces[::64]

    @property
    def is_gone(self) -> bool:
        return _memory.resident_bytes() < self.before_bytes + LOAD_BYTES // 4


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library keeps memory in another way")
async def test_what_a_load_has_needed_goes_back_when_it_is_over(
    monkeypatch: pytest.MonkeyPatch, wait_for: WaitFor
) -> None:
    monkeypatch.setattr(_memory, "LOOK_S", 0.01)
    looks, busy = itertools.count(), itertools.count(step=_memory.QUIET_BYTES)
    is_busy = True

    def moved_bytes() -> int:
        next(looks)
        return next(busy) if is_busy else 0

    returning = MemoryReturn(moved_bytes)
    returning.start()
    load = Load()
    assert not load.is_gone
    await asyncio.to_thread(wait_for, lambda: next(looks) > 10)
    assert not load.is_gone, "while much moves, nothing is held up"
    is_busy = False
    await asyncio.to_thread(wait_for, lambda: load.is_gone)
    await returning.close()
