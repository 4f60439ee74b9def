"""Produce, fetch, metadata and offsets, over a socket, in every version that is advertised."""

import asyncio
import struct
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from braidmq.core.access import Operation
from braidmq.node import Node
from braidmq.protocols.kafka._operations import operations
from braidmq.protocols.kafka.codec import NO_UUID, ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.api_versions import ApiVersionsRequest
from braidmq.protocols.kafka.codec.messages.fetch import FetchRequest
from braidmq.protocols.kafka.codec.messages.list_offsets import ListOffsetsRequest
from braidmq.protocols.kafka.codec.messages.metadata import MetadataRequest
from braidmq.protocols.kafka.codec.messages.produce import ProduceRequest
from braidmq.records import Codec, Record, build_batch, read_records, resealed, split_batches
from kafka_support import RawClient

Connect = Callable[[], Awaitable[RawClient]]
NOW_MS = time.time_ns() // 1_000_000


def versions(key: ApiKey) -> range:
    operation: Operation[int, Any] | None = operations.get(key)
    assert operation is not None
    first, last = operation.handler.versions
    return range(first, last + 1)


def batch_of(*values: bytes, codec: Codec = Codec.NONE, key: bytes | None = b"k", at_ms: int = NOW_MS) -> bytes:
    records = [Record(offset, at_ms + offset, key, value) for offset, value in enumerate(values)]
    return bytes(build_batch(records, codec=codec).data)


def old_message(value: bytes, magic: int) -> bytes:
    from aiokafka.record.legacy_records import LegacyRecordBatchBuilder

    builder = LegacyRecordBatchBuilder(magic=magic, compression_type=0, batch_size=1 << 20)
    builder.append(0, timestamp=NOW_MS, key=b"k", value=value)
    return bytes(builder.build())


def produce_request(
    records: bytes, topic: str = "orders", index: int = 0, acks: int = -1, topic_id: bytes = NO_UUID
) -> ProduceRequest:
    partition = ProduceRequest.PartitionProduceData(index=index, records=records)
    data = ProduceRequest.TopicProduceData(name=topic, topic_id=topic_id, partition_data=[partition])
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[data])


