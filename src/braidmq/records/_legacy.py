"""Message sets of the formats 0 and 1, which clients before 0.11 send and expect; nothing is stored in them.

A message set is messages back to back. A compressed one is a message whose value is a message set: in format 1 its
inner offsets count from zero and the wrapper has the last one's offset; in format 0 all offsets are absolute. Checksums
are plain CRC-32.
"""

import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from braidmq.model.errors import CorruptBatch, InvalidBatch, UnsupportedCompression
from braidmq.records._batch import CODEC_MASK, Batch, Buffer, batches_in
from braidmq.records._codecs import Codec, compress, decompress
from braidmq.records._records import RECORDS_BYTES_MAX, Record, build_batch, read_records

_FRAME: Final = struct.Struct(">qi")
_CHECKSUM: Final = struct.Struct(">I")
_LENGTH: Final = struct.Struct(">i")
_TIMESTAMP: Final = struct.Struct(">q")
_MESSAGE_BYTES_MIN: Final = 14
"""Checksum, magic, attributes, and the lengths of key and value."""
_NO_TIMESTAMP: Final = -1
_MAGIC_WITH_TIMESTAMP: Final = 1


def upgrade_message_set(data: Buffer, bytes_max: int = RECORDS_BYTES_MAX) -> Batch:
    """One batch with all messages of a producer's message set. Raises InvalidBatch, CorruptBatch,
    UnsupportedCompression."""
    records: list[Record] = []
    codec = Codec.NONE
    for message in _messages(bytes(data)):
        if message.codec is Codec.NONE:
            records.append(message.record(len(records)))
            continue
        codec = message.codec
        inner = decompress(codec, message.value or b"", bytes_max)
        for each in _messages(inner):
            if each.codec is not Codec.NONE:
                raise InvalidBatch("a compressed message set inside a compressed message set")
            records.append(each.record(len(records)))
    if not records:
        raise InvalidBatch("the message set is empty")
    return build_batch(records, codec=codec)


def downgrade_batches(data: Buffer, magic: int, from_offset: int) -> bytes:
    """The messages from the offset on, in an old format. Headers are lost, and control records are left out."""
    sets = []
    for batch in batches_in(data):
        if not batch.is_control:
            records = [record for record in read_records(batch) if record.offset >= from_offset]
            if records:
                sets.append(_message_set(records, batch.codec, magic))
    return b"".join(sets)


def _message_set(records: Sequence[Record], codec: Codec, magic: int) -> bytes:
    """Compressed as the batch was, where the old format has that."""
    if codec in (Codec.NONE, Codec.ZSTD) or (codec is Codec.LZ4 and magic == 0):
        return b"".join(_written(records, magic))
    first = records[0].offset if magic else 0
    inner = b"".join(_written([record._replace(offset=record.offset - first) for record in records], magic))
    latest_ms = max(record.timestamp_ms for record in records)
    wrapper = Record(records[-1].offset, latest_ms, None, compress(codec, inner))
    return b"".join(_written([wrapper], magic, codec))


def _written(records: Iterable[Record], magic: int, codec: Codec = Codec.NONE) -> Iterator[bytes]:
    for record in records:
        time = _TIMESTAMP.pack(record.timestamp_ms) if magic else b""
        body = b"".join((bytes((magic, codec)), time, _field(record.key), _field(record.value)))
        yield _FRAME.pack(record.offset, len(body) + _CHECKSUM.size) + _CHECKSUM.pack(zlib.crc32(body)) + body


def _field(value: bytes | None) -> bytes:
    return _LENGTH.pack(-1) if value is None else _LENGTH.pack(len(value)) + value


class _Message:
    """One message as it was sent, its checksum tested."""

    __slots__ = ("codec", "key", "timestamp_ms", "value")

    def __init__(self, body: bytes) -> None:
        if len(body) < _MESSAGE_BYTES_MIN:
            raise InvalidBatch(f"a message has at least {_MESSAGE_BYTES_MIN} bytes, here are {len(body)}")
        if _CHECKSUM.unpack_from(body)[0] != zlib.crc32(memoryview(body)[_CHECKSUM.size :]):
            raise CorruptBatch("a message does not match its checksum")
        magic, attributes = body[4], body[5]
        if magic > _MAGIC_WITH_TIMESTAMP:
            raise InvalidBatch(f"a message of format {magic} in a message set of the formats 0 and 1")
        if attributes & CODEC_MASK > Codec.LZ4:
            raise UnsupportedCompression(f"a message set of format {magic} names compression {attributes & CODEC_MASK}")
        self.codec = Codec(attributes & CODEC_MASK)
        self.timestamp_ms = _NO_TIMESTAMP
        position = 6
        if magic == _MAGIC_WITH_TIMESTAMP:
            (self.timestamp_ms,) = _TIMESTAMP.unpack_from(body, position)
            position += _TIMESTAMP.size
        self.key, position = _read_field(body, position)
        self.value, position = _read_field(body, position)

    def record(self, offset: int) -> Record:
        return Record(offset, self.timestamp_ms, self.key, self.value)


def _messages(data: bytes) -> Iterator[_Message]:
    position = 0
    while position < len(data):
        if len(data) - position < _FRAME.size:
            raise InvalidBatch("the message set ends inside a message's length")
        _, size = _FRAME.unpack_from(data, position)
        position += _FRAME.size
        if not 0 <= size <= len(data) - position:
            raise InvalidBatch(f"a message claims {size} bytes, here are {len(data) - position}")
        yield _Message(data[position : position + size])
        position += size


def _read_field(body: bytes, position: int) -> tuple[bytes | None, int]:
    if position + _LENGTH.size > len(body):
        raise InvalidBatch("a message ends inside a length")
    (size,) = _LENGTH.unpack_from(body, position)
    position += _LENGTH.size
    if size == -1:
        return None, position
    if not 0 <= size <= len(body) - position:
        raise InvalidBatch(f"a key or value claims {size} bytes, here are {len(body) - position}")
    return body[position : position + size], position + size
