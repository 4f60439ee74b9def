"""A librdkafka producer goes on with its transactions while its node is killed and started again, and again."""

import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from running_node import RunningNode, WaitFor

KILLS = 4
PARTITIONS = 2
LIMIT_S = 90.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Phoenix:
    """A node that is killed and comes back, always at the same address."""

    def __init__(self, folder: Path, wait_for: WaitFor) -> None:
        self._folder = folder
        self._wait_for = wait_for
        self.bootstrap = f"127.0.0.1:{free_port()}"
        self._node = self._start()

    def _start(self) -> RunningNode:
        arguments = ["--data", str(self._folder / "data"), "--http", "off", "--kafka", self.bootstrap]
        return RunningNode(self._folder, arguments, {}, self._wait_for).wait_ready()

    def kill_and_start(self) -> None:
        self._node.clean_up()
        self._node = self._start()

    def end(self) -> None:
        self._node.clean_up()


@pytest.fixture
def phoenix(tmp_path: Path, wait_for: WaitFor) -> Iterator[Phoenix]:
    node = Phoenix(tmp_path, wait_for)
    yield node
    node.end()


class Writer:
    """Puts each number into every partition, in one transaction, and goes on when that is committed."""

    def __init__(self, bootstrap: str) -> None:
        settings = {"bootstrap.servers": bootstrap, "transactional.id": "tx", "log_level": 0}
        self._producer = Producer(settings | {"reconnect.backoff.max.ms": 200, "retry.backoff.max.ms": 200})
        self._until(lambda: self._producer.init_transactions(10))
        self.committed = 0
        self.attempts = 0

    def write_next(self) -> None:
        while not self._attempt(self.committed):
            self._until(lambda: self._producer.abort_transaction(10))
        self.committed += 1

    def _attempt(self, number: int) -> bool:
        self.attempts += 1
        self._producer.begin_transaction()
        try:
            for partition in range(PARTITIONS):
                self._producer.produce("orders", b"%d" % number, partition=partition)
            self._until(lambda: self._producer.commit_transaction(10))
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
            return False
        return True

    def _until(self, call: Callable[[], object]) -> None:
        """Repeat the call while its error says that this may help."""
        deadline = time.monotonic() + LIMIT_S
        while True:
            try:
                call()
            except KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() > deadline:
                    raise
            else:
                return


def committed_values(bootstrap: str, partition: int) -> list[int]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "readers",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition("orders", partition, 0)])
    values: list[int] = []
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        message = consumer.poll(0.5)
        if message is None:
            continue
        if (error := message.error()) is None:
            values.append(int(message.value() or b""))
        elif error.code() == KafkaError._PARTITION_EOF:
            consumer.close()
            return values
    raise AssertionError("a reader of committed records did not get to the end")


@pytest.mark.timeout(300)
def test_every_number_is_committed_once_in_every_partition(phoenix: Phoenix) -> None:
    writer = Writer(phoenix.bootstrap)
    writer.write_next()
    seeded = random.Random(4711)
    kills = threading.Event()

    def kill_often() -> None:
        for _ in range(KILLS):
            time.sleep(seeded.uniform(0.2, 0.8))  # the moments of deaths, not a wait for anything
            phoenix.kill_and_start()
        kills.set()

    killer = threading.Thread(target=kill_often)
    killer.start()
    while not kills.is_set():
        writer.write_next()
    killer.join()
    writer.write_next()
    for partition in range(PARTITIONS):
        assert committed_values(phoenix.bootstrap, partition) == list(range(writer.committed))
