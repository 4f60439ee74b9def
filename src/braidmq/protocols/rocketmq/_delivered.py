"""Records of the log as messages of RocketMQ's. Hot path.

What RocketMQ's broker writes into every message is added when one is given to a client, and does not lie in the log:
which cluster it came from (answers to requests find their way by it), and that it may be traced.
"""

from collections.abc import Iterable

from braidmq.core.cursors import Delivered
from braidmq.core.filters import Everything, Filter, TagFilter
from braidmq.core.pull import FIRST_READ_BYTES, LOOKED_AT_BYTES_MAX, READ_BYTES
from braidmq.log import Fetched
from braidmq.model import ATTEMPT_HEADER, Message
from braidmq.protocols.rocketmq._pop_handles import pop_handle
from braidmq.protocols.rocketmq._services import RocketMQServices
from braidmq.protocols.rocketmq.codec import Host, StoredMessage, stored_message
from braidmq.protocols.rocketmq.codec.delivered import encode_record
from braidmq.protocols.rocketmq.codec.ids import physical_offset
from braidmq.protocols.rocketmq.codec.messages import PROPERTIES_BYTES_MAX, encode_message
from braidmq.records import Record, record_message

try:
    from braidmq.protocols.rocketmq.codec._deliveries import Deliveries
except ImportError:
    _IS_COMPILED = False
else:
    _IS_COMPILED = True


class Reading:
    """A search that writes what it finds straight into the answer; made by `begin_reading`."""

    __slots__ = ("_looked_at_bytes", "deliveries")

    def __init__(self, deliveries: "Deliveries") -> None:
        self.deliveries = deliveries
        self._looked_at_bytes = 0

    @property
    def offset(self) -> int:
        return self.deliveries.offset

    @property
    def read_bytes(self) -> int:
        return READ_BYTES if self._looked_at_bytes else FIRST_READ_BYTES

    def is_wanting(self, end: int) -> bool:
        deliveries = self.deliveries
        return (
            deliveries.offset < end
            and deliveries.count_left > 0
            and deliveries.bytes_left > 0
            and self._looked_at_bytes < LOOKED_AT_BYTES_MAX
            and not deliveries.is_stuck
        )

    def take(self, fetched: Fetched) -> bool:
        if not fetched.data:
            return False
        self._looked_at_bytes += len(fetched.data)
        if fetched.aborted:  # which of its batches nobody may see is known elsewhere
            self.deliveries.is_stuck = True
            return False
        return self.deliveries.take(fetched.data)


def begin_reading(
    services: RocketMQServices,
    topic: str,
    queue_id: int,
    number: int,
    offset: int,
    chosen: Filter,
    store_host: Host,
    *,
    count_max: int,
    bytes_max: int,
) -> Reading | None:
    """A reading from the offset on; None where the records must be read first, and then encoded."""
    if not _IS_COMPILED or not isinstance(chosen, Everything | TagFilter):
        return None
    return Reading(
        Deliveries(
            offset,
            count_max,
            bytes_max,
            topic.encode(),
            queue_id,
            physical_offset(number, 0),
            *store_host,
            services.facts.every_message.encode(),
            chosen.tags if isinstance(chosen, TagFilter) else None,
        )
    )


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
