"""Message <-> record: body is the value, properties are the headers one to one, born time is the timestamp."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from braidmq.model import Message
from braidmq.model.errors import InvalidBatch
from braidmq.records._batch import (
    BATCH_HEADER,
    BATCH_HEADER_BYTES,
    MAGIC,
    NO_PRODUCER,
    Batch,
    batch_checksum,
    parse_batch,
)
from braidmq.records._codecs import Codec
from braidmq.records._records import Record, build_batch, build_plain, read_records

try:
    from braidmq.records._packing import pack
except ImportError:  # not compiled here: record by record
    _IS_COMPILED = False
else:
    _IS_COMPILED = True

_LENGTH_BYTES_MAX: Final = 5
_NO_PLACE: Final = bytes(3)
"""The attributes of a record, and its distances in time and place from the first of a batch, when it is alone."""


def message_record(message: Message, offset_delta: int = 0) -> Record:
    return Record(offset_delta, message.born_ms, message.key, message.body, message.headers)


def record_message(record: Record, topic: str = "", partition: int = -1) -> Message:
    return Message(
        body=record.value,
        key=record.key,
        headers=tuple(record.headers),
        born_ms=record.timestamp_ms,
        topic=topic,
        partition=partition,
        offset=record.offset,
    )


def batch_messages(messages: Sequence[Message], codec: Codec = Codec.NONE) -> Batch:
    """One batch of all the messages, ready to be appended to their partition. Hot path."""
    if codec is Codec.NONE:
        batch = build_plain([(each.born_ms, each.key, each.body, each.headers) for each in messages])
        if batch is not None:
            return batch
    return build_batch([message_record(message, delta) for delta, message in enumerate(messages)], codec=codec)


class Packed(NamedTuple):
    """Messages that are records already, but for their places in a batch and their times."""

    contents: list[bytes]
    """Key, value and headers, as they stand in a record."""
    times: list[int]


def record_content(key: bytes | None, value: bytes) -> bytes:
    """A record of these two alone, as it is in `Packed`. Hot path."""
    if key is None:
        return b"\x01%b%b\x00" % (_length(len(value)), value)
    return b"%b%b%b%b\x00" % (_length(len(key)), key, _length(len(value)), value)


def packed_content(message: Message) -> bytes:
    """The message as it is in `Packed`."""
    records = bytes(batch_messages([message]).data)[BATCH_HEADER_BYTES:]
    behind_length = next(place for place, byte in enumerate(records) if byte < 0x80) + 1
    return records[behind_length + len(_NO_PLACE) :]


def key_of_content(content: bytes) -> bytes | None:
    """The key of a message as it is in `Packed`, without opening the rest. Raises InvalidBatch. Hot path."""
    if content.startswith(b"\x01"):
        return None
    size = shift = 0
    for at, byte in enumerate(content[:_LENGTH_BYTES_MAX], 1):
        size |= (byte & 0x7F) << shift
        if byte < 0x80:
            end = at + (size >> 1)
            if size & 1 or end > len(content):
                break
            return content[at:end]
        shift += 7
    raise InvalidBatch("a message that was kept has no key where it should have one")


def unpacked(content: bytes, born_ms: int = -1) -> Message:
    """And back. Raises InvalidBatch for what `packed_content` has not made."""
    record = _NO_PLACE + content
    records = _length(len(record)) + record
    header = BATCH_HEADER.pack(
        0, BATCH_HEADER.size - 12 + len(records), -1, MAGIC, 0, 0, 0, born_ms, born_ms, NO_PRODUCER, -1, -1, 1
    )
    (message,) = messages_of(parse_batch(header + records))
    return msgspec.structs.replace(message, offset=-1)


def batch_packed(lots: Iterable[Packed]) -> Batch:
    """One batch of all the messages, in order. Raises InvalidBatch for those that are too large together. Hot path."""
    contents: list[bytes] = []
    times: list[int] = []
    for lot in lots:
        contents += lot.contents
        times += lot.times
    if not _IS_COMPILED:
        return batch_messages([unpacked(*each) for each in zip(contents, times, strict=True)])
    try:
        return parse_batch(pack(contents, times, batch_checksum))
    except ValueError as error:
        raise InvalidBatch(str(error)) from error


def _length(size: int) -> bytes:
    """A length as records have it: twice the number, in bytes of seven bits."""
    left = size << 1
    if left < 0x80:
        return bytes((left,))
    if left < 0x4000:
        return bytes((left & 0x7F | 0x80, left >> 7))
    written = bytearray()
    while left >= 0x80:
        written.append(left & 0x7F | 0x80)
        left >>= 7
    written.append(left)
    return bytes(written)


def messages_of(batch: Batch, topic: str = "", partition: int = -1) -> list[Message]:
    """The messages of a stored batch. Raises InvalidBatch."""
    return [record_message(record, topic, partition) for record in read_records(batch)]
