"""A node that is killed at any moment under consumers: what they were told is true afterwards, and they work on."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import confluent_kafka
import pytest

from running_node import RunningNode

WaitFor = Callable[..., None]

KILLS = 4
PARTITIONS = 4


class Life:
    """A node that is started again on the same folder and port after each kill."""

    def __init__(self, folder: Path, wait_for: WaitFor) -> None:
        self._folder = folder
        self._wait_for = wait_for
        self._port = 0
        self._lives = 0
        self.node = self.start()

    def start(self) -> RunningNode:
        folder = self._folder / f"life-{self._lives}"
        folder.mkdir()
        self._lives += 1
        listen = f"kafka.listen=127.0.0.1:{self._port}"
        quick = ["--set", "kafka.group_heartbeat_ms=200", "--set", f"topics.partitions={PARTITIONS}"]
        arguments = ["--data", str(self._folder / "data"), "--http", "off", "--set", listen, *quick]
        self.node = RunningNode(folder, arguments, {}, self._wait_for).wait_ready()
        self._port = int(self.node.bootstrap.rpartition(":")[2])
        return self.node

    def kill(self) -> None:
        self.node.process.kill()
        self.node.process.wait()
        self.node.clean_up()


@pytest.fixture
def life(tmp_path: Path, wait_for: WaitFor) -> Iterator[Life]:
    life = Life(tmp_path, wait_for)
    yield life
    life.node.clean_up()


class Committer:
    """Reads, and commits after each message; remembers what was acknowledged, and how often it was assigned to."""

    def __init__(self, bootstrap: str, protocol: str) -> None:
        self.acknowledged: dict[int, int] = {}
        self.assignments = 0
        self._stop = threading.Event()
        settings = {"bootstrap.servers": bootstrap, "group.id": "g", "group.protocol": protocol}
        settings |= {"auto.offset.reset": "earliest", "reconnect.backoff.max.ms": "100"}
        self._consumer = confluent_kafka.Consumer(settings | {"enable.auto.commit": "false"})
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._consumer.subscribe(["orders"], on_assign=self._on_assign)
        while not self._stop.is_set():
            message = self._consumer.poll(0.05)
            if message is None or message.error() is not None:
                continue
            try:
                self._consumer.commit(message=message, asynchronous=False)
            except confluent_kafka.KafkaException:
                continue  # the node is gone: nothing was promised
            self.acknowledged[message.partition() or 0] = (message.offset() or 0) + 1
        self._consumer.close()

    def _on_assign(self, *_: object) -> None:
        self.assignments += 1

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(30)


def committed(bootstrap: str) -> dict[int, int]:
    consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": "g"})
    try:
        places = [confluent_kafka.TopicPartition("orders", index) for index in range(PARTITIONS)]
        return {each.partition: each.offset for each in consumer.committed(places, timeout=20)}
    finally:
        consumer.close()


@pytest.mark.timeout(180)
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_no_acknowledged_offset_is_lost_and_nobody_has_to_join_again(
    life: Life, wait_for: WaitFor, protocol: str
) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": life.node.bootstrap})
    committer = Committer(life.node.bootstrap, protocol)
    sent = 0
    try:
        for kill in range(KILLS):
            for _ in range(60):
                producer.produce("orders", b"x", partition=sent % PARTITIONS)
                sent += 1
            producer.flush(30)
            before = sum(committer.acknowledged.values())
            wait_for(lambda: sum(committer.acknowledged.values()) > before + 5 + kill)  # noqa: B023
            life.kill()
            promised = dict(committer.acknowledged)
            life.start()
            kept = committed(life.node.bootstrap)
            assert all(kept[index] >= offset for index, offset in promised.items()), (promised, kept)
        wait_for(lambda: sum(committer.acknowledged.values()) == sent, 60)
        assert committer.assignments == 1, "members work on as if nothing had happened"
    finally:
        committer.stop()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and sum(committed(life.node.bootstrap).values()) != sent:
        pass
    assert sum(committed(life.node.bootstrap).values()) == sent