def fetch_request(offset: int, topic: str = "orders", *, topic_id: bytes = NO_UUID, **given: Any) -> FetchRequest:
    partition = FetchRequest.FetchPartition(
        partition=given.pop("index", 0),
        fetch_offset=offset,
        partition_max_bytes=given.pop("partition_max_bytes", 1 << 20),
    )
    wanted = FetchRequest.FetchTopic(topic=topic, topic_id=topic_id, partitions=[partition])
    return FetchRequest(topics=[wanted], **{"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20} | given)


async def produce(client: RawClient, records: bytes, version: int = 7, **given: Any) -> Any:
    response = await client.ask(produce_request(records, **given), version)
    return response.responses[0].partition_responses[0]


async def fetch(client: RawClient, offset: int, version: int = 11, **given: Any) -> Any:
    response = await client.ask(fetch_request(offset, **given), version)
    return response.responses[0].partitions[0]


def values_of(records: bytes) -> list[bytes | None]:
    return [record.value for batch in split_batches(records) for record in read_records(batch)]


@pytest.fixture
async def client(node: Node, connect: Connect) -> RawClient:
    await node.topics.create("orders", partitions=2)
    return await connect()


@pytest.mark.parametrize("acks", [-1, 0])
async def test_who_has_said_all_gets_the_answers_and_then_the_connection_ends(
    node: Node, connect: Connect, acks: int
) -> None:
    await node.topics.create("orders")
    client = await connect()
    assert (await produce(client, batch_of(b"a"))).error_code == 0
    client.send(produce_request(batch_of(b"b"), acks=acks), 7)
    client.finish()
    if acks:
        await client.receive(ApiKey.PRODUCE, 7)
    assert await client.is_closed()
    assert (await fetch(await connect(), 1)).high_watermark == 2


@pytest.mark.parametrize("version", versions(ApiKey.API_VERSIONS))
async def test_every_version_of_api_versions_lists_what_is_answered(client: RawClient, version: int) -> None:
    request = ApiVersionsRequest(client_software_name="raw", client_software_version="1") if version >= 3 else None
    response = await client.ask(request or ApiVersionsRequest(), version)
    ranges = {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}
    assert ranges == {operation.key: operation.handler.versions for operation in operations}


async def test_api_versions_from_the_future_is_answered_in_version_0_with_our_ranges(client: RawClient) -> None:
    client.send_bytes(struct.pack(">ihhih", 10, ApiKey.API_VERSIONS, 99, 7, -1))
    number, response = await client.receive(ApiKey.API_VERSIONS, 0)
    assert (number, response.error_code) == (7, ErrorCode.UNSUPPORTED_VERSION)
    assert response.api_keys


@pytest.mark.parametrize("version", versions(ApiKey.METADATA))
async def test_every_version_of_metadata_describes_a_topic(node: Node, client: RawClient, version: int) -> None:
    asked = MetadataRequest.MetadataRequestTopic(name="orders")
    response = await client.ask(MetadataRequest(topics=[asked], allow_auto_topic_creation=True), version)
    assert [(broker.host, broker.port) for broker in response.brokers] == [tuple(node.addresses["kafka"][0])]
    assert [topic.name for topic in response.topics] == ["orders"]
    assert [each.partition_index for each in response.topics[0].partitions] == [0, 1]


@pytest.mark.parametrize("version", versions(ApiKey.PRODUCE))
async def test_what_any_version_of_produce_stored_is_fetched(node: Node, client: RawClient, version: int) -> None:
    records = old_message(b"a", min(version, 1)) if version < 3 else batch_of(b"a")
    topic = node.catalog.topic("default", "orders")
    assert topic is not None
    stored = await produce(client, records, version, topic_id=topic.id.bytes if version >= 13 else NO_UUID)
    assert (stored.error_code, stored.base_offset) == (0, 0)
    assert values_of((await fetch(client, 0)).records) == [b"a"]


@pytest.mark.parametrize("version", versions(ApiKey.FETCH))
async def test_any_version_of_fetch_gets_the_records(node: Node, client: RawClient, version: int) -> None:
    from aiokafka.record.memory_records import MemoryRecords

    await produce(client, batch_of(b"a", b"b", codec=Codec.GZIP))
    topic = node.catalog.topic("default", "orders")
    assert topic is not None
    found = await fetch(client, 0, version, topic_id=topic.id.bytes if version >= 13 else NO_UUID)
    assert (found.error_code, found.high_watermark) == (0, 2)
    reader = MemoryRecords(bytes(found.records))
    seen = []
    while (batch := reader.next_batch()) is not None:
        seen += [(record.offset, record.key, record.value, record.timestamp) for record in batch]
    times = (NOW_MS, NOW_MS + 1) if version >= 2 else (None, None)
    assert seen == [(0, b"k", b"a", times[0]), (1, b"k", b"b", times[1])]


@pytest.mark.parametrize("version", versions(ApiKey.LIST_OFFSETS))
async def test_every_version_of_list_offsets_finds_start_end_and_time(client: RawClient, version: int) -> None:
    await produce(client, batch_of(b"a", b"b", b"c"))
    found = {}
    for at_ms in (-2, -1, NOW_MS + 1, NOW_MS + 99):
        partition = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=at_ms)
        wanted = ListOffsetsRequest.ListOffsetsTopic(name="orders", partitions=[partition])
        response = await client.ask(ListOffsetsRequest(topics=[wanted]), version)
        answer = response.topics[0].partitions[0]
        found[at_ms] = answer.old_style_offsets[:1] if version == 0 else answer.offset
    if version == 0:
        assert list(found.values()) == [[0], [3], [1], []]
    else:
        assert list(found.values()) == [0, 3, 1, -1]


async def test_a_topic_is_made_by_asking_for_it_and_a_bad_name_is_refused(client: RawClient) -> None:
    asked = [MetadataRequest.MetadataRequestTopic(name=name) for name in ("fresh", "no/good")]
    response = await client.ask(MetadataRequest(topics=asked), 4)
    assert [(topic.name, topic.error_code) for topic in response.topics] == [
        ("fresh", 0),
        ("no/good", ErrorCode.INVALID_TOPIC_EXCEPTION),
    ]
    unwanted = MetadataRequest(
        topics=[MetadataRequest.MetadataRequestTopic(name="unmade")], allow_auto_topic_creation=False
    )
    response = await client.ask(unwanted, 4)
    assert response.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_fetch_inside_a_batch_gets_the_batch(client: RawClient) -> None:
    await produce(client, batch_of(b"a", b"b", b"c"))
    assert values_of((await fetch(client, 2)).records) == [b"a", b"b", b"c"]


async def test_at_least_one_batch_comes_however_small_the_limits(client: RawClient) -> None:
    await produce(client, batch_of(b"x" * 1000))
    await produce(client, batch_of(b"y" * 1000))
    found = await fetch(client, 0, max_bytes=10, partition_max_bytes=10)
    assert values_of(found.records) == [b"x" * 1000]


async def test_a_fetch_waits_for_data_and_is_woken_by_it(client: RawClient, connect: Connect) -> None:
    waiting = asyncio.create_task(fetch(client, 0, max_wait_ms=30_000))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    await produce(await connect(), batch_of(b"a"))
    async with asyncio.timeout(5):
        assert values_of((await waiting).records) == [b"a"]


async def test_a_fetch_without_data_ends_when_its_time_is_over(client: RawClient) -> None:
    began = time.monotonic()
    found = await fetch(client, 0, max_wait_ms=100)
    assert (found.error_code, bytes(found.records)) == (0, b"")
    assert 0.09 < time.monotonic() - began < 5


async def test_a_fetch_waits_for_as_many_bytes_as_it_asks_for(client: RawClient, connect: Connect) -> None:
    one = batch_of(b"a" * 100)
    waiting = asyncio.create_task(fetch(client, 0, max_wait_ms=30_000, min_bytes=2 * len(one)))
    other = await connect()
    await produce(other, one)
    await asyncio.sleep(0.05)
    assert not waiting.done()
    await produce(other, one)
    async with asyncio.timeout(5):
        assert len((await waiting).records) == 2 * len(one)


async def test_deleting_a_topic_ends_a_waiting_fetch(node: Node, client: RawClient) -> None:
    waiting = asyncio.create_task(fetch(client, 0, max_wait_ms=30_000))
    await asyncio.sleep(0.05)
    topic = node.catalog.topic("default", "orders")
    assert topic is not None
    await node.topics.delete(topic)
    async with asyncio.timeout(5):
        assert (await waiting).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_waiting_fetch_does_not_keep_other_connections_waiting(client: RawClient, connect: Connect) -> None:
    client.send(fetch_request(0, max_wait_ms=30_000), 11)
    async with asyncio.timeout(5):
        assert (await (await connect()).ask(MetadataRequest(topics=[]), 4)).brokers


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"topic": "unknown"}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"index": 7}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"acks": 5}, ErrorCode.INVALID_REQUIRED_ACKS),
        ({"records": b""}, ErrorCode.INVALID_RECORD),
        ({"records": batch_of(b"a") * 2}, ErrorCode.INVALID_RECORD),
        ({"records": batch_of(b"a")[:-1] + b"?"}, ErrorCode.CORRUPT_MESSAGE),
        ({"records": batch_of(b"a")[:30]}, ErrorCode.CORRUPT_MESSAGE),
        ({"records": batch_of(b"x" * 2_000_000)}, ErrorCode.MESSAGE_TOO_LARGE),
        ({"records": batch_of(b"a", at_ms=NOW_MS + 90 * 86_400_000)}, ErrorCode.INVALID_TIMESTAMP),
    ],
)
async def test_what_cannot_be_stored_gets_its_error_and_leaves_nothing(
    client: RawClient, change: dict[str, Any], error: ErrorCode
) -> None:
    refused = await produce(client, **{"records": batch_of(b"a"), **change})
    assert (refused.error_code, refused.base_offset) == (error, -1)
    assert (await fetch(client, 0)).high_watermark == 0


