"""Messages as a compiled codec hands them in: records without their places in a batch."""

from braidmq.model import Message
from braidmq.records import BATCH_HEADER_BYTES, Packed, batch_messages


def packed(*messages: Message) -> Packed:
    return Packed([content_of(each) for each in messages], [each.born_ms for each in messages])


def content_of(message: Message) -> bytes:
    """Key, value and headers, as they stand in a record."""
    data = bytes(batch_messages([message]).data)[BATCH_HEADER_BYTES:]
    at = next(place for place, byte in enumerate(data) if byte < 128) + 1
    return data[at + 3 :]  # behind the attributes, and two distances of nothing
