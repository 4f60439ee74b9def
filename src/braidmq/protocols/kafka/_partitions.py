"""From the names and ids that clients use to the catalog's partition numbers."""

from typing import NamedTuple
from uuid import UUID

from braidmq.model import DEFAULT_INSTANCE, Topic
from braidmq.model.errors import UnknownPartition, UnknownTopic
from braidmq.protocols.kafka._services import LEADER_EPOCH, KafkaServices
from braidmq.protocols.kafka.codec import NO_UUID, ErrorCode, Uuid


class Place(NamedTuple):
    """One partition of a topic."""

    topic: Topic
    number: int


def find_topic(services: KafkaServices, name: str, topic_id: Uuid = NO_UUID) -> Topic:
    """By its name, or by its id where the request has none. Raises UnknownTopic."""
    return find_own_topic(services, name, topic_id)


def find_own_topic(services: KafkaServices, name: str, topic_id: Uuid = NO_UUID) -> Topic:
    """As `find_topic`, but only topics that exist by themselves. Raises UnknownTopic."""
    if topic_id == NO_UUID:
        topic = services.catalog.topic(DEFAULT_INSTANCE, name)
    else:
        topic = services.catalog.topic_by_id(UUID(bytes=topic_id))
    if topic is None or topic.deleting:
        raise UnknownTopic(f"there is no topic {name!r}" if topic_id == NO_UUID else "there is no topic with this id")
    return topic


def find_partition(services: KafkaServices, name: str, index: int) -> Place:
    """Raises UnknownTopic, UnknownPartition."""
    return partition_of(find_topic(services, name), index)


def partition_of(topic: Topic, index: int) -> Place:
    """Raises UnknownPartition."""
    numbers = topic.partition_numbers
    if not 0 <= index < len(numbers):
        raise UnknownPartition(f"topic {topic.name} has {len(numbers)} partitions, and none with number {index}")
    return Place(topic, numbers[index])


def stale_epoch(client_epoch: int) -> ErrorCode | None:
    """The error for a client that knows another leader epoch than ours; -1 means that it does not say."""
    if client_epoch in (-1, LEADER_EPOCH):
        return None
    return ErrorCode.UNKNOWN_LEADER_EPOCH if client_epoch > LEADER_EPOCH else ErrorCode.FENCED_LEADER_EPOCH
