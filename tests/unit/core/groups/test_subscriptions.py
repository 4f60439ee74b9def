"""What is read of what members say about themselves."""

import pytest

from braidmq.protocols.kafka import subscribed_topics
from braidmq.protocols.kafka.codec import encode_message
from braidmq.protocols.kafka.codec.messages.consumer_protocol import ConsumerProtocolSubscription


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
