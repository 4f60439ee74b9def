"""What a node tells of itself while clients of two protocols use it, read as any Kafka client reads it."""

import asyncio
from typing import Any

import msgspec
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from braidmq.node import Node
from braidmq.settings import KafkaSettings, TelemetrySettings
from inside_node import FREE, StartNode
from kafka_support import bootstrap
from rocketmq_support import RawClient

TOPIC = "orders"
GROUP = "buyers"


async def read_all(node: Node, topic: str) -> list[dict[str, Any]]:
    """Every sample, by the Kafka protocol."""
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap(node), auto_offset_reset="earliest")
    await consumer.start()
    try:
        place = TopicPartition(topic, 0)
        consumer.assign([place])
        end = (await consumer.end_offsets([place]))[place]
        samples: list[dict[str, Any]] = []
        while await consumer.position(place) < end:
            samples.append(msgspec.json.decode((await consumer.getone()).value))
        return samples
    finally:
        await consumer.stop()


async def produce(node: Node, count: int, **headers: bytes) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap(node))
    await producer.start()
    for _ in range(count):
        await producer.send_and_wait(TOPIC, b"body", headers=list(headers.items()), partition=0)
    await producer.stop()


async def consume(node: Node, count: int) -> None:
    consumer = AIOKafkaConsumer(TOPIC, bootstrap_servers=bootstrap(node), group_id=GROUP, auto_offset_reset="earliest")
    await consumer.start()
    async with asyncio.timeout(20):
        for nth in range(count):
            await consumer.getone()
            if nth == 0:
                await consumer.commit()  # a group's first word says where it is, and not what it came by
    await consumer.commit()
    await consumer.stop()


async def test_a_minute_of_two_protocols_is_told_and_the_lag_of_their_groups(start_node: StartNode) -> None:
    node = await start_node(kafka=KafkaSettings(listen=FREE))
    assert node.telemetry is not None
    await node.topics.create(TOPIC, partitions=1)
    await produce(node, 4)
    await produce(node, 2, __PRESSURE=b"true")
    client = await RawClient.connect(*node.addresses["rocketmq"][0])
    for _ in range(3):
        await client.send(TOPIC, b"hello")
    await client.beat("c1", group="payers", topics={TOPIC: "*"})
    assert (await client.pull("payers", TOPIC, 0)).code == 0
    await consume(node, 9)
    await produce(node, 1)
    await client.close()
    await node.telemetry.tell_minute()
    await node.telemetry.tell_lag()

    *usage, end = await read_all(node, "__braid.usage")
    told: dict[tuple[str, ...], dict[str, Any]] = {
        (each["direction"], each.get("protocol", ""), each.get("group", ""), each.get("traffic", "normal")): each
        for each in usage
        if each["topic"] == TOPIC
    }
    messages = {key: each.get("messages", 0) for key, each in told.items()}
    assert messages["in", "kafka", "", "normal"] == 5
    assert messages["in", "kafka", "", "pressure"] == 2
    assert messages["in", "rocketmq", "", "normal"] == 3
    assert messages["out", "rocketmq", "payers", "normal"] == 9
    assert messages["out", "kafka", "", "normal"] == 9
    assert messages["acknowledged", "", GROUP, "normal"] == 9
    assert sum(told["out", "rocketmq", "payers", "normal"]["latency_ms"].values()) == 9
    assert told["kept", "", "", "normal"]["storage_bytes"] > 0
    assert (end["kind"], end["samples"]) == ("minute", len(usage))

    samples = await read_all(node, "__braid.lag")
    lags = {each["group"]: each for each in samples if each["kind"] == "lag"}
    assert (lags[GROUP]["committed"], lags[GROUP]["end"], lags[GROUP]["members"]) == (9, 10, 0)
    disk = samples[-1]
    assert disk["kind"] == "disk"
    assert 0 < disk["free_bytes"] < disk["total_bytes"]


async def test_what_became_of_messages_is_told_until_the_node_stops_and_the_last_minute_with_it(
    start_node: StartNode,
) -> None:
    node = await start_node(kafka=KafkaSettings(listen=FREE))
    await node.topics.create(TOPIC, partitions=1)
    await produce(node, 3)
    await consume(node, 3)
    await node.stop()
    node = await start_node(kafka=KafkaSettings(listen=FREE))
    acknowledged = (await read_all(node, "__braid.trace"))[-1]
    assert (acknowledged["step"], acknowledged["topic"], acknowledged["group"]) == ("acknowledged", TOPIC, GROUP)
    assert (acknowledged["first"], acknowledged["until"]) == (0, 3)
    assert [each["kind"] for each in await read_all(node, "__braid.usage")][-1] == "minute"


async def test_a_node_that_is_not_to_tell_makes_no_topics(start_node: StartNode) -> None:
    node = await start_node(kafka=KafkaSettings(listen=FREE), telemetry=TelemetrySettings(topics="off"))
    await node.topics.create(TOPIC, partitions=1)
    await produce(node, 1)
    await node.stop()
    assert node.telemetry is None
    assert [topic.name for topic in node.catalog.topics()] == [TOPIC]
    assert node.counters.stored_all.messages == 1
