"""Topics, partitions and records: made and deleted over a socket, in every version that is advertised."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest

from braidmq.model import Message, TopicKind
from braidmq.model.names import is_internal
from braidmq.model.topic_settings import TOPIC_SETTINGS
from braidmq.node import Node
from braidmq.protocols.kafka.codec import NO_UUID, ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.create_partitions import CreatePartitionsRequest
from braidmq.protocols.kafka.codec.messages.create_topics import CreateTopicsRequest
from braidmq.protocols.kafka.codec.messages.delete_records import DeleteRecordsRequest
from braidmq.protocols.kafka.codec.messages.delete_topics import DeleteTopicsRequest
from braidmq.protocols.kafka.codec.messages.fetch import FetchRequest
from braidmq.protocols.kafka.codec.messages.metadata import MetadataRequest
from braidmq.records import batch_messages
from kafka_support import RawClient, every_version, exists, topic_of, until

Connect = Callable[[], Awaitable[RawClient]]
NODE_ID = 1
TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


@pytest.fixture
async def client(node: Node, connect: Connect) -> RawClient:
    await node.topics.create("orders", partitions=2)
    return await connect()


async def fill(node: Node, count: int, name: str = "orders", index: int = 0) -> None:
    number = topic_of(node, name).partition_numbers[index]
    for _ in range(count):
        await node.log.append([(number, batch_messages([Message(body=b"x" * 100)]))])


# Creating topics.


def creatable(name: str, partitions: int = 3, factor: int = 1, **given: Any) -> CreateTopicsRequest.CreatableTopic:
    configs = [
        CreateTopicsRequest.CreatableTopicConfig(name=key, value=value)
        for key, value in given.pop("configs", {}).items()
    ]
    assignments = [
        CreateTopicsRequest.CreatableReplicaAssignment(partition_index=index, broker_ids=nodes)
        for index, nodes in given.pop("assignments", {}).items()
    ]
    return CreateTopicsRequest.CreatableTopic(
        name=name, num_partitions=partitions, replication_factor=factor, configs=configs, assignments=assignments
    )


async def create(client: RawClient, *topics: CreateTopicsRequest.CreatableTopic, version: int = 7, **given: Any) -> Any:
    response = await client.ask(CreateTopicsRequest(topics=list(topics), **given), version)
    return {result.name: result for result in response.topics}


@every_version(ApiKey.CREATE_TOPICS)
async def test_every_version_creates_topics(node: Node, client: RawClient, version: int) -> None:
    results = await create(
        client, creatable("new", 5, configs={"segment.ms": "77"}), creatable("orders"), version=version
    )
    assert results["new"].error_code == 0
    assert results["orders"].error_code == ErrorCode.TOPIC_ALREADY_EXISTS
    topic = topic_of(node, "new")
    assert (len(topic.partition_numbers), topic.settings["segment.ms"]) == (5, "77")
    if version >= 1:
        assert results["new"].error_message is None
        assert "orders" in results["orders"].error_message
    if version >= 5:
        assert (results["new"].num_partitions, results["new"].replication_factor) == (5, 1)
        configs = {config.name: (config.value, config.config_source) for config in results["new"].configs}
        assert configs["segment.ms"] == ("77", 1)
        assert configs["retention.ms"] == ("259200000", 5)
        assert len(configs) == len([setting for setting in TOPIC_SETTINGS.values() if setting.listed])
    if version >= 7:
        assert results["new"].topic_id == topic.id.bytes


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (creatable("a/b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (creatable(""), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (creatable("__consumer_offsets"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (creatable("orders?tag=A"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (creatable("orders..tag..A"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (creatable("new", 0), ErrorCode.INVALID_PARTITIONS),
        (creatable("new", -2), ErrorCode.INVALID_PARTITIONS),
        (creatable("new", 1_000_000), ErrorCode.INVALID_PARTITIONS),
        (creatable("new", factor=2), ErrorCode.INVALID_REPLICATION_FACTOR),
        (creatable("new", factor=0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (creatable("new", factor=-2), ErrorCode.INVALID_REPLICATION_FACTOR),
        (creatable("new", configs={"nope": "1"}), ErrorCode.INVALID_CONFIG),
        (creatable("new", configs={"segment.ms": "never"}), ErrorCode.INVALID_CONFIG),
        (creatable("new", configs={"segment.ms": None}), ErrorCode.INVALID_CONFIG),
        (creatable("new", 2, -1, assignments={0: [1]}), ErrorCode.INVALID_REQUEST),
        (creatable("new", -1, 1, assignments={0: [1]}), ErrorCode.INVALID_REQUEST),
        (creatable("new", -1, -1, assignments={0: [1], 2: [1]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (creatable("new", -1, -1, assignments={0: [1], 1: [2]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (creatable("new", -1, -1, assignments={0: [1, 2]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (creatable("new", -1, -1, assignments={0: []}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
@pytest.mark.parametrize("validate_only", [False, True])
async def test_what_cannot_be_a_topic_is_refused_and_not_made(
    node: Node, client: RawClient, asked: CreateTopicsRequest.CreatableTopic, error: ErrorCode, validate_only: bool
) -> None:
    results = await create(client, asked, creatable("good"), validate_only=validate_only)
    assert results[asked.name].error_code == error
    assert results[asked.name].error_message
    assert results["good"].error_code == 0
    made = {topic.name for topic in node.catalog.topics() if not is_internal(topic.name)}
    assert made == ({"orders"} if validate_only else {"orders", "good"})


async def test_names_that_collide_are_refused(client: RawClient) -> None:
    await create(client, creatable("a.b"))
    assert (await create(client, creatable("a_b")))["a_b"].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    checked = await create(client, creatable("a_b"), validate_only=True)
    assert checked["a_b"].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


async def test_a_refused_setting_is_named_with_its_value(client: RawClient) -> None:
    result = (await create(client, creatable("new", configs={"cleanup.policy": "shred"})))["new"]
    assert "cleanup.policy" in result.error_message
    assert "shred" in result.error_message


async def test_partitions_and_replicas_may_be_left_to_the_node(node: Node, client: RawClient) -> None:
    assert (await create(client, creatable("new", -1, -1)))["new"].num_partitions == node.topics.partitions
    assigned = await create(client, creatable("assigned", -1, -1, assignments={1: [NODE_ID], 0: [NODE_ID]}))
    assert assigned["assigned"].num_partitions == 2


async def test_a_topic_named_twice_in_one_request_is_refused_once(node: Node, client: RawClient) -> None:
    response = await client.ask(
        CreateTopicsRequest(topics=[creatable("twice"), creatable("good"), creatable("twice", 5)]), 7
    )
    codes = [(result.name, result.error_code) for result in response.topics]
    assert sorted(codes) == [("good", 0), ("twice", ErrorCode.INVALID_REQUEST)]
    assert not exists(node, "twice")


async def test_a_check_answers_what_would_be_made(node: Node, client: RawClient) -> None:
    result = (await create(client, creatable("new", configs={"retention.ms": "5"}), validate_only=True))["new"]
    assert (result.error_code, result.num_partitions, result.topic_id) == (0, 3, NO_UUID)
    assert ("retention.ms", "5") in [(config.name, config.value) for config in result.configs]
    assert not exists(node, "new")


async def test_who_does_not_wait_is_told_so_and_the_topic_is_made(node: Node, client: RawClient) -> None:
    assert (await create(client, creatable("new"), timeout_ms=0))["new"].error_code == ErrorCode.REQUEST_TIMED_OUT
    await until(lambda: exists(node, "new") and not node.topics._under_way)
    assert node.log.bounds(topic_of(node, "new").partition_numbers[0]).end == 0


async def test_a_client_that_leaves_has_its_topics_made_whole(node: Node, connect: Connect) -> None:
    for turn in range(5):
        leaving = await connect()
        leaving.send(CreateTopicsRequest(topics=[creatable(f"left-{turn}")], timeout_ms=10_000), 7)
        await leaving.drain()
        if turn % 2:
            await asyncio.sleep(0.002 * turn)
        await leaving.end()
    client = await connect()
    await create(client, creatable("after"))
    await until(lambda: not node.topics._under_way)
    for topic in node.catalog.topics():
        assert [node.log.bounds(number).end for number in topic.partition_numbers] == [0, 0, 0]


async def test_many_topics_in_one_request(client: RawClient) -> None:
    results = await create(client, *(creatable(f"many-{at}", 1) for at in range(50)))
    assert {result.error_code for result in results.values()} == {0}


# Deleting topics.


@every_version(ApiKey.DELETE_TOPICS)
async def test_every_version_deletes_topics(node: Node, client: RawClient, version: int) -> None:
    await node.topics.create("other")
    if version >= 6:
        states = [
            DeleteTopicsRequest.DeleteTopicState(name="orders"),
            DeleteTopicsRequest.DeleteTopicState(topic_id=topic_of(node, "other").id.bytes),
            DeleteTopicsRequest.DeleteTopicState(name="nosuch"),
        ]
        request = DeleteTopicsRequest(topics=states, timeout_ms=10_000)
    else:
        request = DeleteTopicsRequest(topic_names=["orders", "other", "nosuch"], timeout_ms=10_000)
    response = await client.ask(request, version)
    codes = [(result.name, result.error_code) for result in response.responses]
    assert codes == [("orders", 0), ("other", 0), ("nosuch", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
    assert not exists(node, "orders")
    assert not exists(node, "other")
    if version >= 5:
        assert [result.error_message is None for result in response.responses] == [True, True, False]


async def delete(
    client: RawClient, *states: DeleteTopicsRequest.DeleteTopicState, timeout_ms: int = 10_000
) -> list[int]:
    response = await client.ask(DeleteTopicsRequest(topics=list(states), timeout_ms=timeout_ms), 6)
    return [result.error_code for result in response.responses]


def named(name: str | None, topic_id: bytes = NO_UUID) -> DeleteTopicsRequest.DeleteTopicState:
    return DeleteTopicsRequest.DeleteTopicState(name=name, topic_id=topic_id)


async def test_what_cannot_be_deleted_is_refused(node: Node, client: RawClient) -> None:
    topic_id = topic_of(node).id.bytes
    assert await delete(client, named(None)) == [ErrorCode.INVALID_REQUEST]
    assert await delete(client, named("orders", topic_id)) == [ErrorCode.INVALID_REQUEST]
    assert await delete(client, named(None, UUID(int=1).bytes)) == [ErrorCode.UNKNOWN_TOPIC_ID]
    assert await delete(client, named("orders"), named("orders")) == [ErrorCode.INVALID_REQUEST] * 2
    assert await delete(client, named("orders"), named(None, topic_id)) == [ErrorCode.INVALID_REQUEST] * 2
    assert await delete(client, named("__consumer_offsets")) == [ErrorCode.INVALID_TOPIC_EXCEPTION]
    assert await delete(client, named("orders?tag=A")) == [ErrorCode.INVALID_TOPIC_EXCEPTION]
    assert exists(node, "orders")


async def test_a_deletion_goes_on_without_its_client(node: Node, client: RawClient) -> None:
    assert await delete(client, named("orders"), timeout_ms=0) == [ErrorCode.REQUEST_TIMED_OUT]
    await until(lambda: not exists(node, "orders") and not node.topics._under_way)
    assert node.catalog.topics_deleting() == []


@pytest.mark.parametrize("by_id", [False, True])
async def test_deleting_a_topic_ends_the_fetches_that_wait_for_it(
    node: Node, client: RawClient, connect: Connect, by_id: bool
) -> None:
    waiting = await connect()
    topic_id = topic_of(node).id.bytes if by_id else NO_UUID
    partition = FetchRequest.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
    wanted = FetchRequest.FetchTopic(topic="" if by_id else "orders", topic_id=topic_id, partitions=[partition])
    version = 13 if by_id else 12
    waiting.send(FetchRequest(topics=[wanted], max_wait_ms=30_000, min_bytes=1, max_bytes=1000), version)
    await waiting.drain()
    await asyncio.sleep(0.05)
    async with asyncio.timeout(10):
        assert await delete(client, named("orders")) == [0]
        _, response = await waiting.receive(ApiKey.FETCH, version)
    expected = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert response.responses[0].partitions[0].error_code == expected


async def test_a_topic_made_again_is_another_topic(node: Node, client: RawClient) -> None:
    await fill(node, 3)
    old = topic_of(node).id
    await delete(client, named("orders"))
    await create(client, creatable("orders"))
    assert topic_of(node).id != old
    assert node.log.bounds(topic_of(node).partition_numbers[0]).end == 0


# Partitions and records.


@every_version(ApiKey.CREATE_PARTITIONS)
async def test_every_version_creates_partitions(node: Node, client: RawClient, version: int) -> None:
    asked = [
        CreatePartitionsRequest.CreatePartitionsTopic(name="orders", count=4, assignments=None),
        CreatePartitionsRequest.CreatePartitionsTopic(name="nosuch", count=4, assignments=None),
    ]
    response = await client.ask(CreatePartitionsRequest(topics=asked, timeout_ms=10_000), version)
    codes = [(result.name, result.error_code) for result in response.results]
    assert codes == [("orders", 0), ("nosuch", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
    assert [node.log.bounds(number).end for number in topic_of(node).partition_numbers] == [0] * 4


@pytest.mark.parametrize(
    ("count", "assignments", "error"),
    [
        (2, None, ErrorCode.INVALID_PARTITIONS),
        (1, None, ErrorCode.INVALID_PARTITIONS),
        (-1, None, ErrorCode.INVALID_PARTITIONS),
        (1_000_000, None, ErrorCode.INVALID_PARTITIONS),
        (3, [[NODE_ID], [NODE_ID]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (3, [[7]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (3, [[NODE_ID]], 0),
        (3, None, 0),
    ],
)
@pytest.mark.parametrize("validate_only", [False, True])
async def test_a_topic_only_grows(
    node: Node, client: RawClient, count: int, assignments: list[list[int]] | None, error: int, validate_only: bool
) -> None:
    asked = CreatePartitionsRequest.CreatePartitionsTopic(
        name="orders",
        count=count,
        assignments=None
        if assignments is None
        else [CreatePartitionsRequest.CreatePartitionsAssignment(broker_ids=nodes) for nodes in assignments],
    )
    response = await client.ask(
        CreatePartitionsRequest(topics=[asked], timeout_ms=10_000, validate_only=validate_only), 3
    )
    assert response.results[0].error_code == error
    assert len(topic_of(node).partition_numbers) == (count if not error and not validate_only else 2)


async def test_a_topic_that_is_to_grow_twice_in_one_request_stays(node: Node, client: RawClient) -> None:
    asked = [CreatePartitionsRequest.CreatePartitionsTopic(name="orders", count=n, assignments=None) for n in (3, 4)]
    response = await client.ask(CreatePartitionsRequest(topics=asked, timeout_ms=10_000), 3)
    assert [(each.name, each.error_code) for each in response.results] == [("orders", ErrorCode.INVALID_REQUEST)]
    assert len(topic_of(node).partition_numbers) == 2


async def delete_records(
    client: RawClient, *offsets: int, version: int = 2, topic: str = "orders"
) -> list[tuple[int, int]]:
    partitions = [
        DeleteRecordsRequest.DeleteRecordsPartition(partition_index=index, offset=offset)
        for index, offset in enumerate(offsets)
    ]
    asked = DeleteRecordsRequest.DeleteRecordsTopic(name=topic, partitions=partitions)
    response = await client.ask(DeleteRecordsRequest(topics=[asked], timeout_ms=10_000), version)
    return [(each.error_code, each.low_watermark) for each in response.topics[0].partitions]


@every_version(ApiKey.DELETE_RECORDS)
async def test_every_version_deletes_records(node: Node, client: RawClient, version: int) -> None:
    await fill(node, 5)
    out_of_range = (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert await delete_records(client, 3, 1, 0, version=version) == [
        (0, 3),
        out_of_range,
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
    ]
    assert await delete_records(client, -1, -2, version=version) == [(0, 5), out_of_range]
    assert node.log.bounds(topic_of(node).partition_numbers[0]) == (5, 5, 5)
    assert await delete_records(client, 2, version=version) == [(0, 5)]
    assert await delete_records(client, 6, version=version) == [out_of_range]


async def test_a_compacted_topic_keeps_its_beginning(node: Node, client: RawClient) -> None:
    await node.topics.create("keyed", partitions=1, settings={"cleanup.policy": "compact"})
    assert await delete_records(client, 0, topic="keyed") == [(ErrorCode.POLICY_VIOLATION, -1)]
    await node.topics.create("both", partitions=1, settings={"cleanup.policy": "compact,delete"})
    assert await delete_records(client, 0, topic="both") == [(0, 0)]


# Names that are Kafka's own.


async def test_kafkas_own_topics_are_neither_there_nor_made_by_being_asked_for(node: Node, client: RawClient) -> None:
    topics = [MetadataRequest.MetadataRequestTopic(name="__consumer_offsets")]
    response = await client.ask(MetadataRequest(topics=topics, allow_auto_topic_creation=True), 9)
    assert response.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert not exists(node, "__consumer_offsets")


@pytest.mark.parametrize("may_create", [False, True])
async def test_a_name_that_cannot_be_is_told_from_a_topic_that_is_not_there(
    client: RawClient, may_create: bool
) -> None:
    topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in ("bad name", "orders?tag=A")]
    response = await client.ask(MetadataRequest(topics=topics, allow_auto_topic_creation=may_create), 9)
    assert [topic.error_code for topic in response.topics] == [ErrorCode.INVALID_TOPIC_EXCEPTION, 0]


# Lite topics.


async def shown(client: RawClient) -> set[str]:
    response = await client.ask(MetadataRequest(topics=None), 12)
    return {topic.name for topic in response.topics}


async def test_topics_behind_lite_topics_are_read_by_name_and_listed_where_they_are_archived(
    node: Node, client: RawClient
) -> None:
    for parent, settings in (("devices", {}), ("kept-devices", {"braid.archive": "on"})):
        topic = await node.topics.create(parent, partitions=1, kind=TopicKind.LITE, settings=settings)
        await node.lite.send(topic, "d1", Message.create(b"hello"))
    assert await shown(client) == {"orders", "devices", "kept-devices", "%LITE%kept-devices|d1"}
    asked = MetadataRequest.MetadataRequestTopic(name="%LITE%devices|d1")
    (found,) = (await client.ask(MetadataRequest(topics=[asked]), 12)).topics
    assert (found.error_code, found.is_internal, len(found.partitions)) == (ErrorCode.NONE, True, 1)


async def test_the_name_of_a_lite_topic_is_nobody_elses(node: Node, client: RawClient) -> None:
    refused = await create(client, creatable("%LITE%orders|d1", 1))
    assert refused["%LITE%orders|d1"].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    await node.topics.create("devices", partitions=1, kind=TopicKind.LITE)
    made = await create(client, creatable("%LITE%devices|d1", 1))
    assert made["%LITE%devices|d1"].error_code == ErrorCode.NONE
    assert node.lite.topics.find("devices", "d1") is not None
