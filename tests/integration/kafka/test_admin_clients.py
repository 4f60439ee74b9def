"""Administrators with client libraries: confluent-kafka (librdkafka) and kafka-python, as their users write it."""

from collections.abc import AsyncIterator
from typing import Any

import confluent_kafka
import confluent_kafka.admin
import kafka.admin as python_admin_module
import kafka.errors
import kafka.structs
import pytest
from confluent_kafka import KafkaException, TopicPartition

from braidmq.model import Message
from braidmq.node import Node
from braidmq.records import batch_messages
from kafka_support import InThread, bootstrap, exists, topic_of

LIMIT_S = 20.0

# Neither library says of what types these are.
rd: Any = confluent_kafka.admin
python: Any = python_admin_module


@pytest.fixture
def librdkafka(node: Node) -> Any:
    return rd.AdminClient({"bootstrap.servers": bootstrap(node)})


@pytest.fixture
async def kafka_python(node: Node, in_thread: InThread[Any]) -> AsyncIterator[Any]:
    admin = await in_thread(lambda: python.KafkaAdminClient(bootstrap_servers=bootstrap(node)))
    yield admin
    await in_thread(admin.close)


def results(futures: Any) -> dict[Any, Any]:
    """What became of each, an exception where it failed."""
    return {key: future.exception(LIMIT_S) or future.result(LIMIT_S) for key, future in futures.items()}


async def fill(node: Node, count: int) -> None:
    for _ in range(count):
        await node.log.append([(topic_of(node).partition_numbers[0], batch_messages([Message(body=b"x")]))])


async def test_librdkafka_creates_and_deletes_topics(node: Node, librdkafka: Any, in_thread: InThread[Any]) -> None:
    topics = [
        rd.NewTopic("orders", 3, 1, config={"retention.ms": "5000"}),
        rd.NewTopic("a/b", 1, 1),
        rd.NewTopic("c", 1, 3),
    ]
    made = await in_thread(lambda: results(librdkafka.create_topics(topics)))
    assert made["orders"] is None
    codes = {name: error.args[0].code() for name, error in made.items() if error is not None}
    assert codes == {
        "a/b": confluent_kafka.KafkaError.TOPIC_EXCEPTION,
        "c": confluent_kafka.KafkaError.INVALID_REPLICATION_FACTOR,
    }
    assert (len(topic_of(node).partition_numbers), topic_of(node).retention_ms) == (3, 5000)
    checked = await in_thread(lambda: results(librdkafka.create_topics([rd.NewTopic("new", 1)], validate_only=True)))
    assert checked == {"new": None}
    assert not exists(node, "new")
    gone = await in_thread(lambda: results(librdkafka.delete_topics(["orders", "nosuch"])))
    assert gone["orders"] is None
    assert gone["nosuch"].args[0].code() == confluent_kafka.KafkaError.UNKNOWN_TOPIC_OR_PART
    assert not exists(node, "orders")


async def test_librdkafka_reads_changes_and_writes_settings(
    node: Node, librdkafka: Any, in_thread: InThread[Any]
) -> None:
    await node.topics.create("orders", partitions=1, settings={"segment.ms": "77"})

    def described() -> dict[str, Any]:
        (entries,) = results(librdkafka.describe_configs([rd.ConfigResource(rd.ResourceType.TOPIC, "orders")])).values()
        return dict(entries)

    before = await in_thread(described)
    assert len(before) >= 33
    assert before["segment.ms"].source == rd.ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    assert before["retention.ms"].value == "259200000"
    assert before["retention.ms"].is_default
    assert [each.name for each in before["retention.ms"].synonyms.values()] == ["log.retention.ms"]
    changes = [
        rd.ConfigEntry("retention.ms", "9", incremental_operation=rd.AlterConfigOpType.SET),
        rd.ConfigEntry("segment.ms", None, incremental_operation=rd.AlterConfigOpType.DELETE),
        rd.ConfigEntry("cleanup.policy", "compact", incremental_operation=rd.AlterConfigOpType.APPEND),
    ]
    resource = rd.ConfigResource(rd.ResourceType.TOPIC, "orders", incremental_configs=changes)
    (done,) = (await in_thread(lambda: results(librdkafka.incremental_alter_configs([resource])))).values()
    assert done is None
    after = await in_thread(described)
    assert (after["retention.ms"].value, after["cleanup.policy"].value) == ("9", "delete,compact")
    assert after["segment.ms"].is_default
    bad = [rd.ConfigEntry("retention.ms", "soon", incremental_operation=rd.AlterConfigOpType.SET)]
    refused = rd.ConfigResource(rd.ResourceType.TOPIC, "orders", incremental_configs=bad)
    (error,) = (await in_thread(lambda: results(librdkafka.incremental_alter_configs([refused])))).values()
    assert error.args[0].code() == confluent_kafka.KafkaError.INVALID_CONFIG
    assert "retention.ms" in error.args[0].str()
    assert "soon" in error.args[0].str()


async def test_librdkafka_describes_the_node(node: Node, librdkafka: Any, in_thread: InThread[Any]) -> None:
    (entries,) = (
        await in_thread(lambda: results(librdkafka.describe_configs([rd.ConfigResource(rd.ResourceType.BROKER, "1")])))
    ).values()
    assert entries["num.partitions"].value == "4"
    assert entries["num.partitions"].is_read_only
    cluster = await in_thread(lambda: librdkafka.describe_cluster(include_authorized_operations=True).result(LIMIT_S))
    assert (cluster.cluster_id, cluster.controller.id) == (node.cluster_id, 1)
    assert [each.id for each in cluster.nodes] == [1]
    assert rd.AclOperation.ALTER in cluster.authorized_operations


