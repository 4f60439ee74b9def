"""Other people's clients and suites against a node as users run it: one process for all tests of a worker."""

import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from compat_support import RUN_LIMIT_S, RunProgram
from running_node import RunningNode, WaitFor

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory, wait_for: WaitFor) -> Iterator[RunningNode]:
    folder = tmp_path_factory.mktemp("broker")
    arguments = ["--data", str(folder / "data"), "--http", "off", "--kafka", "127.0.0.1:0", "--flush", "interval"]
    node = RunningNode(folder, arguments, {}, wait_for).wait_ready()
    yield node
    node.clean_up()
    assert "Traceback" not in node.err, node.err[-5000:]


@pytest.fixture(scope="session")
def run() -> RunProgram:
    def run(command: Sequence[str], *, limit_s: float = RUN_LIMIT_S, given: str = "") -> str:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False, input=given)
        assert ended.returncode == 0, f"{command[-1]} ended with {ended.returncode}\n{ended.stdout}\n{ended.stderr}"
        return ended.stdout

    return run


@pytest.fixture(scope="session")
def compile_java(tmp_path_factory: pytest.TempPathFactory, run: RunProgram) -> Callable[[str, str], str]:
    """The classpath for a program of tests/compat/java, compiled against the jars given."""

    def compile_one(program: str, classpath: str) -> str:
        classes = tmp_path_factory.mktemp("classes")
        source = HERE / "java" / f"{program}.java"
        run(["javac", "-nowarn", "-Xlint:none", "-cp", classpath, "-d", str(classes), str(source)])
        return f"{classes}{os.pathsep}{classpath}"

    return compile_one
