"""Records of the log as messages of RocketMQ's. Hot path.

What RocketMQ's broker writes into every message is added when one is given to a client, and does not lie in the log:
which cluster it came from (answers to requests find their way by it), and that it may be traced.
"""

from collections.abc import Iterable

from braidmq.model import Message
from braidmq.protocols.rocketmq._services import RocketMQServices
from braidmq.protocols.rocketmq.codec import Host, StoredMessage, stored_message
from braidmq.protocols.rocketmq.codec.delivered import encode_record
from braidmq.protocols.rocketmq.codec.ids import physical_offset
from braidmq.protocols.rocketmq.codec.messages import PROPERTIES_BYTES_MAX, encode_message
from braidmq.records import Record, record_message


def encode_records(
    services: RocketMQServices, records: Iterable[Record], topic: str, queue_id: int, number: int, store_host: Host
) -> bytes:
    """The messages, one behind the other, as pulls and queries are answered."""
    added = services.facts.every_message
    name, added_bytes = topic.encode(), added.encode()
    pieces: list[bytes] = []
    for record in records:
        place = physical_offset(number, record.offset)
        piece = encode_record(record, name, queue_id, place, store_host, added_bytes)
        if piece is None:
            message = record_message(record, topic, queue_id)
            piece = encode_message(delivered(message, queue_id, place, store_host, added))
        pieces.append(piece)
    return b"".join(pieces)


def delivered(message: Message, queue_id: int, place: int, store_host: Host, added: str) -> StoredMessage:
    stored = stored_message(message, queue_id=queue_id, physical_offset=place, store_host=store_host)
    if "CLUSTER\x01" not in stored.properties and 4 * (len(stored.properties) + len(added)) < PROPERTIES_BYTES_MAX:
        stored.properties += added
    return stored
