"""Kafka's protocol: unmodified Kafka clients and tools, from 0.10 on.

`codec` reads and writes frames, `handlers` holds one file for each API key, the listener and its connections join the
two to sockets.
"""

from braidmq.protocols.kafka._listener import KafkaListener
from braidmq.protocols.kafka._services import KafkaServices, NodeFacts
from braidmq.protocols.kafka._sessions import FetchSessions
from braidmq.protocols.kafka._share_sessions import ShareSessions
from braidmq.protocols.kafka._subscriptions import ConsumerSpeech, assigned_partitions, subscribed_topics

__all__ = [
    "ConsumerSpeech",
    "FetchSessions",
    "KafkaListener",
    "KafkaServices",
    "NodeFacts",
    "ShareSessions",
    "assigned_partitions",
    "subscribed_topics",
]
