"""What members of the consumer protocol say about themselves, as far as a broker reads it.

The version in front may be any: the list of topics comes first in all of them, and new versions only add behind it.
"""

from braidmq.model.errors import MalformedRequest
from braidmq.protocols.kafka.codec import decode_message
from braidmq.protocols.kafka.codec.messages.consumer_protocol import ConsumerProtocolSubscription

_VERSION_BYTES = 2
_FIRST_VERSION = 0


def subscribed_topics(metadata: bytes) -> frozenset[str] | None:
    """The topics that a member subscribes to; None for what cannot be read."""
    try:
        subscription = decode_message(ConsumerProtocolSubscription, _FIRST_VERSION, metadata[_VERSION_BYTES:])
    except MalformedRequest:
        return None
    return frozenset(subscription.topics)
