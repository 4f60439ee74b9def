"""Kafka Connect, distributed: its own group protocol, compacted topics of its own, a file in and a file out."""

import json
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from compat_support import KAFKA, jars
from running_node import RunningNode, WaitFor

START_LIMIT_S = 120
LINES = [f"line {number}" for number in range(200)]


class Worker:
    """A Connect worker in its own process, and its REST interface."""

    def __init__(self, classpath: str, folder: Path, bootstrap: str) -> None:
        with socket.socket() as chosen:
            chosen.bind(("127.0.0.1", 0))
            self._port = chosen.getsockname()[1]
        settings = folder / "worker.properties"
        settings.write_text(
            "\n".join(
                [
                    f"bootstrap.servers={bootstrap}",
                    "group.id=connect",
                    *(f"{kind}.storage.topic=connect-{kind}" for kind in ("config", "offset", "status")),
                    *(f"{kind}.storage.replication.factor=1" for kind in ("config", "offset", "status")),
                    "key.converter=org.apache.kafka.connect.storage.StringConverter",
                    "value.converter=org.apache.kafka.connect.storage.StringConverter",
                    "offset.flush.interval.ms=500",
                    f"listeners=HTTP://127.0.0.1:{self._port}",
                    "connector.client.config.override.policy=All",
                ]
            )
        )
        self._log = (folder / "worker.log").open("w")
        self.process = subprocess.Popen(
            ["java", "-cp", classpath, "org.apache.kafka.connect.cli.ConnectDistributed", str(settings)],
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )

    def ask(self, path: str, body: object = None) -> Any:
        """What the worker answers; None while it does not."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}{path}", data, {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
                return json.load(answer)
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return None

    def is_running(self, connector: str) -> bool:
        status = self.ask(f"/connectors/{connector}/status")
        return bool(status) and [task["state"] for task in status["tasks"]] == ["RUNNING"]

    def offsets(self, connector: str) -> list[int]:
        """How far a source has come, as kept in its topic."""
        found = self.ask(f"/connectors/{connector}/offsets")
        return [each["offset"]["position"] for each in found["offsets"]] if found else []

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._log.close()


@pytest.fixture
def worker(
    broker: RunningNode, require_tool: Callable[[str, str], object], tmp_path: Path, wait_for: WaitFor
) -> Iterator[Worker]:
    require_tool("java", "runs Kafka Connect")
    require_tool("mvn", "fetches Kafka Connect")
    parts = ("connect-runtime", "connect-file")
    classpath = jars(f"kafka-connect-{KAFKA}", *(f"org.apache.kafka:{part}:{KAFKA}" for part in parts))
    worker = Worker(classpath, tmp_path, broker.bootstrap)
    try:
        wait_for(lambda: worker.ask("/connectors") is not None or worker.process.poll() is not None, START_LIMIT_S)
        assert worker.process.poll() is None, (tmp_path / "worker.log").read_text()[-3000:]
        yield worker
    finally:
        worker.stop()


@pytest.mark.timeout(400)
def test_lines_go_from_a_file_through_a_topic_to_a_file(worker: Worker, tmp_path: Path, wait_for: WaitFor) -> None:
    source, sink = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("\n".join(LINES) + "\n")
    common = {"tasks.max": "1"}
    reading = {"connector.class": "FileStreamSource", "file": str(source), "topic": "connect-lines", **common}
    writing = {"connector.class": "FileStreamSink", "file": str(sink), "topics": "connect-lines", **common}
    for name, settings in (("reading", reading), ("writing", writing)):
        wait_for(
            lambda name=name, settings=settings: bool(worker.ask("/connectors", {"name": name, "config": settings})), 60
        )
        wait_for(lambda name=name: worker.is_running(name), 60)
    wait_for(lambda: sink.exists() and len(sink.read_text().splitlines()) >= len(LINES), 60)
    assert sink.read_text().splitlines() == LINES
    size = source.stat().st_size
    wait_for(lambda: worker.offsets("reading") == [size], 60)
