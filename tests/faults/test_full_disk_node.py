"""A whole node on a disk without room: what would need some is refused clearly, to be tried again; reading and deleting
go on; and what was refused is taken when there is room again.

The disk is a small file system of its own. What fills it are messages, or a file of somebody else.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import httpx
import msgspec
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from braidmq.log.embedded import LogOptions
from braidmq.model import BraidError, Message, Topic
from braidmq.model.errors import StorageFull, StoreFull
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
from faults.foreigner import Foreigner

KIB: Final = 1024
HERE: Final = Address("127.0.0.1", 0)
LIMIT_S: Final = 20.0
BODY: Final = b"x" * 8 * KIB


class SmallNode(Node):
    """Its log's files are as small as its disk."""

    def _log_options(self) -> LogOptions:
        return msgspec.structs.replace(
            super()._log_options(),
            reserve_bytes=256 * KIB,
            journal_file_bytes=128 * KIB,
            segment_bytes=128 * KIB,
        )


def settings_on(disk: Path) -> Settings:
    """Nothing that fills the disk by itself."""
    return Settings(
        node=NodeSettings(data=disk / "data"),
        http=HttpSettings(listen=HERE),
        kafka=KafkaSettings(listen=(Endpoint(HERE),)),
        rocketmq=RocketMQSettings(listen=()),
        rocketmq_grpc=RocketMQGrpcSettings(listen=()),
        telemetry=TelemetrySettings(topics="off"),
        query=QuerySettings(index="off"),
    )


@pytest.fixture
async def node(small_disk: Path) -> AsyncIterator[Node]:
    node = await SmallNode.start(settings_on(small_disk))
    yield node
    await node.stop()


@pytest.fixture
async def api(node: Node) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"http://{node.addresses['http'][0]}", timeout=LIMIT_S) as client:
        yield client


async def append(node: Node, topic: Topic) -> BraidError | None:
    (answer,) = await node.log.append([(topic.partition_numbers[0], batch_messages([Message(body=BODY)]))])
    return answer if isinstance(answer, BraidError) else None


async def until_taken(node: Node, topic: Topic) -> None:
    async with asyncio.timeout(LIMIT_S):
        while (refusal := await append(node, topic)) is not None:
            assert isinstance(refusal, StorageFull)
            await asyncio.sleep(0.02)


async def fill_the_database(node: Node) -> StoreFull:
    """Change what it keeps until that is refused: what room it has of its own is used first."""
    for number in range(2_000):
        try:
            await node.catalog.set_setting(f"test.{number}", "x" * 2 * KIB, changed_by="test")
        except StoreFull as refusal:
            return refusal
    raise AssertionError("the disk never became full")


async def bodies_of(node: Node, name: str, count: int) -> list[bytes | None]:
    consumer = AIOKafkaConsumer(bootstrap_servers=str(node.addresses["kafka"][0]), auto_offset_reset="earliest")
    async with consumer, asyncio.timeout(LIMIT_S):
        consumer.assign([TopicPartition(name, 0)])
        return [(await consumer.getone()).value for _ in range(count)]


async def test_messages_that_fill_the_disk_are_refused_and_deleting_their_topic_makes_room(
    node: Node, api: httpx.AsyncClient
) -> None:
    large, small = [await node.topics.create(name, partitions=1) for name in ("large", "small")]
    assert await append(node, small) is None
    kept = 0
    while (refusal := await append(node, large)) is None:
        kept += 1
    assert isinstance(refusal, StorageFull)
    assert refusal.retriable
    refused = await api.post("/api/v1/topics/small/messages", json={"body": "no room"})
    assert (refused.status_code, refused.json()["code"], refused.json()["retriable"]) == (507, "storage_full", True)
    async with AIOKafkaProducer(bootstrap_servers=str(node.addresses["kafka"][0]), request_timeout_ms=1_000) as asking:
        with pytest.raises(Exception, match=r"(?i)storage|timeout"):
            await asking.send_and_wait("small", BODY)
    assert await bodies_of(node, "large", kept) == [BODY] * kept
    assert (await api.delete("/api/v1/topics/large")).status_code in (200, 204)
    await until_taken(node, small)
    assert await bodies_of(node, "small", 2) == [BODY] * 2
    assert node.log.failure is None


async def test_a_disk_that_others_have_filled_refuses_changes_clearly_and_takes_them_when_there_is_room(
    node: Node, api: httpx.AsyncClient, small_disk: Path
) -> None:
    topic = await node.topics.create("orders", partitions=1)
    assert await append(node, topic) is None
    foreigner = Foreigner(small_disk)
    foreigner.fill()
    refusal = await fill_the_database(node)
    assert refusal.retriable
    assert "is full" in refusal.message
    answer = await api.post("/api/v1/topics", json={"name": "more"})
    assert (answer.status_code, answer.json()["code"], answer.json()["retriable"]) == (507, "store_full", True)
    assert await bodies_of(node, "orders", 1) == [BODY]
    foreigner.leave()
    assert (await api.post("/api/v1/topics", json={"name": "more"})).status_code == 201
    await until_taken(node, topic)


async def test_a_topic_is_deleted_although_the_database_has_no_room_for_anything_else(
    node: Node, small_disk: Path
) -> None:
    large, small = [await node.topics.create(name, partitions=1) for name in ("large", "small")]
    for _ in range(100):
        assert await append(node, large) is None
    Foreigner(small_disk).fill()
    await fill_the_database(node)
    await node.topics.delete(large)
    assert node.catalog.topic_by_id(large.id) is None
    await until_taken(node, small)
    async with asyncio.timeout(LIMIT_S):
        while True:
            try:
                await node.topics.create("again", partitions=1)
                break
            except StoreFull:
                await asyncio.sleep(0.02)
