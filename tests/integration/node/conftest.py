"""Real nodes, started by the command as users start them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from running_node import RunningNode, WaitFor

StartNode = Callable[..., RunningNode]


@pytest.fixture
def launch(tmp_path: Path, wait_for: WaitFor) -> Iterator[StartNode]:
    """Starts `braid up` in a folder of its own, with any free port unless told otherwise; ended with the test."""
    nodes: list[RunningNode] = []

    def start(
        *arguments: str,
        http: str = "127.0.0.1:0",
        kafka: str = "127.0.0.1:0",
        environment: dict[str, str] | None = None,
        open_files_max: int | None = None,
    ) -> RunningNode:
        folder = tmp_path / f"process-{len(nodes)}"
        folder.mkdir()
        given = ["--data", str(tmp_path / "data"), "--http", http, "--kafka", kafka, *arguments]
        node = RunningNode(folder, given, environment or {}, wait_for, open_files_max=open_files_max)
        nodes.append(node)
        return node

    yield start
    for node in nodes:
        node.clean_up()
