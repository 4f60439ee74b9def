"""Transactions as clients use them: confluent-kafka (librdkafka) and aiokafka, with readers of committed records."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import ProducerFenced
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka import TopicPartition as Position

from braidmq.model import TransactionState
from braidmq.node import Node
from kafka_support import bootstrap

LIMIT_S = 20.0
PARTITIONS = 3

T = TypeVar("T")


@pytest.fixture(autouse=True)
async def topic(node: Node) -> str:
    await node.topics.create("orders", partitions=PARTITIONS)
    return "orders"


async def apart(work: Callable[[], T]) -> T:
    """librdkafka's calls wait; the node, in this process, must go on meanwhile."""
    return await asyncio.to_thread(work)


def confluent_producer(node: Node, timeout_ms: int = 60_000) -> Producer:
    producer = Producer(
        {"bootstrap.servers": bootstrap(node), "transactional.id": "tx", "transaction.timeout.ms": timeout_ms}
    )
    producer.init_transactions(LIMIT_S)
    return producer


def committed_by_confluent(node: Node) -> list[bytes]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap(node),
            "group.id": "readers",
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([Position("orders", index, 0) for index in range(PARTITIONS)])
    values: list[bytes] = []
    ended: set[int | None] = set()
    deadline = time.monotonic() + LIMIT_S
    while len(ended) < PARTITIONS and time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is None:
            continue
        if (error := message.error()) is None:
            values.append(message.value() or b"")
        elif error.code() == KafkaError._PARTITION_EOF:
            ended.add(message.partition())
        else:
            raise KafkaException(error)
    consumer.close()
    assert len(ended) == PARTITIONS, "a reader of committed records did not get to the end"
    return sorted(values)


async def committed_by_aiokafka(node: Node) -> list[bytes]:
    partitions = [TopicPartition("orders", index) for index in range(PARTITIONS)]
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap(node), isolation_level="read_committed", auto_offset_reset="earliest"
    )
    await consumer.start()
    try:
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        ends = await consumer.end_offsets(partitions)
        values = []
        async with asyncio.timeout(LIMIT_S):
            while any([await consumer.position(each) < ends[each] for each in partitions]):
                for records in (await consumer.getmany(timeout_ms=200)).values():
                    values += [record.value or b"" for record in records]
        return sorted(values)
    finally:
        await consumer.stop()


async def committed(node: Node) -> list[bytes]:
    """What both kinds of readers see, which is the same."""
    seen = await apart(lambda: committed_by_confluent(node))
    assert await committed_by_aiokafka(node) == seen
    return seen


def write(producer: Producer, *values: bytes) -> None:
    for place, value in enumerate(values):
        producer.produce("orders", value, partition=place % PARTITIONS)
    assert producer.flush(LIMIT_S) == 0


async def test_librdkafka_commits_and_aborts(node: Node) -> None:
    def work() -> None:
        producer = confluent_producer(node)
        for attempt in range(6):
            producer.begin_transaction()
            write(producer, *(b"%d/%d" % (attempt, place) for place in range(4)))
            if attempt % 2:
                producer.abort_transaction(LIMIT_S)
            else:
                producer.commit_transaction(LIMIT_S)

    await apart(work)
    assert await committed(node) == sorted(b"%d/%d" % (attempt, place) for attempt in (0, 2, 4) for place in range(4))


async def test_aiokafka_commits_and_aborts(node: Node) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap(node), transactional_id="tx")
    await producer.start()
    for attempt in range(4):
        await producer.begin_transaction()
        for place in range(PARTITIONS):
            await producer.send_and_wait("orders", b"%d/%d" % (attempt, place), partition=place)
        await (producer.abort_transaction() if attempt % 2 else producer.commit_transaction())
    await producer.stop()
    assert await committed(node) == sorted(b"%d/%d" % (attempt, place) for attempt in (0, 2) for place in range(3))


