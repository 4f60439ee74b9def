"""Records of the log as messages of RocketMQ's. Hot path.

What RocketMQ's broker writes into every message is added when one is given to a client, and does not lie in the log:
which cluster it came from (answers to requests find their way by it), and that it may be traced.
"""

from collections.abc import Iterable

from braidmq.protocols.rocketmq._services import RocketMQServices
from braidmq.protocols.rocketmq.codec import Host, StoredMessage, stored_message
from braidmq.protocols.rocketmq.codec.ids import physical_offset
from braidmq.protocols.rocketmq.codec.messages import PROPERTIES_BYTES_MAX, encode_message
from braidmq.records import Record, record_message


def encode_records(
    services: RocketMQServices, records: Iterable[Record], topic: str, queue_id: int, number: int, store_host: Host
) -> bytes:
    """The messages, one behind the other, as pulls and queries are answered."""
    return b"".join(
        [encode_message(delivered(services, record, topic, queue_id, number, store_host)) for record in records]
    )


def delivered(
    services: RocketMQServices, record: Record, topic: str, queue_id: int, number: int, store_host: Host
) -> StoredMessage:
    stored = stored_message(
        record_message(record, topic, queue_id),
        queue_id=queue_id,
        physical_offset=physical_offset(number, record.offset),
        store_host=store_host,
    )
    added = services.facts.every_message
    if "CLUSTER\x01" not in stored.properties and 4 * (len(stored.properties) + len(added)) < PROPERTIES_BYTES_MAX:
        stored.properties += added
    return stored
