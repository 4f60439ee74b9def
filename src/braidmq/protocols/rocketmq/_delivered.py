"""Records of the log as messages of RocketMQ's. Hot path.

What RocketMQ's broker writes into every message is added when one is given to a client, and does not lie in the log:
which cluster it came from (answers to requests find their way by it), and that it may be traced.
"""

from collections.abc import Iterable

from braidmq.core.cursors import Delivered
from braidmq.model import ATTEMPT_HEADER, Message
from braidmq.protocols.rocketmq._pop_handles import pop_handle
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


def encode_popped(
    services: RocketMQServices, batch: Iterable[Delivered], topic: str, store_host: Host, pop_ms: int, invisible_ms: int
) -> bytes:
    """The messages that were popped, each with its handle."""
    name = topic.encode()
    pieces: list[bytes] = []
    for each in batch:
        number, record, queue_id = each.receipt.number, each.record, each.partition
        handle = pop_handle(each.receipt, queue_id, services.facts.broker, pop_ms, invisible_ms)
        added = f"{services.facts.every_message}POP_CK\x01{handle}\x021ST_POP_TIME\x01{pop_ms}\x02"
        place = physical_offset(number, record.offset)
        piece = None
        if each.attempt == 1 and not any(header == "CLUSTER" for header, _ in record.headers):
            piece = encode_record(record, name, queue_id, place, store_host, added.encode())
        if piece is None:
            message = record_message(record, topic, queue_id)
            if each.attempt > 1:
                message = message.with_headers({ATTEMPT_HEADER: str(each.attempt - 1)})
            stored = stored_message(message, queue_id=queue_id, physical_offset=place, store_host=store_host)
            stored.properties += added
            piece = encode_message(stored)
        pieces.append(piece)
    return b"".join(pieces)


def delivered(message: Message, queue_id: int, place: int, store_host: Host, added: str) -> StoredMessage:
    stored = stored_message(message, queue_id=queue_id, physical_offset=place, store_host=store_host)
    if "CLUSTER\x01" not in stored.properties and 4 * (len(stored.properties) + len(added)) < PROPERTIES_BYTES_MAX:
        stored.properties += added
    return stored