async def test_zstd_needs_versions_that_know_it(client: RawClient) -> None:
    zstd = batch_of(b"a", codec=Codec.ZSTD)
    assert (await produce(client, zstd, 6)).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert (await produce(client, zstd, 7)).error_code == 0
    assert (await fetch(client, 0, 9)).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert values_of((await fetch(client, 0, 10)).records) == [b"a"]


async def test_a_compacted_topic_names_the_records_without_a_key(node: Node, connect: Connect) -> None:
    await node.topics.create("table", partitions=1, settings={"cleanup.policy": "compact"})
    client = await connect()
    refused = await produce(client, batch_of(b"a", b"b", key=None), 8, topic="table")
    assert refused.error_code == ErrorCode.INVALID_RECORD
    assert [each.batch_index for each in refused.record_errors] == [0, 1]
    assert (await produce(client, batch_of(b"a"), 8, topic="table")).error_code == 0


async def test_append_time_replaces_the_producers_time(node: Node, connect: Connect) -> None:
    await node.topics.create("stamped", partitions=1, settings={"message.timestamp.type": "LogAppendTime"})
    client = await connect()
    stored = await produce(client, batch_of(b"a", at_ms=5), topic="stamped")
    (batch,) = split_batches((await fetch(client, 0, topic="stamped")).records)
    assert batch.is_append_time
    assert batch.max_timestamp == stored.log_append_time_ms
    assert abs(stored.log_append_time_ms - time.time_ns() // 1_000_000) < 60_000


async def test_a_topics_own_compression_is_applied(node: Node, connect: Connect) -> None:
    await node.topics.create("packed", partitions=1, settings={"compression.type": "zstd"})
    client = await connect()
    await produce(client, batch_of(b"a", codec=Codec.GZIP), topic="packed")
    (batch,) = split_batches((await fetch(client, 0, topic="packed")).records)
    assert batch.codec is Codec.ZSTD
    assert values_of(bytes(batch.data)) == [b"a"]


async def test_acks_0_gets_no_answer_and_a_closed_connection_when_refused(client: RawClient, connect: Connect) -> None:
    client.send(produce_request(batch_of(b"a"), acks=0), 7)
    assert (await client.ask(MetadataRequest(topics=[]), 4)).brokers, "the next answer is the next request's"
    client.send(produce_request(batch_of(b"a"), topic="unknown", acks=0), 7)
    assert await client.is_closed()
    assert (await fetch(await connect(), 0)).high_watermark == 1


async def test_pipelined_requests_are_answered_in_order(client: RawClient) -> None:
    for number in range(50):
        client.send(produce_request(batch_of(b"%d" % number)), 7)
        if number % 10 == 0:
            client.send(fetch_request(number, max_wait_ms=10_000), 11)
            client.send(MetadataRequest(topics=[]), 4)
    expected = 0
    for number in range(50):
        expected += 1
        correlation, stored = await client.receive(ApiKey.PRODUCE, 7)
        assert (correlation, stored.responses[0].partition_responses[0].base_offset) == (expected, number)
        if number % 10 == 0:
            expected += 2
            correlation, found = await client.receive(ApiKey.FETCH, 11)
            assert correlation == expected - 1
            assert values_of(found.responses[0].partitions[0].records) == [b"%d" % number]
            correlation, _ = await client.receive(ApiKey.METADATA, 4)
            assert correlation == expected


async def test_a_session_only_tells_news(client: RawClient) -> None:
    opened = await client.ask(fetch_request(0, session_epoch=0), 11)
    assert opened.session_id
    assert len(opened.responses) == 1, "the first answer has every partition"
    following: dict[str, Any] = {"session_id": opened.session_id, "max_wait_ms": 0}
    quiet = await client.ask(FetchRequest(session_epoch=1, **following), 11)
    assert quiet.responses == []
    await produce(client, batch_of(b"a"))
    news = await client.ask(FetchRequest(session_epoch=2, **following), 11)
    assert values_of(news.responses[0].partitions[0].records) == [b"a"]
    wrong = await client.ask(FetchRequest(session_epoch=9, **following), 11)
    assert wrong.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    forgotten = FetchRequest.ForgottenTopic(topic="orders", partitions=[0])
    less = await client.ask(FetchRequest(session_epoch=3, forgotten_topics_data=[forgotten], **following), 11)
    assert less.responses == []
    await client.ask(FetchRequest(session_id=opened.session_id, session_epoch=-1), 11)
    gone = await client.ask(FetchRequest(session_epoch=4, **following), 11)
    assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


async def test_only_the_first_batch_of_an_answer_may_be_larger_than_its_limit(client: RawClient) -> None:
    for index in (0, 1):
        await produce(client, batch_of(b"x" * 1000), index=index)
    partitions = [
        FetchRequest.FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1 << 20) for index in (0, 1)
    ]
    wanted = FetchRequest.FetchTopic(topic="orders", partitions=partitions)
    for limit, expected in ((10, [True, False]), (1500, [True, False]), (5000, [True, True])):
        found = await client.ask(FetchRequest(topics=[wanted], max_bytes=limit, max_wait_ms=0), 11)
        assert [bool(each.records) for each in found.responses[0].partitions] == expected