async def test_librdkafka_grows_a_topic_and_deletes_its_records(
    node: Node, librdkafka: Any, in_thread: InThread[Any]
) -> None:
    await node.topics.create("orders", partitions=1)
    await fill(node, 5)
    grown = await in_thread(lambda: results(librdkafka.create_partitions([rd.NewPartitions("orders", 3)])))
    assert grown == {"orders": None}
    assert len(topic_of(node).partition_numbers) == 3
    shrunk = await in_thread(lambda: results(librdkafka.create_partitions([rd.NewPartitions("orders", 2)])))
    assert shrunk["orders"].args[0].code() == confluent_kafka.KafkaError.INVALID_PARTITIONS
    deleted = await in_thread(
        lambda: results(librdkafka.delete_records([TopicPartition("orders", 0, 3), TopicPartition("orders", 1, 9)]))
    )
    by_index = {each.partition: result for each, result in deleted.items()}
    assert by_index[0].low_watermark == 3
    assert isinstance(by_index[1], KafkaException)
    earliest = await in_thread(
        lambda: results(librdkafka.list_offsets({TopicPartition("orders", 0): rd.OffsetSpec.earliest()}))
    )
    assert [each.offset for each in earliest.values()] == [3]


async def test_librdkafka_is_told_that_there_are_no_accounts(librdkafka: Any, in_thread: InThread[Any]) -> None:
    wanted = rd.AclBinding(
        rd.ResourceType.TOPIC,
        "orders",
        rd.ResourcePatternType.LITERAL,
        "User:u",
        "*",
        rd.AclOperation.READ,
        rd.AclPermissionType.ALLOW,
    )
    (error,) = (await in_thread(lambda: results(librdkafka.create_acls([wanted])))).values()
    assert error.args[0].code() == confluent_kafka.KafkaError.SECURITY_DISABLED
    assert "accounts" in error.args[0].str()


async def test_kafka_python_creates_describes_and_deletes_topics(
    node: Node, kafka_python: Any, in_thread: InThread[Any]
) -> None:
    topics = [python.NewTopic("orders", 3, 1, topic_configs={"segment.ms": "77"})]
    await in_thread(lambda: kafka_python.create_topics(topics))
    with pytest.raises(kafka.errors.TopicAlreadyExistsError):
        await in_thread(lambda: kafka_python.create_topics(topics))
    assert topic_of(node).settings["segment.ms"] == "77"
    assert await in_thread(kafka_python.list_topics) == ["orders"]
    (described,) = await in_thread(lambda: kafka_python.describe_topics(["orders"]))
    assert len(described["partitions"]) == 3
    await in_thread(lambda: kafka_python.delete_topics(["orders"]))
    assert not exists(node, "orders")


async def test_kafka_python_changes_settings(node: Node, kafka_python: Any, in_thread: InThread[Any]) -> None:
    await node.topics.create("orders", partitions=1)

    def resource(**configs: str) -> Any:
        named = {name.replace("_", "."): value for name, value in configs.items()}
        return python.ConfigResource(python.ConfigResourceType.TOPIC, "orders", configs=named or None)

    await in_thread(lambda: kafka_python.alter_configs([resource(segment_ms="77", retention_ms="5")]))
    await in_thread(lambda: kafka_python.alter_configs([resource(retention_ms="6")]))
    assert (topic_of(node).retention_ms, topic_of(node).settings["segment.ms"]) == (6, "77")
    described = await in_thread(lambda: kafka_python.describe_configs([resource()]))
    assert "retention.ms" in str(described)
    # Without the incremental API it reads all settings, changes one and writes all back.
    await in_thread(lambda: kafka_python.alter_configs([resource(retention_ms="7")], incremental=False))
    assert (topic_of(node).retention_ms, topic_of(node).settings["segment.ms"]) == (7, "77")
    refused = await in_thread(lambda: kafka_python.alter_configs([resource(retention_ms="soon")]))
    assert "retention.ms" in str(refused)
    assert topic_of(node).retention_ms == 7


async def test_kafka_python_grows_a_topic_and_deletes_its_records(
    node: Node, kafka_python: Any, in_thread: InThread[Any]
) -> None:
    await node.topics.create("orders", partitions=1)
    await fill(node, 5)
    await in_thread(lambda: kafka_python.create_partitions({"orders": 4}))
    assert len(topic_of(node).partition_numbers) == 4
    await in_thread(lambda: kafka_python.delete_records({kafka.structs.TopicPartition("orders", 0): 2}))
    assert node.log.bounds(topic_of(node).partition_numbers[0]).start == 2


async def test_kafka_python_describes_the_node(node: Node, kafka_python: Any, in_thread: InThread[Any]) -> None:
    cluster = await in_thread(kafka_python.describe_cluster)
    assert cluster["cluster_id"] == node.cluster_id
    await node.topics.create("orders", partitions=1)
    await fill(node, 1)
    assert "orders" in str(await in_thread(kafka_python.describe_log_dirs))
    assert not (await in_thread(kafka_python.list_partition_reassignments))
