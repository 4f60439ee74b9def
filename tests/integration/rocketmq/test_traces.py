"""A message's whole life on one timeline: what the node saw, and what clients told in their trace topic."""

import asyncio

from braidmq.model import Message
from braidmq.node import Node
from braidmq.protocols.rocketmq.codec import RequestCode
from rocketmq_support import Connect

LIMIT_S = 10.0


async def test_the_life_of_a_message_is_told_by_its_id_and_by_its_key(node: Node, connect: Connect) -> None:
    client = await connect()
    topic = await node.topics.create("orders", partitions=1)
    await client.beat("c@1", group="readers", topics={"orders": "*"})
    await node.publisher.published(topic, [Message.create(b"x", id="m1", keys=["k1"], born_ms=1_000)], partition=0)
    traces = await node.topics.ensure_own("RMQ_SYS_TRACE_TOPIC", partitions=1)
    told = "\x01".join(
        ("Pub", "999", "R", "writers", "orders", "m1", "", "k1", "h", "1", "3", "0", "O", "true", "10.0.0.7")
    )
    await node.publisher.published(traces, [Message.create(told.encode(), id="t1", keys=["m1", "k1"], born_ms=1_000)])
    pulled = await client.get(
        RequestCode.PULL_MESSAGE,
        {
            "consumerGroup": "readers",
            "topic": "orders",
            "queueId": 0,
            "queueOffset": 0,
            "maxMsgNums": 32,
            "sysFlag": 0,
            "commitOffset": 0,
            "suspendTimeoutMillis": 0,
            "subVersion": 0,
        },
    )
    assert pulled.body
    async with asyncio.timeout(LIMIT_S):
        while len(life := await node.lives.by_id("m1", topic=topic)) < 3:  # noqa: ASYNC110 - noted a moment later
            await asyncio.sleep(0.05)
    assert [(event.kind.value, event.group, event.client) for event in life] == [
        ("client_sent", "writers", "10.0.0.7"),
        ("stored", "", ""),
        ("delivered", "readers", "c@1"),
    ]
    assert await node.lives.by_id("m1") == life, "without a topic, too"
    assert await node.lives.by_key(topic, "k1") == {"m1": life}
