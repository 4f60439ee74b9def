"""A node as users run it: the command in a process of its own."""

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

WaitFor = Callable[..., None]

START_LIMIT_S = 30.0
STOP_LIMIT_S = 20.0


class Answer(NamedTuple):
    """What HTTP gave back."""

    status: int
    content_type: str
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class RunningNode:
    """A `braid up` process."""

    def __init__(
        self,
        folder: Path,
        arguments: list[str],
        environment: dict[str, str],
        wait_for: WaitFor,
        *,
        open_files_max: int | None = None,
        program: Sequence[str] = ("-m", "braidmq"),
    ) -> None:
        self._wait_for = wait_for
        self.ready_file = folder / "ready.json"
        self.ready_file.unlink(missing_ok=True)
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("BRAID_")}
        self._out, self._err = (folder / "out").open("w+"), (folder / "err").open("w+")
        command = [sys.executable, *program, "up", "--ready-file", str(self.ready_file), *arguments]
        for listener in ("--rocketmq", "--grpc"):
            if not any(argument.partition("=")[0] == listener for argument in arguments):
                command += [listener, "off"]
        if open_files_max is not None:  # as a unit's LimitNOFILE does
            command = ["sh", "-c", f'ulimit -n {open_files_max} && exec "$@"', "sh", *command]
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=self._out, stderr=self._err, env=inherited | environment
        )

    def wait_ready(self) -> "RunningNode":
        self._wait_for(lambda: self.ready_file.exists() or self.process.poll() is not None, START_LIMIT_S)
        assert self.ready_file.exists(), f"ended with {self.process.returncode}: {self.err}"
        return self

    @property
    def ready(self) -> Any:
        return msgspec.json.decode(self.ready_file.read_bytes())

    @property
    def url(self) -> str:
        host, port = self.ready["listeners"]["http"][0]
        return f"http://{host}:{port}"

    @property
    def console_token(self) -> str:
        """What the console asks for, as it was printed."""
        return self.out.partition("/console/login?token=")[2].split()[0]

    @property
    def bootstrap(self) -> str:
        """Where Kafka clients begin."""
        host, port = self.ready["listeners"]["kafka"][0]
        return f"{host}:{port}"

    @property
    def name_server(self) -> str:
        """Where RocketMQ clients begin."""
        host, port = self.ready["listeners"]["rocketmq"][0]
        return f"{host}:{port}"

    @property
    def grpc_address(self) -> str:
        """Where RocketMQ 5 clients begin."""
        host, port = self.ready["listeners"]["rocketmq_grpc"][0]
        return f"{host}:{port}"

    @property
    def out(self) -> str:
        return Path(self._out.name).read_text()

    @property
    def err(self) -> str:
        return Path(self._err.name).read_text()

    def get(self, path: str) -> Answer:
        try:
            with urllib.request.urlopen(self.url + path, timeout=10) as response:  # noqa: S310
                return Answer(response.status, response.headers["content-type"], response.read())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.headers["content-type"], error.read())

    def stop(self, number: signal.Signals = signal.SIGTERM) -> float:
        """Seconds until the process had ended."""
        started = time.monotonic()
        self.process.send_signal(number)
        self.wait_ended()
        return time.monotonic() - started

    def wait_ended(self) -> int:
        return self.process.wait(STOP_LIMIT_S)

    def clean_up(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._out.close()
        self._err.close()
