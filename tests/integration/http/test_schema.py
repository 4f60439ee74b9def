"""schemathesis over the whole description of the API, against a live node: no answer that the description does not
know, none that is not of its shape, and no mistake of the node's."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from running_node import RunningNode, WaitFor

WAITING = r"/(tail|events|checks|receive)$"
"""What goes on until its reader leaves, or waits for messages for as long as it is asked to."""
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
EXAMPLES = 3


@pytest.fixture
def node(tmp_path: Path, wait_for: WaitFor) -> Iterator[RunningNode]:
    arguments = ["--data", str(tmp_path / "data"), "--http=127.0.0.1:0", "--kafka=off", "--flush=interval"]
    started = RunningNode(tmp_path, arguments, {}, wait_for).wait_ready()
    yield started
    started.clean_up()


@pytest.mark.timeout(400)
def test_the_whole_description_is_true(node: RunningNode, tmp_path: Path, wait_for: Callable[..., None]) -> None:
    program = str(Path(sys.executable).with_name("st"))
    command = [program, "run", f"{node.url}/schema/openapi.json", "--exclude-path-regex", WAITING]
    command += ["--phases=examples,coverage,fuzzing", f"--max-examples={EXAMPLES}", f"--checks={CHECKS}"]
    command += ["--request-timeout=30", "--generation-deterministic", "--continue-on-failure", "--max-failures=20"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=380, check=False)
    shown = "\n".join(line[:300] for line in ended.stdout.splitlines())
    assert ended.returncode == 0, shown[-6000:]
    wait_for(lambda: node.get("/readyz").status == 200)
    assert "request failed" not in node.err