async def test_only_the_first_batch_of_an_answer_may_be_larger_than_its_partition_s_limit(client: RawClient) -> None:
    for index in (0, 1):
        await produce(client, batch_of(b"x" * 1000), index=index)
    partitions = [
        FetchRequest.FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=limit)
        for index, limit in ((0, 10), (1, 500))
    ]
    wanted = FetchRequest.FetchTopic(topic="orders", partitions=partitions)
    found = await client.ask(FetchRequest(topics=[wanted], max_bytes=1 << 20, max_wait_ms=0), 11)
    assert [bool(each.records) for each in found.responses[0].partitions] == [True, False]


@pytest.mark.parametrize(("records", "delta"), [(0, 0), (2, 0), (1, 5)])
async def test_a_batch_that_counts_wrong_is_not_worth_sending_again(
    client: RawClient, records: int, delta: int
) -> None:
    data = bytearray(batch_of(b"a"))
    struct.pack_into(">i", data, 57, records)
    struct.pack_into(">i", data, 23, delta)
    refused = await produce(client, bytes(resealed(data).data))
    assert (refused.error_code, refused.base_offset) == (ErrorCode.INVALID_RECORD, -1)
    assert (await fetch(client, 0)).high_watermark == 0


@pytest.mark.parametrize("version", [7, 13])
async def test_a_producer_with_an_id_counts_its_records(node: Node, client: RawClient, version: int) -> None:
    topic = node.catalog.topic("default", "orders")
    assert topic is not None
    records = build_batch([Record(0, NOW_MS, None, b"a")], producer_id=7, producer_epoch=0, base_sequence=-1)
    by_id = {"topic": "", "topic_id": topic.id.bytes} if version >= 13 else {}
    refused = await produce(client, bytes(records.data), version, **by_id)
    assert (refused.error_code, refused.base_offset) == (ErrorCode.INVALID_RECORD, -1)


