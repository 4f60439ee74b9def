"""Clients under quotas, as their libraries meet them, and users' credentials through administrators' calls."""

import time
from typing import Any

import confluent_kafka
import confluent_kafka.admin
import kafka.admin as python_admin_module
import pytest

from braidmq.model import Message
from braidmq.model.credentials import ScramMechanism
from braidmq.model.limits import Holder, Limit, named
from braidmq.node import Node
from braidmq.records import batch_messages
from kafka_support import InThread, bootstrap, topic_of

RATE = 500_000
BURST = 10 * RATE
"""What passes at once."""
MORE = 1_000_000
"""What passes after that, and takes two seconds."""
PIECE = 50_000
COUNT = (BURST + MORE) // PIECE
CLIENT = Holder(client=named("limited"))
LIMIT_S = 30.0

# Neither library says of what types these are.
rd: Any = confluent_kafka.admin
python: Any = python_admin_module


@pytest.fixture
async def topic(node: Node) -> str:
    await node.topics.create("orders", partitions=1)
    return "orders"


def produce_all(node: Node, topic: str) -> tuple[float, list[float]]:
    """How long it took, and what the library was told to wait."""
    waits: list[float] = []
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": bootstrap(node),
            "client.id": "limited",
            "batch.size": 2 * PIECE,
            "linger.ms": 1,
            "throttle_cb": lambda event: waits.append(event.throttle_time),
        }
    )
    began = time.monotonic()
    for _ in range(COUNT):
        producer.produce(topic, bytes(PIECE))
        producer.poll(0)
    assert producer.flush(LIMIT_S) == 0
    return time.monotonic() - began, waits


def consume_all(node: Node, topic: str) -> tuple[float, list[float]]:
    waits: list[float] = []
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap(node),
            "client.id": "limited",
            "group.id": "limited",
            "max.partition.fetch.bytes": 2 * PIECE,
            "throttle_cb": lambda event: waits.append(event.throttle_time),
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    deadline, count = time.monotonic() + LIMIT_S, 0
    began = 0.0
    while count < COUNT and time.monotonic() < deadline:
        for message in consumer.consume(100, 0.2):
            assert message.error() is None
            began = began or time.monotonic()
            count += 1
    took = time.monotonic() - began
    consumer.close()
    assert count == COUNT
    return took, waits


async def test_a_producer_comes_near_its_quota_and_not_over_it(
    node: Node, topic: str, in_thread: InThread[tuple[float, list[float]]]
) -> None:
    await node.quotas.revise(CLIENT, {Limit.PUBLISHED_BYTES: RATE})
    took, waits = await in_thread(lambda: produce_all(node, topic))
    assert node.log.bounds(topic_of(node).partition_numbers[0]).end == COUNT
    assert MORE / RATE * 0.8 < took < MORE / RATE * 2.5
    assert waits, "the library is told"
    assert all(0 <= wait < MORE / RATE for wait in waits)


async def test_a_consumer_comes_near_its_quota_and_not_over_it(
    node: Node, topic: str, in_thread: InThread[tuple[float, list[float]]]
) -> None:
    number = topic_of(node).partition_numbers[0]
    for _ in range(COUNT):
        await node.log.append([(number, batch_messages([Message(body=bytes(PIECE))]))])
    await node.quotas.revise(CLIENT, {Limit.CONSUMED_BYTES: RATE})
    took, waits = await in_thread(lambda: consume_all(node, topic))
    assert MORE / RATE * 0.8 < took < MORE / RATE * 2.5
    assert max(waits) > 0, "the library is told"


async def test_credentials_are_managed_by_librdkafkas_administrators(node: Node, in_thread: InThread[Any]) -> None:
    admin = rd.AdminClient({"bootstrap.servers": bootstrap(node)})
    sha_256, sha_512 = rd.ScramMechanism.SCRAM_SHA_256, rd.ScramMechanism.SCRAM_SHA_512

    async def alter(*changes: Any) -> None:
        futures = admin.alter_user_scram_credentials(list(changes)).values()
        await in_thread(lambda: [future.result(LIMIT_S) for future in futures])

    def insertion(user: str, mechanism: Any) -> Any:
        return rd.UserScramCredentialUpsertion(user, rd.ScramCredentialInfo(mechanism, 5000), b"secret", b"salt")

    await alter(insertion("ann", sha_256), insertion("bob", sha_512))
    found = await in_thread(lambda: admin.describe_user_scram_credentials().result(LIMIT_S))
    told = {
        user: [(info.mechanism, info.iterations) for info in each.scram_credential_infos]
        for user, each in found.items()
    }
    assert told == {"ann": [(sha_256, 5000)], "bob": [(sha_512, 5000)]}
    await alter(rd.UserScramCredentialDeletion("ann", sha_256))
    assert node.catalog.scram_credential("ann", ScramMechanism.SHA_256) is None
    with pytest.raises(confluent_kafka.KafkaException, match="no such credential"):
        await alter(rd.UserScramCredentialDeletion("ann", sha_256))


async def test_credentials_are_managed_by_kafka_pythons_administrators(node: Node, in_thread: InThread[Any]) -> None:
    def manage() -> tuple[Any, Any]:
        admin = python.KafkaAdminClient(bootstrap_servers=bootstrap(node))
        try:
            mechanism = python.ScramMechanism.SCRAM_SHA_512
            admin.alter_user_scram_credentials([python.UserScramCredentialUpsertion("ann", mechanism, b"secret")])
            before = admin.describe_user_scram_credentials()
            admin.alter_user_scram_credentials([python.UserScramCredentialDeletion("ann", mechanism)])
            return before, admin.describe_user_scram_credentials()
        finally:
            admin.close()

    before, after = await in_thread(manage)
    assert "ann" in str(before)
    assert "ann" not in str(after)
