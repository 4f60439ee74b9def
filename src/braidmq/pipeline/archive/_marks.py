"""Up to where each partition is safe in the archive, told to the brokers as the offsets of a group.

So whoever asks for a group's lag sees the archive's, and a node that may delete only what is archived knows it. The
marks follow the table: they are set after its commit, and again at the next one when that failed.
"""

import concurrent.futures
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin._config import ConfigResource

from braidmq.pipeline._brokers import admin_client
from braidmq.pipeline.archive._layout import MARK_GROUP
from braidmq.pipeline.errors import BrokerUnreachable
from braidmq.pipeline.tables import TopicPartition

ANSWER_LIMIT_S: Final = 30.0
ARCHIVE_SETTING: Final = "braid.archive"
RETENTION_SETTING: Final = "braid.archive.retention.ms"
ARCHIVED_VALUES: Final = ("on", "required")
_FOR_EVER_MS: Final = 100 * 365 * 86_400_000


def set_marks(
    bootstrap: str, ends: Mapping[TopicPartition, int], settings: Mapping[str, str] | None = None
) -> dict[TopicPartition, str]:
    """Sets the marks; gives what was refused, by partition. Raises BrokerUnreachable."""
    if not ends:
        return {}
    partitions = [KafkaPartition(topic, partition, end) for (topic, partition), end in ends.items()]
    request = ConsumerGroupTopicPartitions(MARK_GROUP, partitions)
    admin = admin_client(bootstrap, settings)  # held, because an answer comes only while it lives
    try:
        futures = admin.alter_consumer_group_offsets([request], request_timeout=ANSWER_LIMIT_S)
        answer = futures[MARK_GROUP].result(ANSWER_LIMIT_S)
    except (KafkaException, concurrent.futures.TimeoutError) as error:
        raise BrokerUnreachable(f"{bootstrap}: the archive's marks were not set: {error}") from error
    return {(each.topic, each.partition): str(each.error) for each in answer.topic_partitions if each.error is not None}


def read_marks(bootstrap: str, settings: Mapping[str, str] | None = None) -> dict[TopicPartition, int]:
    """The marks as the brokers have them. Raises BrokerUnreachable."""
    admin = admin_client(bootstrap, settings)
    try:
        futures = admin.list_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(MARK_GROUP)], request_timeout=ANSWER_LIMIT_S
        )
        answer = futures[MARK_GROUP].result(ANSWER_LIMIT_S)
    except (KafkaException, concurrent.futures.TimeoutError) as error:
        raise BrokerUnreachable(f"{bootstrap}: the archive's marks were not read: {error}") from error
    return {(each.topic, each.partition): each.offset for each in answer.topic_partitions if each.offset >= 0}


def chosen_topics(bootstrap: str, settings: Mapping[str, str] | None = None) -> list[str]:
    """The topics whose setting `braid.archive` is on or required. Brokers without that setting have none: there the
    topics are named. Raises BrokerUnreachable."""
    found = _settings_of_topics(bootstrap, settings, ARCHIVE_SETTING)
    return sorted(name for name, value in found.items() if value in ARCHIVED_VALUES)


def topic_retentions(bootstrap: str, settings: Mapping[str, str] | None = None) -> dict[str, timedelta | None]:
    """How long the archive keeps the messages of topics that say it themselves; None is for ever. Raises
    BrokerUnreachable."""
    found = _settings_of_topics(bootstrap, settings, RETENTION_SETTING)
    times = {topic: int(value) for topic, value in found.items()}
    return {
        topic: None if kept_ms >= _FOR_EVER_MS else timedelta(milliseconds=kept_ms)
        for topic, kept_ms in times.items()
        if kept_ms >= 0
    }


def _settings_of_topics(bootstrap: str, settings: Mapping[str, str] | None, name: str) -> dict[str, str]:
    admin = admin_client(bootstrap, settings)
    try:
        topics = admin.list_topics(timeout=ANSWER_LIMIT_S).topics
        resources = [ConfigResource(ConfigResource.Type.TOPIC, topic) for topic in topics]
        if not resources:
            return {}
        futures: Mapping[ConfigResource, Any] = admin.describe_configs(resources, request_timeout=ANSWER_LIMIT_S)
        found = {resource.name: future.result(ANSWER_LIMIT_S) for resource, future in futures.items()}
    except (KafkaException, concurrent.futures.TimeoutError) as error:
        raise BrokerUnreachable(f"{bootstrap}: {name} of the topics is not known: {error}") from error
    return {topic: entries[name].value for topic, entries in found.items() if name in entries}
