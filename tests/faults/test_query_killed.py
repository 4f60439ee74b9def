"""A node that is killed while it indexes: every acknowledged message is found afterwards."""

import asyncio
import random
import threading
from pathlib import Path
from typing import Any

import confluent_kafka

from braidmq.node import Node
from braidmq.settings import (
    HttpSettings,
    KafkaSettings,
    NodeSettings,
    QuerySettings,
    RocketMQGrpcSettings,
    RocketMQSettings,
    Settings,
)
from running_node import RunningNode, WaitFor

KILLS = 3
MESSAGES_BEFORE_KILL = (20_000, 60_000)
LOOKUPS = 150
ARGUMENTS = ["--http", "off", "--kafka", "127.0.0.1:0", "--flush", "interval"]
MEMORY_BYTES = 1 << 20
SHARE_PERCENT = 80
QUICK = ["--set", f"query.memory_bytes={MEMORY_BYTES}", "--set", f"query.share_percent={SHARE_PERCENT}"]


def send_until_killed(node: RunningNode, first: int, kill_after: int) -> list[int]:
    """The messages that were acknowledged."""
    acknowledged: list[int] = []
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": node.bootstrap, "linger.ms": 5, "message.timeout.ms": 3000, "acks": "all"}
    )
    killed = threading.Event()
    number = first
    while not killed.is_set():

        def delivered(error: Any, _: Any, number: int = number) -> None:
            if error is None:
                acknowledged.append(number)
            if len(acknowledged) >= kill_after and not killed.is_set():
                node.process.kill()
                killed.set()

        try:
            producer.produce("orders", b"%d" % number, headers=[("UNIQ_KEY", b"ID%d" % number)], on_delivery=delivered)
            number += 1
        except BufferError:
            producer.poll(0.01)
        producer.poll(0)
    producer.flush(10)
    node.process.wait()
    return acknowledged


async def check(folder: Path, acknowledged: list[int], chance: random.Random) -> float:
    """How many files the index has."""
    settings = Settings(
        node=NodeSettings(data=folder),
        http=HttpSettings(listen=None),
        kafka=KafkaSettings(listen=()),
        rocketmq=RocketMQSettings(listen=()),
        rocketmq_grpc=RocketMQGrpcSettings(listen=()),
        query=QuerySettings(memory_bytes=MEMORY_BYTES, share_percent=SHARE_PERCENT),
    )
    node = await Node.start(settings)
    topic = node.catalog.topic("default", "orders")
    assert topic is not None
    while any(each.behind for each in node.query.indexed_to(topic).values()):
        await node.query.by_id(topic, "none")
    for number in [*chance.sample(acknowledged, LOOKUPS), acknowledged[-1]]:
        found = await node.query.by_id(topic, f"ID{number}")
        assert {each.body for each in found} == {b"%d" % number}, number
    files = next(metric.value for metric in node.metrics() if metric.name == "braid_query_files")
    await node.stop()
    return files


def test_every_acknowledged_message_is_found_after_kills(tmp_path: Path, wait_for: WaitFor) -> None:
    chance = random.Random(3)
    acknowledged: list[int] = []
    data = tmp_path / "data"
    files = 0.0
    for life in range(KILLS):
        folder = tmp_path / f"life-{life}"
        folder.mkdir()
        node = RunningNode(folder, ["--data", str(data), *ARGUMENTS, *QUICK], {}, wait_for).wait_ready()
        try:
            acknowledged += send_until_killed(node, life * 1_000_000, chance.randint(*MESSAGES_BEFORE_KILL))
        finally:
            node.clean_up()
        files = asyncio.run(check(data, acknowledged, chance))
    assert files > 0
