"""The examples of docs/sdk.md run, each as a program of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import braidmq
from running_node import RunningNode

PAGE = Path(__file__).parents[3] / "docs" / "sdk.md"
EXAMPLES = re.findall(r"^#+ ([^\n]+)\n(?:(?!^#).)*?```python\n(.*?)```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_every_example_is_found() -> None:
    assert len(EXAMPLES) == PAGE.read_text().count("```python") >= 11


@pytest.mark.parametrize(("title", "program"), EXAMPLES, ids=[title for title, _ in EXAMPLES])
def test_an_example_runs(title: str, program: str, node: RunningNode, tmp_path: Path) -> None:
    (tmp_path / "example.py").write_text(program.replace("http://127.0.0.1:8400", node.url))
    sources = os.environ | {"PYTHONPATH": str(Path(braidmq.__file__).parents[1])}
    command = [sys.executable, "-W", "error", "example.py"]
    done = subprocess.run(command, cwd=tmp_path, env=sources, capture_output=True, text=True, timeout=40, check=False)
    assert (done.returncode, done.stderr) == (0, ""), title
