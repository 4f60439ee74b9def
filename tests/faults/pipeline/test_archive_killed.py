"""Driver, workers and node are killed at random while messages come; nothing is lost, and nothing doubled."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
from confluent_kafka import KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import KafkaError, NewTopic
from deltalake import DeltaTable

from braidmq.pipeline import archive
from braidmq.pipeline.audit import audit
from braidmq.pipeline.tables import Table
from running_node import RunningNode, WaitFor

PARTITIONS = 3
TOPIC = "orders"
PROGRESS_LIMIT_S = 400.0
PAUSE_S = 0.02


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Sender:
    """Sends numbered messages until it is told to stop, and keeps a ledger of what was acknowledged."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": "5", "log_level": 0}
        )
        self.acknowledged: dict[int, tuple[int, int]] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._stopped.is_set():
            with contextlib.suppress(BufferError):
                value = f"{number} {'x' * 200}".encode()
                self._producer.produce(TOPIC, value, partition=number % PARTITIONS, on_delivery=self._delivered)
                number += 1
            self._producer.poll(0)
            time.sleep(PAUSE_S)  # the rate of sending, not a wait for anything
        self._producer.flush(60)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        value, partition, offset = message.value(), message.partition(), message.offset()
        if error is None and isinstance(value, bytes) and partition is not None and offset is not None:
            self.acknowledged[int(value.split()[0])] = partition, offset

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(90)
        assert not self._thread.is_alive()


class Driver:
    """The archive job in a process group of its own, started again whenever it has ended."""

    def __init__(self, folder: Path, bootstrap: str, path: str) -> None:
        self._command = [sys.executable, str(Path(__file__).with_name("archive_driver.py")), bootstrap, path, TOPIC]
        self._log = (folder / "driver").open("w+")
        self._process: subprocess.Popen[bytes] | None = None
        self.starts = 0

    def ensure(self) -> None:
        if self._process is None or self._process.poll() is not None:
            self.kill()
            self._process = subprocess.Popen(
                self._command, stdout=self._log, stderr=self._log, start_new_session=True, env=dict(os.environ)
            )
            self.starts += 1

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
    """A node, a sender and a driver, and somebody who kills them."""

    def __init__(self, folder: Path, wait_for: WaitFor, seed: int) -> None:
        self._folder = folder
        self._wait_for = wait_for
        self._chance = random.Random(seed)
        self.bootstrap = f"127.0.0.1:{free_port()}"
        self.path = str(folder / "archive")
        self._seen: frozenset[str] = frozenset()
        self._covered = 0
        self._node = self._start_node()
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(20)
        self.sender = Sender(self.bootstrap)
        self.driver = Driver(folder, self.bootstrap, self.path)

    def _start_node(self) -> RunningNode:
        arguments = ["--data", str(self._folder / "data"), "--http", "off", "--kafka", self.bootstrap]
        return RunningNode(self._folder, arguments, {}, self._wait_for).wait_ready()

    def covered(self) -> int:
        """How many offsets the table has. It is opened only where its log has changed: who looks often must not take
        the machine from those who work."""
        log = archive.Folders(self.path).messages / "_delta_log"
        names = frozenset(os.listdir(log)) if log.is_dir() else frozenset()
        if names != self._seen and Table.exists(log.parent):
            self._covered = sum(Table.open(log.parent).state("archive").covered.ends().values())
            self._seen = names
        return self._covered

    def wait_until_covered(self, offsets: int) -> None:
        deadline = time.monotonic() + PROGRESS_LIMIT_S
        while self.covered() < offsets:
            self.driver.ensure()
            if time.monotonic() > deadline:
                pytest.fail(f"the archive stands at {self.covered()} of {offsets}: {self.driver.said()}")
            time.sleep(0.05)

    def kill_something(self) -> None:
        """After some progress, and a little while into the next batch."""
        self.wait_until_covered(self.covered() + 1)
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
        self.sender.stop()
        self.wait_until_covered(sum(self._ends()))

    def _ends(self) -> list[int]:
        highest = dict.fromkeys(range(PARTITIONS), -1)
        for partition, offset in self.sender.acknowledged.values():
            highest[partition] = max(highest[partition], offset)
        return [offset + 1 for offset in highest.values()]

    def close(self) -> None:
        with contextlib.suppress(KafkaException):
            self.sender.stop()
        self.driver.close()
        self._node.clean_up()


def check(scene: Scene) -> None:
    rows = DeltaTable(str(archive.Folders(scene.path).messages)).to_pyarrow_table(
        columns=["partition", "offset", "value"]
    )
    found: dict[tuple[int, int], int] = {}
    for row in rows.to_pylist():
        place = row["partition"], row["offset"]
        assert place not in found, f"{place} is there twice"
        found[place] = int(row["value"].split()[0])
    assert len(scene.sender.acknowledged) > 100
    for number, place in scene.sender.acknowledged.items():
        assert found.get(place) == number, f"message {number} at {place} is lost"
    assert audit(scene.path, bootstrap=scene.bootstrap).findings == []
    marks = archive.read_marks(scene.bootstrap)
    ends = archive.messages_table(scene.path).state("archive").covered.ends()
    assert all(marks[place] <= end for place, end in ends.items() if place in marks), "a mark is ahead of the table"


def run(folder: Path, wait_for: WaitFor, kills: int, seed: int) -> None:
    scene = Scene(folder, wait_for, seed)
    try:
        for _ in range(kills):
            scene.kill_something()
        scene.finish()
        scene.driver.kill()
        check(scene)
    finally:
        scene.close()


@pytest.mark.timeout(1500)
def test_five_kills_lose_nothing_and_double_nothing(tmp_path: Path, wait_for: WaitFor) -> None:
    run(tmp_path, wait_for, 5, seed=4)


@pytest.mark.slow
@pytest.mark.timeout(10800)
def test_fifty_kills_lose_nothing_and_double_nothing(tmp_path: Path, wait_for: WaitFor) -> None:
    run(tmp_path, wait_for, 50, seed=int(os.environ.get("BRAID_SEED", "0")))
