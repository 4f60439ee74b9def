"""How much memory a node takes when nobody uses it."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from braidmq.store import Catalog, Store

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
