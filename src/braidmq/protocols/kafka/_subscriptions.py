"""What members of the consumer protocol say about themselves, as far as a broker reads it.

The version in front may be any: the list of topics comes first in all of them, and new versions only add behind it. Who
reads a topic through a filter reads that topic.
"""

from collections.abc import Mapping, Sequence

from braidmq.model.errors import InvalidFilter, MalformedRequest
from braidmq.protocols.kafka._filtered_names import read_filtered_name
from braidmq.protocols.kafka.codec import decode_message, encode_message
from braidmq.protocols.kafka.codec.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)

_VERSION_BYTES = 2
_FIRST_VERSION = 0
_CONSUMER = "consumer"
_PLAIN_ASSIGNORS = frozenset({"range", "roundrobin", "sticky", "cooperative-sticky"})
"""Whose members take an assignment without anything but partitions in it. Others, as that of Kafka Streams, write there
for themselves, and fail without."""


def subscribed_topics(metadata: bytes) -> frozenset[str] | None:
    """The topics that a member subscribes to; None for what cannot be read."""
    try:
        subscription = decode_message(ConsumerProtocolSubscription, _FIRST_VERSION, metadata[_VERSION_BYTES:])
    except MalformedRequest:
        return None
    return frozenset(subscription.topics).union(*map(_behind_filter, subscription.topics))


def assigned_partitions(assignment: bytes) -> Mapping[str, Sequence[int]]:
    """The partitions that a member was assigned, by topic; none for what cannot be read."""
    try:
        read = decode_message(ConsumerProtocolAssignment, _FIRST_VERSION, assignment[_VERSION_BYTES:])
    except MalformedRequest:
        return {}
    return {each.topic: tuple(each.partitions) for each in read.assigned_partitions}


def idle_assignment(protocol_type: str, protocol: str) -> bytes | None:
    """What a member is told that is to read nothing; None where its assignor would not know what to make of it."""
    if protocol_type != _CONSUMER or protocol not in _PLAIN_ASSIGNORS:
        return None
    nothing = ConsumerProtocolAssignment(assigned_partitions=[], user_data=None)
    return bytes(_VERSION_BYTES) + encode_message(nothing, _FIRST_VERSION)


def _behind_filter(name: str) -> frozenset[str]:
    try:
        filtered = read_filtered_name(name)
    except InvalidFilter:
        return frozenset()
    return frozenset() if filtered is None else frozenset({filtered.topic})
