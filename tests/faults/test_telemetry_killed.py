"""A node that is killed takes no more of its telemetry with it than the minute it was in, and that shows."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import msgspec
import pytest

from running_node import RunningNode, WaitFor

Launch = Callable[[], RunningNode]
MINUTE_LIMIT_S = 90.0


@pytest.fixture
def launch(tmp_path: Path, wait_for: WaitFor) -> Iterator[Launch]:
    nodes: list[RunningNode] = []

    def start() -> RunningNode:
        folder = tmp_path / f"process-{len(nodes)}"
        folder.mkdir()
        arguments = ["--data", str(tmp_path / "data"), "--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0"]
        nodes.append(RunningNode(folder, arguments, {}, wait_for))
        return nodes[-1].wait_ready()

    yield start
    for node in nodes:
        node.clean_up()


def produce(node: RunningNode, count: int) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": node.bootstrap})
    for _ in range(count):
        producer.produce("orders", b"body")
    assert producer.flush(20) == 0


def told(node: RunningNode) -> list[dict[str, Any]]:
    """All samples of usage so far."""
    consumer = confluent_kafka.Consumer({"bootstrap.servers": node.bootstrap, "group.id": "any"})
    try:
        place = confluent_kafka.TopicPartition("__braid.usage", 0, 0)
        try:
            _, end = consumer.get_watermark_offsets(place, timeout=5)
        except confluent_kafka.KafkaException:
            return []  # the first minute is not over
        consumer.assign([place])
        samples: list[dict[str, Any]] = []
        while len(samples) < end:
            samples += [msgspec.json.decode(each.value() or b"") for each in consumer.consume(100, 1.0)]
        return samples
    finally:
        consumer.close()


def minutes(node: RunningNode) -> list[dict[str, Any]]:
    return [each for each in told(node) if each["kind"] == "minute"]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_only_the_minute_of_the_kill_is_missing_and_the_gap_shows(launch: Launch, wait_for: WaitFor) -> None:
    node = launch()
    produce(node, 30)
    wait_for(lambda: len(minutes(node)) == 1, MINUTE_LIMIT_S)
    produce(node, 5)
    node.process.kill()
    node.wait_ended()
    node = launch()
    produce(node, 7)
    wait_for(lambda: len(minutes(node)) == 2, MINUTE_LIMIT_S)
    samples = told(node)
    came = [each["messages"] for each in samples if each["kind"] == "usage" and each["direction"] == "in"]
    assert came == [30, 7]
    for earlier, later in itertools.pairwise(minutes(node)):
        assert later["life_ms"] != earlier["life_ms"]
        assert later["from_ms"] > earlier["until_ms"]
