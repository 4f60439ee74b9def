"""From the names and ids that clients use to the catalog's partition numbers."""

from functools import lru_cache
from typing import Final, NamedTuple
from uuid import UUID

from braidmq.core.filters import Filter
from braidmq.model import DEFAULT_INSTANCE, Topic, check_topic_name
from braidmq.model.errors import InvalidFilter, UnknownPartition, UnknownTopic
from braidmq.protocols.kafka._filtered_names import read_filtered_name
from braidmq.protocols.kafka._services import LEADER_EPOCH, KafkaServices
from braidmq.protocols.kafka.codec import NO_UUID, ErrorCode, Uuid

_IDS_MAX: Final = 4096


class Place(NamedTuple):
    """One partition of a topic."""

    topic: Topic
    number: int


class Source(NamedTuple):
    """What a client reads from: a topic, and what it wants of it; None for all."""

    topic: Topic
    chosen: Filter | None


def find_topic(services: KafkaServices, name: str, topic_id: Uuid = NO_UUID) -> Topic:
    """By its name, or by its id where the request has none; behind the name of a filter, the topic that it reads from.
    Raises UnknownTopic, InvalidFilter."""
    return find_source(services, name, topic_id).topic


def find_source(services: KafkaServices, name: str, topic_id: Uuid = NO_UUID) -> Source:
    """As `find_topic`, with the filter. Raises UnknownTopic, InvalidFilter."""
    if topic_id != NO_UUID:
        return Source(_topic_by_id(services, topic_id), None)
    topic = services.catalog.topic(DEFAULT_INSTANCE, name)
    if topic is not None:
        return Source(topic, None)
    filtered = read_filtered_name(name)
    topic = None if filtered is None else services.catalog.topic(DEFAULT_INSTANCE, filtered.topic)
    if filtered is None or topic is None:
        raise UnknownTopic(f"there is no topic {(filtered.topic if filtered else name)!r}")
    return Source(topic, filtered.chosen)


def find_described(services: KafkaServices, name: str) -> Source:
    """As `find_source`, for who wants to know what a name is: InvalidName for one that no topic can have."""
    try:
        return find_source(services, name)
    except UnknownTopic:
        if read_filtered_name(name) is None:
            check_topic_name(name)
        raise


def find_own_topic(services: KafkaServices, name: str, topic_id: Uuid = NO_UUID) -> Topic:
    """As `find_topic`, but only topics that exist by themselves. Raises UnknownTopic, InvalidFilter."""
    source = find_source(services, name, topic_id)
    if source.chosen is not None:
        raise InvalidFilter(f"{name!r} is a view of the topic {source.topic.name!r}, which can only be read from")
    return source.topic


def _topic_by_id(services: KafkaServices, topic_id: Uuid) -> Topic:
    topic = services.catalog.topic_by_id(_read_id(topic_id))
    if topic is None or topic.deleting:
        raise UnknownTopic("there is no topic with this id")
    return topic


@lru_cache(maxsize=_IDS_MAX)
def _read_id(topic_id: Uuid) -> UUID:
    """Each request has one or more, and they are the same again and again."""
    return UUID(bytes=topic_id)


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
