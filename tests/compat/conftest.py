"""Other people's clients and suites against a node as users run it: one process for all tests of a worker."""

import contextlib
import os
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from compat_support import OTHER_ROCKETMQ, RUN_LIMIT_S, RunProgram
from running_node import RunningNode, WaitFor

HERE = Path(__file__).parent
GO_LIMIT_S = 300


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory, wait_for: WaitFor) -> Iterator[RunningNode]:
    folder = tmp_path_factory.mktemp("broker")
    arguments = ["--data", str(folder / "data"), "--http", "off", "--kafka", "127.0.0.1:0", "--flush", "interval"]
    node = RunningNode(folder, arguments, {}, wait_for).wait_ready()
    yield node
    node.clean_up()
    assert "Traceback" not in node.err, node.err[-5000:]


def free_port_above_another() -> int:
    """A port that nobody has, and nobody has the one two below, where clients look for the VIP channel."""
    while True:
        with socket.socket() as upper, socket.socket() as lower:
            upper.bind(("127.0.0.1", 0))
            port: int = upper.getsockname()[1]
            with contextlib.suppress(OSError):
                lower.bind(("127.0.0.1", port - 2))
                return port


@pytest.fixture(scope="session")
def rocketmq_broker(tmp_path_factory: pytest.TempPathFactory, wait_for: WaitFor) -> Iterator[RunningNode]:
    """A node for RocketMQ, Kafka and HTTP clients together."""
    folder = tmp_path_factory.mktemp("rocketmq-broker")
    arguments = ["--data", str(folder / "data"), "--flush", "interval"]
    arguments += ["--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0"]
    arguments += ["--rocketmq", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]
    arguments += ["--set", "rocketmq_grpc.auto_create=on"]
    environment = {"BRAID_ROCKETMQ_BROKER_LISTEN": f"127.0.0.1:{free_port_above_another()}"}
    node = RunningNode(folder, arguments, environment, wait_for).wait_ready()
    yield node
    node.clean_up()
    assert "Traceback" not in node.err, node.err[-5000:]


@pytest.fixture(scope="session")
def name_server(request: pytest.FixtureRequest) -> str:
    """Where RocketMQ clients begin: at a node of ours, or at a server that is there already, to judge the judges."""
    other = os.environ.get(OTHER_ROCKETMQ)
    if other:
        return other
    node: RunningNode = request.getfixturevalue("rocketmq_broker")
    return node.name_server


@pytest.fixture(scope="session")
def broker_address(request: pytest.FixtureRequest) -> str:
    """The broker's own address, which some administrators' calls want."""
    other = os.environ.get(OTHER_ROCKETMQ)
    if other:
        host, _, port = other.partition(":")
        return f"{host}:{int(port) + 1000}"
    node: RunningNode = request.getfixturevalue("rocketmq_broker")
    host, port = node.ready["listeners"]["rocketmq"][1]
    return f"{host}:{port}"


@pytest.fixture(scope="session")
def run_go(require_tool: Callable[[str, str], object]) -> Callable[..., None]:
    """Go's tool, in a folder here; modules come by version from Go's proxy."""

    def call(folder: str, *arguments: str) -> None:
        require_tool("go", "builds programs with Go clients")
        ended = subprocess.run(
            ["go", *arguments],
            cwd=HERE / folder, env=os.environ | {"GOFLAGS": "-mod=mod -buildvcs=false"},
            capture_output=True, text=True, timeout=GO_LIMIT_S, check=False,
        )  # fmt: skip
        if ended.returncode != 0 and os.environ.get("CI") != "true":
            pytest.skip(f"{folder} could not be built: {ended.stderr[-1000:]}")
        assert ended.returncode == 0, ended.stderr

    return call


@pytest.fixture(scope="session")
def build_go(run_go: Callable[..., None], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """The program of a folder here, built."""

    def build(folder: str) -> str:
        program = tmp_path_factory.mktemp("go") / "client"
        run_go(folder, "build", "-o", str(program), ".")
        return str(program)

    return build


@pytest.fixture(scope="session")
def go_client(build_go: Callable[[str], str]) -> str:
    """The program of tests/compat/rocketmq_go."""
    return build_go("rocketmq_go")


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
        options = ["-nowarn", "-Xlint:none", "-cp", classpath, "-sourcepath", str(source.parent), "-d", str(classes)]
        run(["javac", *options, str(source)])
        return f"{classes}{os.pathsep}{classpath}"

    return compile_one