async def test_a_second_librdkafka_producer_of_the_name_fences_the_first(node: Node) -> None:
    def work() -> None:
        first = confluent_producer(node)
        first.begin_transaction()
        write(first, b"of the first")
        second = confluent_producer(node)
        second.begin_transaction()
        write(second, b"of the second")
        with pytest.raises(KafkaException) as refused:
            first.commit_transaction(LIMIT_S)
        assert refused.value.args[0].fatal()
        second.commit_transaction(LIMIT_S)

    await apart(work)
    assert await committed(node) == [b"of the second"]


async def test_a_second_aiokafka_producer_of_the_name_fences_the_first(node: Node) -> None:
    first, second = (AIOKafkaProducer(bootstrap_servers=bootstrap(node), transactional_id="tx") for _ in range(2))
    await first.start()
    await first.begin_transaction()
    await first.send_and_wait("orders", b"of the first", partition=0)
    await second.start()
    async with second.transaction():
        await second.send_and_wait("orders", b"of the second", partition=0)
    with pytest.raises(ProducerFenced):
        await first.send_and_wait("orders", b"late", partition=0)
    for producer in (first, second):
        await producer.stop()
    assert await committed(node) == [b"of the second"]


async def test_a_transaction_that_nobody_ends_is_aborted_in_time(node: Node) -> None:
    def abandon() -> Producer:
        producer = confluent_producer(node, timeout_ms=1000)
        producer.begin_transaction()
        write(producer, b"abandoned")
        return producer

    producer = await apart(abandon)
    async with asyncio.timeout(LIMIT_S):
        while True:
            transaction = node.transactions.transaction("tx")
            assert transaction is not None
            if transaction.state is TransactionState.ABORTED:
                break
            await asyncio.sleep(0.05)
    with pytest.raises(KafkaException):
        await apart(lambda: producer.commit_transaction(LIMIT_S))
    assert await committed(node) == []


async def test_a_group_reads_processes_and_commits_exactly_once(node: Node) -> None:
    """Half of the transactions are aborted, and their input is read again, by the members' own offsets."""
    await node.topics.create("input", partitions=2)

    def fill() -> None:
        producer = Producer({"bootstrap.servers": bootstrap(node)})
        for number in range(40):
            producer.produce("input", b"%d" % number, partition=number % 2)
        assert producer.flush(LIMIT_S) == 0

    def process() -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": bootstrap(node),
                "group.id": "workers",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        consumer.subscribe(["input"])
        producer = confluent_producer(node)
        done, attempt, deadline = 0, 0, time.monotonic() + 2 * LIMIT_S
        while done < 40 and time.monotonic() < deadline:
            messages = consumer.consume(7, timeout=1.0)
            if not messages:
                continue
            producer.begin_transaction()
            write(producer, *(b"done " + (message.value() or b"") for message in messages))
            producer.send_offsets_to_transaction(
                consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), LIMIT_S
            )
            attempt += 1
            if attempt % 2:
                producer.abort_transaction(LIMIT_S)
                for position in consumer.committed(consumer.assignment(), LIMIT_S):
                    consumer.seek(Position(position.topic, position.partition, max(position.offset, 0)))
            else:
                producer.commit_transaction(LIMIT_S)
                done += len(messages)
        consumer.close()

    await apart(fill)
    await apart(process)
    assert await committed(node) == sorted(b"done %d" % number for number in range(40))
    offsets = {number: each.offset for number, each in node.groups.offsets("workers").items()}
    assert sorted(offsets.values()) == [20, 20]


async def test_aiokafka_sends_offsets_with_its_transaction(node: Node) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap(node), transactional_id="tx")
    await producer.start()
    place = TopicPartition("orders", 0)
    for offset, commit in ((5, False), (7, True), (9, False)):
        await producer.begin_transaction()
        await producer.send_offsets_to_transaction({place: offset}, "g")
        await (producer.commit_transaction() if commit else producer.abort_transaction())
    await producer.stop()
    assert [each.offset for each in node.groups.offsets("g").values()] == [7]
