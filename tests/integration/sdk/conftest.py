"""What the clients talk to: a node as users run it. Each test has topics and groups of its own."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from braidmq.sdk import Admin
from braidmq.testing import MemoryBroker
from running_node import RunningNode


@pytest.fixture(scope="package")
def node(tmp_path_factory: pytest.TempPathFactory, wait_for: Any) -> Iterator[RunningNode]:
    folder = tmp_path_factory.mktemp("node")
    arguments = ["--data", str(folder / "data"), "--http", "127.0.0.1:0", "--kafka", "off"]
    for setting in ("log.flush=interval", "halves.immunity_s=1s", "halves.check_interval_s=1s"):
        arguments += ["--set", setting]
    running = RunningNode(folder, arguments, {}, wait_for)
    try:
        yield running.wait_ready()
    finally:
        running.clean_up()


@pytest.fixture(params=["node", "memory"])
def target(request: pytest.FixtureRequest) -> Any:
    """A node's address, or what stands in for one: the promises are the same."""
    return request.getfixturevalue("node").url if request.param == "node" else MemoryBroker()


@pytest.fixture
def topic(target: Any) -> str:
    """A topic of two partitions that nobody else uses."""
    name = f"orders-{uuid.uuid4().hex[:8]}"
    with Admin(target) as admin:
        admin.create_topic(name, partitions=2)
    return name


@pytest.fixture
def group() -> str:
    return f"billing-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return tmp_path
