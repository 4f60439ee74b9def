"""A node as users run it, and the command as they type it: in this process, or in one of its own."""

import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from braidmq.cli import main
from running_node import RunningNode


class Ended(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.out)


Braid = Callable[..., Ended]


@pytest.fixture(scope="package")
def node(tmp_path_factory: pytest.TempPathFactory, wait_for: Any) -> Iterator[RunningNode]:
    folder = tmp_path_factory.mktemp("node")
    local = "127.0.0.1:0"
    arguments = ["--data", str(folder / "data"), "--http", local, "--kafka", local, "--rocketmq", local]
    running = RunningNode(folder, [*arguments, "--set", "log.flush=interval"], {}, wait_for)
    try:
        yield running.wait_ready()
    finally:
        running.clean_up()


@pytest.fixture
def environment(node: RunningNode, tmp_path: Path) -> dict[str, str]:
    """What the command's environment is: this node, and contexts of nobody."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BRAID_")}
    return kept | {"BRAID_URL": node.url, "XDG_CONFIG_HOME": str(tmp_path / "config"), "PYTHONPATH": _sources()}


def _sources() -> str:
    import braidmq

    return str(Path(braidmq.__file__).parents[1])


@pytest.fixture
def braid(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Braid:
    """`braid("topic", "list")` in this process; `stdin` is what is piped to it."""
    for name in [name for name in os.environ if name.startswith("BRAID_")]:
        monkeypatch.delenv(name)
    for name in ("BRAID_URL", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, environment[name])

    def run(*arguments: str, stdin: bytes = b"") -> Ended:
        monkeypatch.setattr("sys.argv", ["braid", *arguments])
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ended:
            main()
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        return Ended(int(ended.value.code or 0), out.decode(errors="surrogateescape"), err.decode())

    return run


@pytest.fixture
def done(braid: Braid) -> Braid:
    """The same for what must succeed."""

    def run(*arguments: str, stdin: bytes = b"") -> Ended:
        ended = braid(*arguments, stdin=stdin)
        assert ended.status == 0, (arguments, ended)
        return ended

    return run


Started = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def started(environment: dict[str, str], tmp_path: Path) -> Iterator[Started]:
    """The command in a process of its own, which ends with the test."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(
        *arguments: str,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
    ) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "braidmq", *arguments]
        process = subprocess.Popen(command, env=environment, cwd=tmp_path, stdin=stdin, stdout=stdout, stderr=stderr)
        processes.append(process)
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
