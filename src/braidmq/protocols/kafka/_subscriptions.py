"""What members of the consumer protocol write to each other, as far as a broker reads and writes it.

The version in front may be any: new versions only add behind what the older ones have. Who reads a topic through a
filter reads that topic; but as its assignment would name a view, only its own leader can write that.
"""

from collections.abc import Iterable, Mapping, Sequence

from braidmq.core.groups import Spoken
from braidmq.model import DEFAULT_INSTANCE, Topic
from braidmq.model.errors import InvalidFilter, MalformedRequest
from braidmq.protocols.kafka._filtered_names import read_filtered_name
from braidmq.protocols.kafka._groups import by_topic
from braidmq.protocols.kafka.codec import decode_message, encode_message
from braidmq.protocols.kafka.codec.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from braidmq.store import Catalog

_VERSION_BYTES = 2
_FIRST_VERSION = 0
_CONSUMER = "consumer"
_PLAIN_ASSIGNORS = frozenset({"range", "roundrobin", "sticky", "cooperative-sticky"})
"""Whose members take an assignment without anything but partitions in it. Others, as that of Kafka Streams, write there
for themselves, and fail without."""


class ConsumerSpeech:
    """Implements `core.groups.Speech`."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def topics_of(self, metadata: bytes) -> frozenset[str] | None:
        """See `Speech`."""
        return subscribed_topics(metadata)

    def idle_of(self, protocol_type: str, protocol: str) -> bytes | None:
        """See `Speech`; None where the members' assignor would not know what to make of it."""
        if protocol_type != _CONSUMER or protocol not in _PLAIN_ASSIGNORS:
            return None
        return _written(ConsumerProtocolAssignment(assigned_partitions=[], user_data=None), _FIRST_VERSION)

    def spoken(self, metadata: bytes) -> Spoken | None:
        """See `Speech`."""
        version = min(_version_of(metadata), ConsumerProtocolSubscription.VERSIONS[1])
        read = _read_subscription(metadata, version)
        if read is None or any(self._topic(name) is None and _behind_filter(name) for name in read.topics):
            return None
        held = ((each.topic, each.partitions) for each in read.owned_partitions)
        return Spoken(frozenset(read.topics), self._numbers(held), read.rack_id)

    def held_by(self, assignment: bytes) -> frozenset[int] | None:
        """See `Speech`."""
        if not assignment:
            return frozenset()
        read = _read_assignment(assignment)
        if read is None or read.user_data:
            return None
        return self._numbers((each.topic, each.partitions) for each in read.assigned_partitions)

    def assignment(self, numbers: frozenset[int], metadata: bytes) -> bytes:
        """See `Speech`."""
        assigned = [
            ConsumerProtocolAssignment.TopicPartition(topic=topic.name, partitions=indexes)
            for topic, indexes in by_topic(self._catalog, numbers)
        ]
        version = min(_version_of(metadata), ConsumerProtocolAssignment.VERSIONS[1])
        return _written(ConsumerProtocolAssignment(assigned_partitions=assigned, user_data=None), version)

    def _topic(self, name: str) -> Topic | None:
        return self._catalog.topic(DEFAULT_INSTANCE, name)

    def _numbers(self, held: Iterable[tuple[str, Sequence[int]]]) -> frozenset[int]:
        numbers: set[int] = set()
        for name, indexes in held:
            if (topic := self._topic(name)) is not None:
                present = topic.partition_numbers
                numbers |= {present[index] for index in indexes if 0 <= index < len(present)}
        return frozenset(numbers)


def subscribed_topics(metadata: bytes) -> frozenset[str] | None:
    """The topics that a member subscribes to; None for what cannot be read."""
    if (read := _read_subscription(metadata, _FIRST_VERSION)) is None:
        return None
    return frozenset(read.topics).union(*map(_behind_filter, read.topics))


def assigned_partitions(assignment: bytes) -> Mapping[str, Sequence[int]]:
    """The partitions that a member was assigned, by topic; none for what cannot be read."""
    read = _read_assignment(assignment)
    return {} if read is None else {each.topic: tuple(each.partitions) for each in read.assigned_partitions}


def _read_subscription(metadata: bytes, version: int) -> ConsumerProtocolSubscription | None:
    """Which topics there are is known by the first version's words, whatever the others are worth."""
    try:
        return decode_message(ConsumerProtocolSubscription, version, metadata[_VERSION_BYTES:])
    except MalformedRequest:
        return None


def _read_assignment(assignment: bytes) -> ConsumerProtocolAssignment | None:
    try:
        return decode_message(ConsumerProtocolAssignment, _FIRST_VERSION, assignment[_VERSION_BYTES:])
    except MalformedRequest:
        return None


def _version_of(written: bytes) -> int:
    return max(int.from_bytes(written[:_VERSION_BYTES], "big", signed=True), _FIRST_VERSION)


def _written(assignment: ConsumerProtocolAssignment, version: int) -> bytes:
    return version.to_bytes(_VERSION_BYTES, "big") + encode_message(assignment, version)


def _behind_filter(name: str) -> frozenset[str]:
    try:
        filtered = read_filtered_name(name)
    except InvalidFilter:
        return frozenset()
    return frozenset() if filtered is None else frozenset({filtered.topic})
