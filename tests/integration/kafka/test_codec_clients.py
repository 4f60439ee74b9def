"""Every compression that clients choose, as confluent-kafka's own wheel makes it and reads it."""

import asyncio

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Position

from braidmq.node import Node
from braidmq.records import Codec, batches_in
from kafka_support import bootstrap, topic_of

LIMIT_S = 20.0
BODIES = [b"a body that repeats itself, number %d. " % number * 20 for number in range(200)]


def send(address: str, codec: str) -> None:
    producer = Producer({"bootstrap.servers": address, "compression.type": codec, "linger.ms": 50})
    for body in BODIES:
        producer.produce("orders", body, key=b"k", headers=[("h", b"v")])
    assert producer.flush(LIMIT_S) == 0


def received(address: str) -> list[tuple[bytes | None, bytes | None, object]]:
    consumer = Consumer({"bootstrap.servers": address, "group.id": "readers", "check.crcs": True})
    consumer.assign([Position("orders", 0, 0)])
    try:
        messages = consumer.consume(len(BODIES), LIMIT_S)
    finally:
        consumer.close()
    assert [message.error() for message in messages] == [None] * len(messages)
    return [(message.key(), message.value(), message.headers()) for message in messages]


@pytest.mark.parametrize("codec", Codec)
async def test_what_librdkafka_compressed_is_stored_so_and_read_again(node: Node, codec: Codec) -> None:
    await node.topics.create("orders", partitions=1)
    await asyncio.to_thread(send, bootstrap(node), codec.name.lower())
    (number,) = topic_of(node).partition_numbers
    stored = await node.log.read(number, 0, 1 << 20)
    assert {batch.codec for batch in batches_in(stored.data)} == {codec}
    expected = [(b"k", body, [("h", b"v")]) for body in BODIES]
    assert await asyncio.to_thread(received, bootstrap(node)) == expected
