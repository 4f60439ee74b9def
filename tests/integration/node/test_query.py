"""Finding messages on a running node, whichever protocol they came by."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer

from braidmq.log import Appended
from braidmq.model import Message, Topic
from braidmq.node import Node
from braidmq.protocols.listener import Address, Endpoint
from braidmq.records import batch_messages
from braidmq.settings import (
    HttpSettings,
    KafkaSettings,
    NodeSettings,
    QuerySettings,
    RocketMQGrpcSettings,
    RocketMQSettings,
    Settings,
    TelemetrySettings,
)


def settings(folder: Path, index: str = "on") -> Settings:
    return Settings(
        node=NodeSettings(data=folder),
        http=HttpSettings(listen=None),
        kafka=KafkaSettings(listen=(Endpoint(Address("127.0.0.1", 0)),)),
        rocketmq=RocketMQSettings(listen=()),
        rocketmq_grpc=RocketMQGrpcSettings(listen=()),
        query=QuerySettings(index="on" if index == "on" else "off"),
        telemetry=TelemetrySettings(topics="off"),
    )


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Node]:
    node = await Node.start(settings(tmp_path))
    yield node
    await node.stop()


def topic_of(node: Node) -> Topic:
    topic = node.catalog.topic("default", "orders")
    assert topic is not None
    return topic


async def send_by_kafka(node: Node, count: int) -> None:
    (address,) = node.addresses["kafka"]
    async with AIOKafkaProducer(bootstrap_servers=f"{address.host}:{address.port}", linger_ms=5) as producer:
        sent = [
            await producer.send("orders", b"%d" % n, key=b"k%d" % (n % 7), headers=[("UNIQ_KEY", b"ID%d" % n)])
            for n in range(count)
        ]
        await asyncio.gather(*sent)


async def test_messages_of_kafka_producers_and_of_the_house_are_found_at_once_and_after_a_restart(
    node: Node, tmp_path: Path
) -> None:
    await send_by_kafka(node, 500)
    topic = topic_of(node)
    mine = Message.create(b"mine", id="MINE", keys=["k3", "other"], born_ms=1)
    (result,) = await node.log.append([(topic.partition_numbers[0], batch_messages([mine]))])
    assert isinstance(result, Appended)
    for _ in range(2):
        for n in range(0, 500, 50):
            (found,) = await node.query.by_id(topic, f"ID{n}")
            assert (found.body, found.topic) == (b"%d" % n, "orders")
            assert await node.query.at(topic.partition_numbers[found.partition], found.offset) == found
        expected = {b"%d" % n for n in range(500) if n % 7 == 3} | {b"mine"}
        assert {each.body for each in await node.query.by_key(topic, "k3", limit=1000)} == expected
        assert [each.body for each in await node.query.by_key(topic, "other")] == [b"mine"]
        await node.stop()
        node = await Node.start(settings(tmp_path))
    figures = {metric.name: metric.value for metric in node.metrics()}
    assert figures["braid_query_behind_records"] == 0
    assert figures["braid_query_indexed_records"] == 0
    await node.stop()


async def test_an_index_that_is_turned_off_is_removed(node: Node, tmp_path: Path) -> None:
    await send_by_kafka(node, 10)
    await node.query.by_id(topic_of(node), "ID1")
    await node.stop()
    assert (tmp_path / "query").is_dir()
    without = await Node.start(settings(tmp_path, "off"))
    assert not (tmp_path / "query").exists()
    assert (await without.query.by_time(topic_of(without), 0, 1 << 60)) != []
    await without.stop()
