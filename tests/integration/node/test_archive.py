"""Topics whose archive is required, on a real node: what goes from the log, and what an operator sees of it."""

import re
import time
from collections.abc import Callable
from typing import Any

import confluent_kafka
import confluent_kafka.admin
import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition

from running_node import RunningNode, WaitFor

# The library does not say of what types these are.
rd: Any = confluent_kafka.admin
Launch = Callable[..., RunningNode]
TOPIC = "ledger"
LIMIT_S = 20.0
FAST = ["--set", "log.maintenance_interval_s=1"]
LOUD = ["--set", "logging.level=info", "--set", "logging.format=json"]


def admin_of(node: RunningNode) -> Any:
    return rd.AdminClient({"bootstrap.servers": node.bootstrap})


def make_topic(admin: Any, **config: str) -> None:
    topic = rd.NewTopic(TOPIC, 1, config={name.replace("_", "."): text for name, text in config.items()})
    admin.create_topics([topic])[TOPIC].result(LIMIT_S)


def produce(node: RunningNode, count: int, *, age_ms: int = 3_600_000) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": node.bootstrap})
    at_ms = int(time.time() * 1000) - age_ms
    for nth in range(count):
        producer.produce(TOPIC, b"%d" % nth, timestamp=at_ms)
        producer.flush()


def archive(admin: Any, offset: int) -> None:
    """As the pipeline says how far the archive is."""
    marks = ConsumerGroupTopicPartitions("__braid.archive", [TopicPartition(TOPIC, 0, offset)])
    admin.alter_consumer_group_offsets([marks])["__braid.archive"].result(LIMIT_S)


def start_offset(admin: Any) -> int:
    place = TopicPartition(TOPIC, 0)
    return int(admin.list_offsets({place: rd.OffsetSpec.earliest()})[place].result(LIMIT_S).offset)


def held_topics(node: RunningNode) -> int:
    found = re.search(r"^braid_retention_held_topics (\d+)", node.get("/metrics").body.decode(), re.MULTILINE)
    assert found is not None
    return int(found[1])


def shown(admin: Any, kind: Any, name: str, key: str) -> str:
    resource = rd.ConfigResource(kind, name)
    return str(admin.describe_configs([resource])[resource].result(LIMIT_S)[key].value)


def test_retention_of_a_required_topic_waits_for_the_archive_through_kills_and_is_told(
    launch: Launch, wait_for: WaitFor
) -> None:
    node = launch(*FAST, *LOUD).wait_ready()
    admin = admin_of(node)
    make_topic(admin, braid_archive="required", retention_ms="1000", segment_bytes="14")
    produce(node, 10)
    wait_for(lambda: held_topics(node) == 1)
    assert start_offset(admin) == 0
    assert f'braid_retention_held_bytes{{topic="{TOPIC}"}}' in node.get("/metrics").body.decode()
    wait_for(lambda: "their archive is required" in node.err)
    archive(admin, 4)
    wait_for(lambda: start_offset(admin) == 4)
    node.process.kill()
    node.wait_ended()

    node = launch(*FAST, *LOUD).wait_ready()
    admin = admin_of(node)
    wait_for(lambda: held_topics(node) == 1)
    assert start_offset(admin) == 4
    archive(admin, 10)
    wait_for(lambda: start_offset(admin) == 10)
    wait_for(lambda: "the archive has caught up" in node.err)
    assert held_topics(node) == 0


def test_a_client_cannot_delete_what_the_archive_does_not_hold(launch: Launch) -> None:
    node = launch(*FAST).wait_ready()
    admin = admin_of(node)
    make_topic(admin, braid_archive="required")
    produce(node, 5, age_ms=0)
    archive(admin, 2)
    place = TopicPartition(TOPIC, 0, 3)
    with pytest.raises(KafkaException, match="POLICY_VIOLATION"):
        admin.delete_records([place])[TopicPartition(TOPIC, 0)].result(LIMIT_S)
    assert start_offset(admin) == 0
    admin.delete_records([TopicPartition(TOPIC, 0, 2)])[TopicPartition(TOPIC, 0)].result(LIMIT_S)
    assert start_offset(admin) == 2


def test_a_node_may_require_the_archive_of_all_topics_that_say_nothing(launch: Launch, wait_for: WaitFor) -> None:
    node = launch(*FAST, "--set", "archive.default=required").wait_ready()
    admin = admin_of(node)
    make_topic(admin, retention_ms="1000", segment_bytes="14")
    assert shown(admin, rd.ConfigResource.Type.TOPIC, TOPIC, "braid.archive") == "required"
    assert shown(admin, rd.ConfigResource.Type.BROKER, "1", "archive.default") == "required"
    produce(node, 3)
    wait_for(lambda: held_topics(node) == 1)
    assert start_offset(admin) == 0
    change = rd.ConfigResource(
        rd.ConfigResource.Type.TOPIC,
        TOPIC,
        incremental_configs=[rd.ConfigEntry("braid.archive", "on", incremental_operation=rd.AlterConfigOpType.SET)],
    )
    admin.incremental_alter_configs([change])[change].result(LIMIT_S)
    assert shown(admin, rd.ConfigResource.Type.TOPIC, TOPIC, "braid.archive") == "on"
    wait_for(lambda: start_offset(admin) == 3)
