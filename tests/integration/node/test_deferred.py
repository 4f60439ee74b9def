"""Delayed and half messages on a running node, through its whole life and that of the next."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from braidmq.model import Message, Topic
from braidmq.node import Node
from braidmq.records import messages_of, parse_batch
from braidmq.settings import HttpSettings, KafkaSettings, NodeSettings, RocketMQGrpcSettings, RocketMQSettings, Settings

LIMIT_S = 20.0
LATE_MAX_MS = 2_000
"""Far more than it takes, because a test machine may be busy."""


def settings_for(folder: Path) -> Settings:
    return Settings(
        node=NodeSettings(data=folder),
        http=HttpSettings(listen=None),
        kafka=KafkaSettings(listen=()),
        rocketmq=RocketMQSettings(listen=()),
        rocketmq_grpc=RocketMQGrpcSettings(listen=()),
    )


def now_ms() -> int:
    return time.time_ns() // 1_000_000


async def messages_in(node: Node, topic: Topic) -> list[Message]:
    found: list[Message] = []
    for number in topic.partition_numbers:
        offset = node.log.bounds(number).start
        while (data := (await node.log.read(number, offset, 1 << 20)).data) != b"":
            batch = parse_batch(data)
            found += messages_of(batch)
            offset = batch.last_offset + 1
    return found


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not condition():  # noqa: ASYNC110 - the node's own tasks make it true
            await asyncio.sleep(0.005)


async def test_a_delayed_message_comes_at_its_time(tmp_path: Path) -> None:
    node = await Node.start(settings_for(tmp_path))
    try:
        topic = await node.topics.create("orders", partitions=2)
        due_ms = now_ms() + 300
        taken = await node.timers.add(topic, Message(body=b"x"), due_ms)
        assert await messages_in(node, topic) == []
        await until(lambda: any(node.log.bounds(number).end for number in topic.partition_numbers))
        (message,) = await messages_in(node, topic)
        assert message.id == taken.message_id
        assert due_ms <= message.born_ms <= due_ms + LATE_MAX_MS
    finally:
        await node.stop()


async def test_the_next_life_goes_on_with_what_the_last_one_kept(tmp_path: Path) -> None:
    node = await Node.start(settings_for(tmp_path))
    topic = await node.topics.create("orders", partitions=1)
    (number,) = topic.partition_numbers
    taken = await node.timers.add(topic, Message(body=b"delayed"), now_ms() + 1)
    handle, message_id = await node.halves.prepare(topic, Message(body=b"half"), group="g")
    await node.stop()

    node = await Node.start(settings_for(tmp_path))
    try:
        await node.halves.end(handle, commit=True, group="g")
        await until(lambda: node.log.bounds(number).end == 2)
        assert {message.id for message in await messages_in(node, topic)} == {taken.message_id, message_id}
        figures = {metric.name: metric.value for metric in node.metrics()}
        assert figures["braid_halves_committed"] == 1
        assert figures["braid_timers_delivered"] <= 1
    finally:
        await node.stop()
