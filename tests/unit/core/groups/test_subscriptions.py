"""What is read of what members say about themselves."""

from typing import Any, cast
from uuid import uuid4

import pytest

from braidmq.core.groups import Spoken
from braidmq.model import Partition, Topic
from braidmq.protocols.kafka import ConsumerSpeech, assigned_partitions, subscribed_topics
from braidmq.protocols.kafka.codec import encode_message
from braidmq.protocols.kafka.codec.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from braidmq.store import Catalog

ORDERS = Topic(id=uuid4(), name="orders", partition_numbers=(7, 8, 9))


class OneTopic:
    """A catalog with one topic in it."""

    def topic(self, _: str, name: str) -> Topic | None:
        return ORDERS if name == "orders" else None

    def topic_by_id(self, _: Any) -> Topic:
        return ORDERS

    def partition_by_number(self, number: int) -> Partition | None:
        known = ORDERS.partition_numbers
        return Partition(ORDERS.id, known.index(number), number) if number in known else None


@pytest.fixture
def speech() -> ConsumerSpeech:
    return ConsumerSpeech(cast("Catalog", OneTopic()))


def metadata(version: int, *topics: str) -> bytes:
    subscription = ConsumerProtocolSubscription(topics=list(topics), user_data=b"\0\1")
    return version.to_bytes(2, "big") + encode_message(subscription, min(version, 3))


@pytest.mark.parametrize("version", [0, 1, 2, 3, 99])
def test_topics_are_read_in_every_version_also_of_the_future(version: int) -> None:
    assert subscribed_topics(metadata(version, "a", "größe")) == frozenset({"a", "größe"})
    assert subscribed_topics(metadata(version)) == frozenset()


def test_who_reads_through_a_filter_reads_the_topic_behind_it() -> None:
    assert subscribed_topics(metadata(0, "orders?tag=paid")) == frozenset({"orders?tag=paid", "orders"})
    assert subscribed_topics(metadata(0, "orders?nonsense")) == frozenset({"orders?nonsense"})


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\0\0\0\0\5", b"\0\0\x7f\xff\xff\xff", b"random bytes"])
def test_what_cannot_be_read_is_nothing_known(data: bytes) -> None:
    assert subscribed_topics(data) is None


# What is written, and what members hold.


def assignment(user_data: bytes | None = None, **partitions: list[int]) -> bytes:
    assigned = [ConsumerProtocolAssignment.TopicPartition(topic=name, partitions=p) for name, p in partitions.items()]
    message = ConsumerProtocolAssignment(assigned_partitions=assigned, user_data=user_data)
    return b"\0\1" + encode_message(message, 1)


def owning(version: int, *topics: str, rack: str | None = None, **owned: list[int]) -> bytes:
    partitions = [ConsumerProtocolSubscription.TopicPartition(topic=name, partitions=p) for name, p in owned.items()]
    said = ConsumerProtocolSubscription(topics=list(topics), owned_partitions=partitions, rack_id=rack)
    return version.to_bytes(2, "big") + encode_message(said, version)


@pytest.mark.parametrize(("version", "held"), [(0, set()), (1, {7, 9}), (2, {7, 9}), (3, {7, 9})])
def test_what_a_member_owns_is_known_since_it_says_so(speech: ConsumerSpeech, version: int, held: set[int]) -> None:
    said = owning(version, "orders", "other", rack="north", orders=[0, 2, 5, -1], gone=[0])
    rack = "north" if version == 3 else None
    assert speech.spoken(said) == Spoken(frozenset({"orders", "other"}), frozenset(held), rack)


@pytest.mark.parametrize("said", [b"", b"\0\1\0", owning(1, "orders?tag=paid"), owning(1, "orders", "orders?key=1")])
def test_what_cannot_be_read_or_assigned_is_not_spoken(speech: ConsumerSpeech, said: bytes) -> None:
    """A view of a topic has no partitions of its own that could be assigned."""
    assert speech.spoken(said) is None


def test_an_assignment_is_read_as_partitions_where_it_is_nothing_else(speech: ConsumerSpeech) -> None:
    assert speech.held_by(b"") == frozenset(), "nothing has been assigned yet"
    assert speech.held_by(assignment(orders=[0, 1], gone=[0])) == frozenset({7, 8})
    assert speech.held_by(assignment(b"", orders=[1])) == frozenset({8})
    assert speech.held_by(assignment(b"of Kafka Streams", orders=[0])) is None
    assert speech.held_by(b"\0\0\5") is None


@pytest.mark.parametrize(("said", "version"), [(owning(0, "orders"), 0), (owning(3, "orders"), 3), (b"\0\x63\0", 3)])
def test_an_assignment_is_written_in_the_members_version(speech: ConsumerSpeech, said: bytes, version: int) -> None:
    written = speech.assignment(frozenset({7, 9, 99}), said)
    assert int.from_bytes(written[:2], "big") == version
    assert assigned_partitions(written) == {"orders": (0, 2)}
    assert speech.held_by(written) == frozenset({7, 9})
