"""A message's whole life on one timeline: what the node saw, and what clients told in their trace topic."""

import asyncio

from braidmq.model import Message, TraceEvent
from braidmq.node import Node
from braidmq.protocols.rocketmq.codec import RequestCode, StoredMessage
from braidmq.protocols.rocketmq.codec.messages import decode_messages
from braidmq.settings import HalvesSettings
from inside_node import StartNode
from kafka_support import until
from rocketmq_peer import COMMIT, Peer, another, ending
from rocketmq_support import Connect

LIMIT_S = 10.0
GROUP = "workers"
RETRIES = f"%RETRY%{GROUP}"
DEAD = f"%DLQ%{GROUP}"


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


async def test_a_message_that_was_late_and_then_in_vain_is_told_from_its_delay_to_the_dead_letters(node: Node) -> None:
    topic = await node.topics.create("orders", partitions=1)
    peer = await another(node)
    await peer.beat("c@1", group=GROUP, topics={"orders": "*", RETRIES: "*"})
    later = {"UNIQ_KEY": "m1", "KEYS": "k1", "TIMER_DELAY_MS": "300"}
    assert (await peer.publish("orders", b"hard", properties=later)).code == 0
    await send_back(peer, await arrival(peer, "orders"))
    await send_back(peer, await arrival(peer, RETRIES))
    life = await whole_life(node, "m1", "dead_lettered")
    assert [(event.kind.value, event.topic, event.group) for event in life if event.kind.value != "stored"] == [
        ("delayed", "orders", ""),
        ("due", "orders", ""),
        ("delivered", "orders", GROUP),
        ("retried", "orders", GROUP),
        ("delayed", RETRIES, ""),
        ("due", RETRIES, ""),
        ("delivered", RETRIES, GROUP),
        ("dead_lettered", DEAD, GROUP),
    ]
    assert [event.topic for event in life if event.kind.value == "stored"] == ["orders", RETRIES, DEAD]
    assert {event.client for event in life if event.kind.value == "delivered"} == {"c@1"}
    assert [event.value for event in life if event.kind.value == "retried"] == [1]
    times = [event.at_ms for event in life]
    assert times == sorted(times)
    assert await node.lives.by_key(topic, "k1") == {"m1": life}
    await peer.close()


async def test_a_half_whose_producer_was_asked_is_told_from_its_preparation_to_its_delivery(
    start_node: StartNode,
) -> None:
    node = await start_node(halves=HalvesSettings(immunity_s=1, check_interval_s=60))
    await node.topics.create("orders", partitions=1)
    producer, consumer = await another(node), await another(node)
    await producer.beat("p@1", producers=["payers"])
    await consumer.beat("c@1", group=GROUP, topics={"orders": "*"})
    assert (await producer.prepare("orders", b"half", UNIQ_KEY="m1")).code == 0
    await until(lambda: bool(producer.heard), LIMIT_S)
    producer.tell(RequestCode.END_TRANSACTION, ending(producer.heard[0].fields, COMMIT, asked=True))
    await arrival(consumer, "orders")
    life = await whole_life(node, "m1", "delivered")
    assert [(event.kind.value, event.group, event.client) for event in life] == [
        ("prepared", "payers", ""),
        ("checked", "payers", "p@1"),
        ("committed", "payers", ""),
        ("stored", "", ""),
        ("delivered", GROUP, "c@1"),
    ]
    await producer.close()
    await consumer.close()


async def arrival(peer: Peer, topic: str) -> StoredMessage:
    """The first message of a topic, when it comes."""
    answer = await peer.read(topic, consumerGroup=GROUP, wait_ms=int(LIMIT_S * 1000))
    (message,) = decode_messages(answer.body)
    return message


async def send_back(peer: Peer, message: StoredMessage) -> None:
    """The group could not work on it, and tries no more than twice."""
    back = {"offset": message.physical_offset, "group": GROUP, "delayLevel": 1, "maxReconsumeTimes": 1}
    assert (await peer.request(RequestCode.CONSUMER_SEND_MSG_BACK, back)).code == 0


async def whole_life(node: Node, message_id: str, last: str) -> list[TraceEvent]:
    """All that is told of a message, when the last step is told; steps are noted a moment later."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            life = await node.lives.by_id(message_id)
            if any(event.kind.value == last for event in life):
                return life
            await asyncio.sleep(0.05)
