"""A node, somebody who sends, a driver of Spark, and somebody who kills them at random moments."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest
from confluent_kafka import KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import KafkaError, NewTopic

from braidmq.pipeline.tables import Table
from running_node import RunningNode, WaitFor

PROGRESS_LIMIT_S = 400.0
PAUSE_S = 0.02
TESTS = Path(__file__).parents[2]
Place = tuple[str, int]
"""Of a topic and a partition."""


class Numbered(NamedTuple):
    """The message of a number."""

    topic: str
    partition: int
    value: bytes
    headers: Sequence[tuple[str, bytes]] = ()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Sender:
    """Sends numbered messages until it is told to stop, and keeps a ledger of what was acknowledged."""

    def __init__(self, bootstrap: str, message: Callable[[int], Numbered]) -> None:
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": "5", "log_level": 0}
        )
        self._message = message
        self.acknowledged: dict[int, tuple[str, int, int]] = {}
        """By number: topic, partition, offset."""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._stopped.is_set():
            with contextlib.suppress(BufferError):
                self._send(number)
                number += 1
            self._producer.poll(0)
            time.sleep(PAUSE_S)  # the rate of sending, not a wait for anything
        self._producer.flush(60)

    def _send(self, number: int) -> None:
        topic, partition, value, headers = self._message(number)

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is None and (offset := message.offset()) is not None:
                self.acknowledged[number] = topic, partition, offset

        self._producer.produce(topic, value, partition=partition, headers=[*headers], on_delivery=delivered)

    def ends(self) -> dict[Place, int]:
        """Behind what was acknowledged last."""
        found: dict[Place, int] = {}
        for topic, partition, offset in self.acknowledged.values():
            found[topic, partition] = max(found.get((topic, partition), 0), offset + 1)
        return found

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(90)
        assert not self._thread.is_alive()


class Driver:
    """A program with Spark in a process group of its own, started again whenever it has ended."""

    def __init__(self, folder: Path, program: str, *arguments: str) -> None:
        self._command = [sys.executable, str(Path(__file__).with_name(program)), *arguments]
        self._log = (folder / "driver").open("w+")
        self._process: subprocess.Popen[bytes] | None = None

    def ensure(self) -> None:
        if self._process is None or self._process.poll() is not None:
            self.kill()
            environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
            self._process = subprocess.Popen(
                self._command, stdout=self._log, stderr=self._log, start_new_session=True, env=environment
            )

    def kill(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def kill_worker(self, chance: random.Random) -> None:
        """One of the Python processes that Spark reads and writes with."""
        if self._process is None or self._process.poll() is not None:
            return
        with contextlib.suppress(psutil.Error):
            family = psutil.Process(self._process.pid).children(recursive=True)
            workers = [each for each in family if "pyspark" in " ".join(each.cmdline()) and "java" not in each.name()]
            if workers:
                chance.choice(workers).kill()

    def said(self) -> str:
        return Path(self._log.name).read_text()[-4000:]

    def close(self) -> None:
        self.kill()
        self._log.close()


class Scene:
    """`tables` are those that show how far the driver is, by the names under which it commits to them."""

    def __init__(
        self,
        folder: Path,
        wait_for: WaitFor,
        seed: int,
        *,
        topics: Mapping[str, int],
        message: Callable[[int], Numbered],
        tables: Mapping[str, Path],
        driver: Callable[[str], Driver],
    ) -> None:
        self._folder = folder
        self._wait_for = wait_for
        self._chance = random.Random(seed)
        self._tables = tables
        self._seen: dict[str, frozenset[str]] = {}
        self._ends: dict[str, Mapping[Place, int]] = {}
        self.bootstrap = f"127.0.0.1:{free_port()}"
        self._node = self._start_node()
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        made = admin.create_topics([NewTopic(name, partitions, 1) for name, partitions in topics.items()])
        for future in made.values():
            future.result(20)
        self.sender = Sender(self.bootstrap, message)
        self.driver = driver(self.bootstrap)

    def _start_node(self) -> RunningNode:
        arguments = ["--data", str(self._folder / "data"), "--http", "off", "--kafka", self.bootstrap]
        arguments += ["--set", "telemetry.topics=off"]  # what it tells of itself is sent by the test, if at all
        return RunningNode(self._folder, arguments, {}, self._wait_for).wait_ready()

    def covered(self) -> dict[Place, int]:
        """Up to where the tables have each partition. A table is opened only where its log has changed: who looks often
        must not take the machine from those who work."""
        for app, path in self._tables.items():
            log = path / "_delta_log"
            names = frozenset(os.listdir(log)) if log.is_dir() else frozenset()
            if names != self._seen.get(app) and Table.exists(path):
                self._ends[app] = Table.open(path).state(app).covered.ends()
                self._seen[app] = names
        return {place: end for ends in self._ends.values() for place, end in ends.items()}

    def wait_until(self, is_so: Callable[[], bool], what: str) -> None:
        """Starts the driver again as often as it ends."""
        deadline = time.monotonic() + PROGRESS_LIMIT_S
        while not is_so():
            self.driver.ensure()
            if time.monotonic() > deadline:
                pytest.fail(f"it does not come to {what}; it stands at {self.covered()}: {self.driver.said()}")
            time.sleep(0.05)

    def kill_something(self) -> None:
        """After some progress, and a little while into the next batch."""
        before = sum(self.covered().values())
        self.wait_until(lambda: sum(self.covered().values()) > before, f"more than {before} offsets")
        time.sleep(self._chance.uniform(0, 1.0))  # a random moment is what is tested
        victim = self._chance.choice(["driver", "driver", "worker", "node"])
        if victim == "driver":
            self.driver.kill()
        elif victim == "worker":
            self.driver.kill_worker(self._chance)
        else:
            self._node.clean_up()
            self._node = self._start_node()

    def finish(self) -> None:
        """Until all that was sent is in the tables."""
        self.sender.stop()
        ends = self.sender.ends()
        self.wait_until(lambda: all(self.covered().get(place, 0) >= end for place, end in ends.items()), f"{ends}")

    def close(self) -> None:
        with contextlib.suppress(KafkaException):
            self.sender.stop()
        self.driver.close()
        self._node.clean_up()
