"""Topics read through a filter: what the wire promises, and three client libraries as users run them."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

import confluent_kafka
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from kafka import KafkaConsumer, KafkaProducer  # type: ignore[attr-defined]  # kafka-python has no types

from braidmq.log import Appended
from braidmq.model import Message
from braidmq.model.names import is_internal
from braidmq.node import Node
from braidmq.protocols.kafka import _sieve
from braidmq.protocols.kafka.codec import NO_UUID, ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from braidmq.protocols.kafka.codec.messages.fetch import FetchRequest
from braidmq.protocols.kafka.codec.messages.list_offsets import ListOffsetsRequest
from braidmq.protocols.kafka.codec.messages.metadata import MetadataRequest
from braidmq.protocols.kafka.codec.messages.produce import ProduceRequest
from braidmq.records import (
    Batch,
    Marker,
    Record,
    batch_messages,
    build_batch,
    build_marker,
    parse_batch,
    read_records,
)
from kafka_support import RawClient, bootstrap, every_version, topic_of, versions

Connect = Callable[[], Awaitable[RawClient]]
PEOPLE, DOTTED = "orders?tag=A", "orders..tag..A"
LIMIT_S = 30.0


@pytest.fixture
async def client(node: Node, connect: Connect) -> RawClient:
    await node.topics.create("orders", partitions=1)
    return await connect()


async def append(node: Node, batch: Batch) -> int:
    (result,) = await node.log.append([(topic_of(node).partition_numbers[0], batch)])
    assert isinstance(result, Appended)
    return result.base_offset


async def publish(node: Node, *tags: str) -> int:
    """One batch with a message for each tag."""
    now_ms = time.time_ns() // 1_000_000
    messages = [Message.create(tag.encode(), tag=tag, keys=[f"k-{tag}"], born_ms=now_ms) for tag in tags]
    return await append(node, batch_messages(messages))


def fetch_request(offset: int, topic: str = PEOPLE, **given: Any) -> FetchRequest:
    partition = FetchRequest.FetchPartition(
        partition=0, fetch_offset=offset, partition_max_bytes=given.pop("partition_max_bytes", 1 << 20)
    )
    wanted = FetchRequest.FetchTopic(topic=topic, partitions=[partition])
    return FetchRequest(topics=[wanted], **{"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20} | given)


async def fetch(client: RawClient, offset: int, version: int = 12, **given: Any) -> Any:
    response = await client.ask(fetch_request(offset, **given), version)
    assert response.responses[0].topic == given.get("topic", PEOPLE)
    return response.responses[0].partitions[0]


def found(partition: Any) -> list[tuple[int, bytes | None]]:
    return [(record.offset, record.value) for batch in batches(partition) for record in read_records(batch)]


def batches(partition: Any) -> list[Batch]:
    data = partition.records
    assert partition.error_code == 0
    listed = []
    position = 0
    while position < len(data):
        listed.append(parse_batch(data, position))
        assert listed[-1].matches_checksum()
        position += listed[-1].size_bytes
    return listed


# What the wire promises.


@pytest.mark.parametrize("name", [PEOPLE, DOTTED])
@every_version(ApiKey.METADATA)
async def test_a_filtered_topic_has_the_partitions_of_its_topic_and_no_id(
    node: Node, client: RawClient, version: int, name: str
) -> None:
    topics = [MetadataRequest.MetadataRequestTopic(name=name)]
    response = await client.ask(MetadataRequest(topics=topics), version)
    (topic,) = response.topics
    assert (topic.error_code, topic.name, topic.topic_id) == (0, name, NO_UUID)
    assert [partition.leader_id for partition in topic.partitions] == [1]
    assert {each.name for each in node.catalog.topics() if not is_internal(each.name)} == {"orders"}


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("nosuch?tag=A", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("nosuch..tag..A", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("orders?colour=red", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("orders?tag=", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("orders..tag..A.B", ErrorCode.INVALID_TOPIC_EXCEPTION),
    ],
)
async def test_a_filter_on_nothing_or_by_nothing_is_refused_and_makes_nothing(
    node: Node, client: RawClient, name: str, error: ErrorCode
) -> None:
    topics = [MetadataRequest.MetadataRequestTopic(name=name)]
    response = await client.ask(MetadataRequest(topics=topics, allow_auto_topic_creation=True), 9)
    assert (response.topics[0].name, response.topics[0].error_code) == (name, error)
    fetched = await client.ask(fetch_request(0, name), 12)
    assert fetched.responses[0].partitions[0].error_code == error
    assert {each.name for each in node.catalog.topics() if not is_internal(each.name)} == {"orders"}


async def test_filtered_topics_are_not_among_all_topics(client: RawClient) -> None:
    await client.ask(MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=PEOPLE)]), 9)
    response = await client.ask(MetadataRequest(topics=None), 9)
    assert [topic.name for topic in response.topics] == ["orders"]


@pytest.mark.parametrize("version", [each for each in versions(ApiKey.FETCH) if 4 <= each <= 12])
async def test_every_version_with_batches_fetches_through_a_filter(node: Node, client: RawClient, version: int) -> None:
    await publish(node, "B", "A", "C", "A")
    await publish(node, "B")
    partition = await fetch(client, 0, version)
    assert found(partition) == [(1, b"A"), (3, b"A")]
    assert [(batch.base_offset, batch.last_offset) for batch in batches(partition)] == [(0, 3), (4, 4)]
    assert partition.high_watermark == 5


@pytest.mark.parametrize("version", range(4))
async def test_clients_of_the_old_formats_are_told_that_they_cannot_have_filters(
    node: Node, client: RawClient, version: int
) -> None:
    await publish(node, "A")
    partition = await fetch(client, 0, version)
    assert partition.error_code == ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("orders?tag=A||B", [b"A", b"B"]),
        ("orders?tag=A || D", [b"A"]),
        ("orders..tag..C..B", [b"B", b"C"]),
        ("orders?tag=*", [b"A", b"B", b"C", b"untagged"]),
        ("orders?key=k-A", [b"A"]),
        ("orders..key..k-A..plain", [b"A", b"untagged"]),
        ("orders?tag=nobody", []),
        ("orders?sql=TAGS IN ('A', 'C') OR KEYS = 'plain'", [b"A", b"C", b"untagged"]),
        ("orders?sql=TAGS%20IS%20NULL", [b"untagged"]),
        ("orders..sql..TAGS.20.3C.3E.20.27A.27", [b"B", b"C"]),
    ],
)
async def test_filters_choose_by_tag_or_key(node: Node, client: RawClient, name: str, expected: list[bytes]) -> None:
    await publish(node, "A", "B")
    await publish(node, "C")
    await append(node, build_batch([Record(0, 0, b"plain", b"untagged")]))
    partition = await fetch(client, 0, topic=name)
    assert [value for _, value in found(partition)] == expected
    assert batches(partition)[-1].last_offset == 3


async def test_a_search_finds_what_lies_far_behind_in_one_answer(node: Node, client: RawClient) -> None:
    for _ in range(200):
        await publish(node, *["B"] * 20)
    offset = await publish(node, "A")
    partition = await fetch(client, 0, partition_max_bytes=1000, max_bytes=1000, max_wait_ms=20_000)
    assert found(partition) == [(offset, b"A")]
    assert len(partition.records) < 1000


async def test_who_waits_is_answered_when_a_chosen_message_comes_and_not_before(node: Node, client: RawClient) -> None:
    await publish(node, "B")
    client.send(fetch_request(0, max_wait_ms=20_000), 12)
    await client.drain()
    answer = asyncio.create_task(client.receive(ApiKey.FETCH, 12))
    for _ in range(20):
        await publish(node, "B")
        await asyncio.sleep(0.005)
        assert not answer.done()
    offset = await publish(node, "A")
    _, response = await asyncio.wait_for(answer, 10)
    partition = response.responses[0].partitions[0]
    assert found(partition) == [(offset, b"A")]
    assert [batch.record_count for batch in batches(partition)] == [0, 1]


async def test_who_waited_in_vain_moves_on_by_one_empty_batch_and_then_by_nothing(
    node: Node, client: RawClient
) -> None:
    for _ in range(5):
        await publish(node, "B", "C")
    partition = await fetch(client, 0, max_wait_ms=50)
    (empty,) = batches(partition)
    assert (empty.base_offset, empty.last_offset, empty.record_count) == (0, 9, 0)
    began = time.monotonic()
    assert (await fetch(client, 10, max_wait_ms=200)).records == b""
    assert time.monotonic() - began >= 0.19


async def test_waiting_counts_only_what_is_chosen(node: Node, client: RawClient) -> None:
    await publish(node, *["B"] * 100, "A")
    began = time.monotonic()
    partition = await fetch(client, 0, min_bytes=2000, max_wait_ms=200)
    assert time.monotonic() - began >= 0.19
    assert found(partition) == [(100, b"A")]


async def test_a_long_search_is_answered_with_how_far_it_came(
    node: Node, client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(10):
        await publish(node, *["B"] * 10)
    monkeypatch.setattr(_sieve, "LOOKED_AT_BYTES_MAX", 1000)
    offset = answers = 0
    while offset < 100:
        partition = await fetch(client, offset, partition_max_bytes=500, max_wait_ms=20_000)
        (empty,) = batches(partition)
        assert empty.last_offset >= offset
        offset = empty.last_offset + 1
        answers += 1
    assert 1 < answers <= 10


async def test_a_session_reads_through_a_filter(node: Node, client: RawClient) -> None:
    await publish(node, "A", "B")
    first = await client.ask(fetch_request(0, session_epoch=0), 12)
    assert found(first.responses[0].partitions[0]) == [(0, b"A")]
    await publish(node, "B")
    await publish(node, "A")
    request = fetch_request(2, session_id=first.session_id, session_epoch=1, max_wait_ms=10_000)
    second = await client.ask(request, 12)
    assert found(second.responses[0].partitions[0]) == [(3, b"A")]
    request = FetchRequest(session_id=first.session_id, session_epoch=2, max_wait_ms=0, min_bytes=1, max_bytes=1 << 20)
    third = await client.ask(request, 12)
    assert found(third.responses[0].partitions[0]) == [(3, b"A")]


async def test_a_fetch_reads_a_topic_and_its_filters_side_by_side(node: Node, client: RawClient) -> None:
    await publish(node, "A", "B")
    partition = FetchRequest.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    names = ["orders", "orders?tag=A", "orders?tag=B"]
    topics = [FetchRequest.FetchTopic(topic=name, partitions=[partition]) for name in names]
    response = await client.ask(FetchRequest(topics=topics, max_wait_ms=0, min_bytes=1, max_bytes=1 << 20), 12)
    got = {topic.topic: [value for _, value in found(topic.partitions[0])] for topic in response.responses}
    assert got == {"orders": [b"A", b"B"], "orders?tag=A": [b"A"], "orders?tag=B": [b"B"]}


async def test_readers_of_committed_records_skip_aborted_ones_behind_a_filter(node: Node, client: RawClient) -> None:
    def sent(sequence: int, *tags: bytes) -> Batch:
        records = [Record(at, 0, None, b"in " + tag, [("TAGS", tag)]) for at, tag in enumerate(tags)]
        return build_batch(records, producer_id=7, producer_epoch=0, base_sequence=sequence, transactional=True)

    def end(kind: Marker) -> Batch:
        return build_marker(kind, producer_id=7, producer_epoch=0, timestamp_ms=0)

    await append(node, sent(0, b"A", b"B"))
    await append(node, end(Marker.ABORT))
    await append(node, sent(2, b"B", b"A"))
    await append(node, end(Marker.COMMIT))
    await append(node, sent(4, b"A"))
    partition = await fetch(client, 0, isolation_level=1)
    assert [(each.producer_id, each.first_offset) for each in partition.aborted_transactions] == [(7, 0)]
    assert [(batch.base_offset, batch.is_control, batch.record_count) for batch in batches(partition)] == [
        (0, False, 1),
        (2, True, 1),
        (3, False, 1),
        (5, True, 1),
    ]
    assert partition.last_stable_offset == 6
    everything = await fetch(client, 0)
    assert [value for _, value in found(everything) if value and value.startswith(b"in")] == [b"in A"] * 3


async def test_offsets_are_those_of_the_topic(node: Node, client: RawClient) -> None:
    await publish(node, "B", "A", "B")
    for timestamp, expected in ((-1, 3), (-2, 0), (0, 0)):
        partition = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        asked = ListOffsetsRequest.ListOffsetsTopic(name=DOTTED, partitions=[partition])
        response = await client.ask(ListOffsetsRequest(topics=[asked]), 5)
        assert (response.topics[0].name, response.topics[0].partitions[0].offset) == (DOTTED, expected)


async def test_an_offset_outside_of_the_topic_is_refused(client: RawClient) -> None:
    assert (await fetch(client, 7)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize("name", [PEOPLE, DOTTED, "orders?tag=*"])
@pytest.mark.parametrize("version", [each for each in versions(ApiKey.PRODUCE) if 3 <= each <= 12])
async def test_nothing_can_be_sent_to_a_filtered_topic(node: Node, client: RawClient, name: str, version: int) -> None:
    records = bytes(build_batch([Record(0, 0, None, b"x")]).data)
    partition = ProduceRequest.PartitionProduceData(index=0, records=records)
    topic = ProduceRequest.TopicProduceData(name=name, partition_data=[partition])
    response = await client.ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic]), version)
    answer = response.responses[0].partition_responses[0]
    assert answer.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert node.log.bounds(topic_of(node).partition_numbers[0]).end == 0


async def test_deleting_the_topic_ends_a_wait_for_chosen_messages(node: Node, client: RawClient) -> None:
    await publish(node, "B")
    client.send(fetch_request(0, max_wait_ms=30_000), 12)
    await client.drain()
    await asyncio.sleep(0.05)
    await node.topics.delete(topic_of(node))
    _, response = await asyncio.wait_for(client.receive(ApiKey.FETCH, 12), 10)
    assert response.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_topic_that_really_has_the_name_wins(node: Node, client: RawClient) -> None:
    await publish(node, "A")
    await node.topics.create(DOTTED, partitions=1)
    assert (await fetch(client, 0, topic=DOTTED)).records == b""


async def test_a_member_of_a_group_that_knows_topics_by_id_is_told_that_it_cannot_have_a_filter(
    client: RawClient,
) -> None:
    request = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m",
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["orders", PEOPLE],
        topic_partitions=[],
    )
    response = await client.ask(request, 0)
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert PEOPLE in response.error_message


# Client libraries.


@pytest.fixture
async def filled(start_node: Callable[..., Awaitable[Node]]) -> Node:
    """A node with 900 messages in three partitions, tagged in turn A, B and C, sent by a Kafka producer, and 300 more
    without chosen ones behind them."""
    node = await start_node()
    await node.topics.create("orders", partitions=3)
    await asyncio.to_thread(_send, bootstrap(node))
    return node


def _send(address: str) -> None:
    producer = KafkaProducer(bootstrap_servers=address, linger_ms=5, compression_type="gzip")
    for at in range(900):
        producer.send(
            "orders", key=b"k%d" % (at % 7), value=b"%d" % at, headers=[("TAGS", b"ABC"[at % 3 : at % 3 + 1])]
        )
        if at % 50 == 0:
            producer.flush()
    for at in range(300):
        producer.send("orders", value=b"behind %d" % at, headers=[("TAGS", b"C")])
    producer.flush()
    producer.close()


CHOSEN = sorted(b"%d" % at for at in range(900) if at % 3 < 2)
ENDS = 1200


def read_with_kafka_python(address: str, topic: str) -> tuple[list[bytes], int]:
    consumer = KafkaConsumer(
        topic, bootstrap_servers=address, group_id="g", auto_offset_reset="earliest", enable_auto_commit=False
    )
    values: list[bytes] = []
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        for records in consumer.poll(timeout_ms=200).values():
            values += [record.value for record in records]
        if consumer.assignment() and sum(consumer.position(each) for each in consumer.assignment()) == ENDS:
            break
    consumer.commit()
    committed = sum(consumer.committed(each) for each in consumer.assignment())
    consumer.close()
    return values, committed


async def test_kafka_python_reads_through_a_filter_and_its_position_reaches_the_end(filled: Node) -> None:
    values, committed = await asyncio.to_thread(read_with_kafka_python, bootstrap(filled), "orders..tag..A..B")
    assert sorted(values) == CHOSEN
    assert committed == ENDS
    offsets = filled.groups.offsets("g")
    assert {number: offset.offset for number, offset in offsets.items()} == {
        number: filled.log.bounds(number).end for number in topic_of(filled).partition_numbers
    }


@pytest.mark.parametrize("topic", ["orders?tag=A||B", "orders..tag..A..B"])
async def test_aiokafka_reads_through_a_filter_and_its_position_reaches_the_end(filled: Node, topic: str) -> None:
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=bootstrap(filled), group_id="g", auto_offset_reset="earliest")
    await consumer.start()
    try:
        values: list[bytes | None] = []
        async with asyncio.timeout(LIMIT_S):
            while sum([await consumer.position(each) for each in consumer.assignment()]) < ENDS:
                for records in (await consumer.getmany(timeout_ms=200)).values():
                    values += [record.value for record in records]
        assert sorted(values) == CHOSEN  # type: ignore[type-var]
    finally:
        await consumer.stop()


def read_with_librdkafka(address: str, topic: str, count: int) -> list[bytes]:
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": address, "group.id": "g", "auto.offset.reset": "earliest", "enable.auto.commit": False}
    )
    consumer.subscribe([topic])
    values: list[bytes] = []
    deadline = time.monotonic() + LIMIT_S
    while len(values) < count and time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is not None:
            assert message.error() is None, message.error()
            values.append(message.value() or b"")
    extra = consumer.poll(1.0)
    assert extra is None
    consumer.commit(asynchronous=False)
    consumer.close()
    return values


@pytest.mark.parametrize("topic", ["orders?tag=A||B", "orders..tag..A..B"])
async def test_librdkafka_reads_through_a_filter_and_goes_on_where_it_was(filled: Node, topic: str) -> None:
    values = await asyncio.to_thread(read_with_librdkafka, bootstrap(filled), topic, len(CHOSEN))
    assert sorted(values) == CHOSEN
    async with AIOKafkaProducer(bootstrap_servers=bootstrap(filled)) as producer:
        await producer.send_and_wait("orders", b"other", headers=[("TAGS", b"C")])
        await producer.send_and_wait("orders", b"later", headers=[("TAGS", b"B")])
    assert await asyncio.to_thread(read_with_librdkafka, bootstrap(filled), topic, 1) == [b"later"]


SQL = "TAGS IN ('A', 'B') AND KEYS STARTSWITH 'k'"


@pytest.mark.parametrize("topic", [f"orders?sql={quote(SQL)}", "orders..sql.." + quote(SQL, safe="").replace("%", ".")])
async def test_librdkafka_reads_through_an_expression(filled: Node, topic: str) -> None:
    values = await asyncio.to_thread(read_with_librdkafka, bootstrap(filled), topic, len(CHOSEN))
    assert sorted(values) == CHOSEN


async def test_kafka_python_reads_through_an_expression(filled: Node) -> None:
    topic = "orders..sql.." + quote(SQL, safe="").replace("%", ".")
    values, committed = await asyncio.to_thread(read_with_kafka_python, bootstrap(filled), topic)
    assert sorted(values) == CHOSEN
    assert committed == ENDS


async def test_two_groups_read_the_same_topic_through_different_filters(filled: Node) -> None:
    by_key = {b"k%d" % key: [b"%d" % at for at in range(900) if at % 7 == key] for key in range(7)}
    for key in (b"k0", b"k6"):
        consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap(filled), group_id=None)
        await consumer.start()
        partitions = [TopicPartition(f"orders?key={key.decode()}", index) for index in range(3)]
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        values: list[bytes | None] = []
        async with asyncio.timeout(LIMIT_S):
            while len(values) < len(by_key[key]):
                for records in (await consumer.getmany(timeout_ms=200)).values():
                    values += [record.value for record in records]
        await consumer.stop()
        assert sorted(values) == sorted(by_key[key])  # type: ignore[type-var]


async def test_a_producer_that_sends_to_a_filter_hears_of_it(filled: Node) -> None:
    def send() -> Any:
        errors: list[Any] = []
        producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap(filled)})
        producer.produce("orders?tag=A", b"x", on_delivery=lambda error, _: errors.append(error))
        producer.flush(LIMIT_S)
        return errors

    (error,) = await asyncio.to_thread(send)
    assert error.code() == confluent_kafka.KafkaError.TOPIC_EXCEPTION