@pytest.mark.parametrize("version", versions(ApiKey.LIST_OFFSETS))
async def test_every_version_of_list_offsets_knows_the_special_times_of_its_day(
    client: RawClient, version: int
) -> None:
    await produce(client, batch_of(b"a", b"b"))
    known = {-3: (7, 1), -4: (8, 0), -5: (9, -1), -6: (11, -1), -7: (99, -1)}
    for at_ms, (since, offset) in known.items():
        partition = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=at_ms)
        wanted = ListOffsetsRequest.ListOffsetsTopic(name="orders", partitions=[partition])
        response = await client.ask(ListOffsetsRequest(topics=[wanted]), version)
        (found,) = response.topics[0].partitions
        if version < since:
            assert found.error_code == ErrorCode.UNSUPPORTED_VERSION
        else:
            assert (found.error_code, found.offset) == (0, offset)


async def test_requests_and_connections_are_counted(node: Node, client: RawClient) -> None:
    await produce(client, batch_of(b"a"))
    await fetch(client, 0)
    found = {(metric.name, metric.labels.get("api", "")): metric.value for metric in node.metrics()}
    assert found["braid_kafka_connections", ""] == 1
    assert found["braid_kafka_requests", "Produce"] == 1
    assert found["braid_kafka_requests", "Fetch"] == 1
