"""kafkajs on Node: it speaks no flexible versions, so it holds the old encodings to account."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from compat_support import RunProgram
from running_node import RunningNode

HERE = Path(__file__).parent / "kafkajs"


@pytest.mark.timeout(300)
def test_kafkajs_administers_produces_and_consumes(
    broker: RunningNode, run: RunProgram, require_tool: Callable[[str, str], object], tmp_path: Path
) -> None:
    require_tool("node", "runs kafkajs")
    require_tool("npm", "brings kafkajs")
    for name in ("package.json", "package-lock.json", "client.js"):
        shutil.copy(HERE / name, tmp_path)
    run(
        ["npm", "ci", "--prefix", str(tmp_path), "--silent", "--no-audit", "--no-fund", "--ignore-scripts"], limit_s=200
    )
    out = run(["node", str(tmp_path / "client.js"), broker.bootstrap, f"kafkajs-{os.getpid()}"])
    assert out.endswith("ok\n")
