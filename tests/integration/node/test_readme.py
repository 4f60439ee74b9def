"""The README's first message really works, as it stands there."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from running_node import RunningNode

ROOT = Path(__file__).parents[3]
NODE = "127.0.0.1:9092"


def test_the_first_message_of_the_readme_runs_as_printed(launch: Callable[..., RunningNode], tmp_path: Path) -> None:
    node = launch().wait_ready()
    readme = (ROOT / "README.md").read_text()
    (program,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    assert NODE in program
    run = subprocess.run(
        [sys.executable, "-c", program.replace(NODE, node.bootstrap)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert run.stdout.splitlines() == ["stored at offset 0", "b'order-17' b'42.00 EUR' {'TAGS': b'card'}"]
    (path,) = re.findall(r"curl 'http://127\.0\.0\.1:8400(/api/.*?)'`", readme)
    (found,) = node.get(path).json["items"]
    assert (found["key"], found["body"]) == ("order-17", "42.00 EUR")
