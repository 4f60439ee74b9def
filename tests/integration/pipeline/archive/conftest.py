"""Topics to archive, and where."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from running_node import RunningNode

MakeTopic = Callable[..., str]


@pytest.fixture
def make_topic(node: RunningNode) -> MakeTopic:
    """`make_topic(partitions=2)` is the name of a topic that nobody else uses."""

    def make(partitions: int = 2, **config: str) -> str:
        name = f"topic-{os.urandom(4).hex()}"
        admin = AdminClient({"bootstrap.servers": node.bootstrap})
        admin.create_topics([NewTopic(name, partitions, 1, config=config)])[name].result(20)
        return name

    return make


Send = Callable[..., None]


@pytest.fixture
def send(node: RunningNode) -> Send:
    """`send(topic, range(100))` sends numbered messages, each with an id and two keys."""

    def deliver(topic: str, numbers: Sequence[int], *, partitions: int = 2) -> None:
        producer = Producer({"bootstrap.servers": node.bootstrap, "linger.ms": "5"})
        for number in numbers:
            headers: list[tuple[str, str | bytes | None]] = [
                ("UNIQ_KEY", f"{topic}-{number}".encode()),
                ("KEYS", f"order-{number} user-{number % 7}".encode()),
            ]
            value = json.dumps({"number": number, "body": "x" * 50}).encode()
            producer.produce(topic, value, key=str(number), headers=headers, partition=number % partitions)
            if number % 1000 == 0:
                producer.poll(0)
        assert producer.flush(30) == 0

    return deliver


@pytest.fixture
def archive_path(tmp_path: Path) -> str:
    return str(tmp_path / "archive")
