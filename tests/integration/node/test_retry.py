"""Sending back, dead letters and their replay on a running node, through two of its lives."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from braidmq.core.retry import ReplayTo
from braidmq.model import ATTEMPT_HEADER, DEFAULT_INSTANCE, REPLAY_HEADER, Group, Message, TraceKind
from braidmq.node import Node
from braidmq.records import batch_messages, messages_of, parse_batch
from braidmq.settings import (
    HttpSettings,
    KafkaSettings,
    NodeSettings,
    RocketMQGrpcSettings,
    RocketMQSettings,
    Settings,
    TopicsSettings,
)

LIMIT_S = 20.0
GROUP = "payers"


def settings_for(folder: Path) -> Settings:
    """Topics are not made by being used; the groups' own are all the same."""
    return Settings(
        node=NodeSettings(data=folder),
        http=HttpSettings(listen=None),
        kafka=KafkaSettings(listen=()),
        rocketmq=RocketMQSettings(listen=()),
        rocketmq_grpc=RocketMQGrpcSettings(listen=()),
        topics=TopicsSettings(auto_create="off"),
    )


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not condition():  # noqa: ASYNC110 - the node's own tasks make it true
            await asyncio.sleep(0.005)


def number_of(node: Node, name: str) -> int:
    topic = node.catalog.topic(DEFAULT_INSTANCE, name)
    assert topic is not None
    (number,) = topic.partition_numbers
    return number


async def kinds_of(node: Node, message_id: str, count: int) -> list[TraceKind]:
    """What happened to a message, once so many of its steps are kept."""
    async with asyncio.timeout(LIMIT_S):
        while len(found := await node.lives.by_id(message_id)) < count:  # noqa: ASYNC110 - kept by the node
            await asyncio.sleep(0.02)
    return [event.kind for event in found]


async def last_message(node: Node, name: str) -> Message:
    number = number_of(node, name)
    data = (await node.log.read(number, node.log.bounds(number).end - 1, 1)).data
    return messages_of(parse_batch(data))[-1]


async def test_a_message_is_given_again_dies_and_is_replayed_across_lives(tmp_path: Path) -> None:
    node = await Node.start(settings_for(tmp_path))
    topic = await node.topics.create("orders", partitions=1)
    await node.catalog.save_group(Group(name=GROUP, attempts_max=1, settings={"retry.steps": "50ms"}))
    await node.log.append([(topic.partition_numbers[0], batch_messages([Message.create(b"x", id="m", tag="A")]))])
    assert not (await node.retries.send_back(GROUP, topic.partition_numbers[0], 0, origin_id="o")).dead
    await node.stop()

    node = await Node.start(settings_for(tmp_path))
    try:
        number = number_of(node, "%RETRY%payers")
        await until(lambda: node.log.bounds(number).end == 1)
        again = await last_message(node, "%RETRY%payers")
        assert (again.id, again.tag, again.properties[ATTEMPT_HEADER]) == ("m", "A", "1")
        assert (await node.retries.send_back(GROUP, number, 0)).dead
        (letter,) = (await node.dead_letters.page(GROUP)).letters
        assert (letter.topic, letter.origin_id, letter.attempts) == ("orders", "o", 2)
        await node.dead_letters.replay(GROUP, to=ReplayTo.TOPIC)
        assert (await last_message(node, "orders")).properties[REPLAY_HEADER] == "%DLQ%payers 0 0"
        await node.retries.send_back(GROUP, topic.partition_numbers[0], 0, delay_ms=0)
        kinds = await kinds_of(node, "m", 10)
        wanted = (TraceKind.RETRIED, TraceKind.DELAYED, TraceKind.DUE, TraceKind.DEAD_LETTERED, TraceKind.STORED)
        assert [kinds.count(kind) for kind in wanted] == [2, 1, 1, 1, 5]
        figures = {metric.name: metric.value for metric in node.metrics()}
        assert (figures["braid_retries_dead"], figures["braid_dead_letters_replayed"]) == (1, 1)
    finally:
        await node.stop()
