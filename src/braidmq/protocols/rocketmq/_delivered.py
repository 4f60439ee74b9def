"""Records of the log as messages of RocketMQ's. Hot path."""

from collections.abc import Iterable

from braidmq.protocols.rocketmq.codec import Host, StoredMessage, stored_message
from braidmq.protocols.rocketmq.codec.ids import physical_offset
from braidmq.protocols.rocketmq.codec.messages import encode_message
from braidmq.records import Record, record_message


def encode_records(records: Iterable[Record], topic: str, queue_id: int, number: int, *, store_host: Host) -> bytes:
    """The messages, one behind the other, as pulls and queries are answered."""
    return b"".join(
        [encode_message(delivered(record, topic, queue_id, number, store_host=store_host)) for record in records]
    )


def delivered(record: Record, topic: str, queue_id: int, number: int, *, store_host: Host) -> StoredMessage:
    return stored_message(
        record_message(record, topic, queue_id),
        queue_id=queue_id,
        physical_offset=physical_offset(number, record.offset),
        store_host=store_host,
    )
