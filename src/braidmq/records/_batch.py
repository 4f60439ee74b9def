"""The header of a batch, read and written by struct. Hot path: runs for every produce and every fetch.

Layout: base offset, length and leader epoch come first, outside the checksum, so that a broker can set them without
touching the rest; the CRC-32C covers everything from the attributes on.
"""

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from braidmq.model.errors import CorruptBatch, InvalidBatch, InvalidRecord, UnsupportedCompression
from braidmq.records._checksums import ChecksumBehind, checksum
from braidmq.records._codecs import Codec

Buffer = bytes | bytearray | memoryview

BATCH_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_PREFIX: Final = struct.Struct(">qii")
batch_prefix: Final = _PREFIX.pack
"""(base offset, length, leader epoch) -> the first 16 bytes of a stored batch; the rest stays as it came."""
_CHECKSUM: Final = struct.Struct(">I")
_ATTRIBUTES: Final = struct.Struct(">h")
_TIMESTAMP: Final = struct.Struct(">q")

BATCH_HEADER_BYTES: Final = BATCH_HEADER.size
BATCH_OVERHEAD_BYTES: Final = 12
"""Base offset and length, which the length itself does not count."""
PREFIX_BYTES: Final = _PREFIX.size
MAGIC: Final = 2
NO_PRODUCER: Final = -1

_CHECKSUM_AT: Final = 17
_ATTRIBUTES_AT: Final = 21
_MAX_TIMESTAMP_AT: Final = 35
CODEC_MASK: Final = 0x07
_APPEND_TIME_BIT: Final = 0x08
_TRANSACTIONAL_BIT: Final = 0x10
_CONTROL_BIT: Final = 0x20
UNUSUAL_BITS: Final = _TRANSACTIONAL_BIT | _CONTROL_BIT
"""Of batches of a transaction, and of the markers that end one."""


batch_checksum: Final = ChecksumBehind(_ATTRIBUTES_AT)
"""The checksum that belongs into a whole batch."""


class Batch(NamedTuple):
    """A batch's header, and all of its bytes (header included)."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int
    data: Buffer

    @property
    def size_bytes(self) -> int:
        return self.length + BATCH_OVERHEAD_BYTES

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> int:
        """Sequence numbers wrap to zero behind 2^31 - 1."""
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF

    @property
    def codec(self) -> Codec:
        return Codec(self.attributes & CODEC_MASK)

    @property
    def is_append_time(self) -> bool:
        return bool(self.attributes & _APPEND_TIME_BIT)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & _TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & _CONTROL_BIT)

    def matches_checksum(self) -> bool:
        data = self.data
        return batch_checksum(data if type(data) is bytes else bytes(data)) == self.crc


def parse_batch(buffer: Buffer, position: int = 0, *, copied: bool = False) -> Batch:
    """The batch that begins at the position. Raises InvalidBatch where there is none, whole, of version 2.

    Its data is a view of the buffer, or, with `copied`, bytes of its own. The checksum is not looked at; see
    `Batch.matches_checksum`.
    """
    available = len(buffer) - position
    if available < BATCH_HEADER_BYTES:
        raise InvalidBatch(f"a record batch has at least {BATCH_HEADER_BYTES} bytes, here are {available}")
    fields = BATCH_HEADER.unpack_from(buffer, position)
    size = fields[1] + BATCH_OVERHEAD_BYTES
    if not BATCH_HEADER_BYTES <= size <= available:
        raise InvalidBatch(f"the record batch claims {size} bytes, here are {available}")
    if fields[3] != MAGIC:
        raise InvalidBatch(f"record batches of version {fields[3]} are not stored; version {MAGIC} is")
    if fields[6] < 0:
        raise InvalidBatch(f"the record batch has a negative last offset delta, {fields[6]}")
    whole = position == 0 and available == size
    data = buffer if whole else memoryview(buffer)[position : position + size]
    if copied and type(data) is not bytes:
        data = bytes(data)
    return Batch._make((*fields, data))


def batches_in(buffer: Buffer) -> Iterator[Batch]:
    """Batches that lie back to back, as a log gives them: neither checked nor copied. Raises InvalidBatch. Hot path."""
    position = 0
    while position < len(buffer):
        batch = parse_batch(buffer, position)
        position += batch.size_bytes
        yield batch


def split_batches(buffer: Buffer) -> list[Batch]:
    """What a producer sent, batch by batch, each one checked and with bytes of its own.

    Raises InvalidBatch, CorruptBatch, UnsupportedCompression, and InvalidRecord for one that counts wrong.
    """
    batches = []
    position = 0
    while position < len(buffer):
        batch = parse_batch(buffer, position, copied=True)
        if not batch.matches_checksum():
            raise CorruptBatch(f"the record batch at byte {position} does not match its checksum {batch.crc:#010x}")
        if batch.attributes & CODEC_MASK > Codec.ZSTD:
            raise UnsupportedCompression(f"the record batch names compression {batch.attributes & CODEC_MASK}")
        if batch.record_count < 1 or batch.last_offset_delta != batch.record_count - 1:
            raise InvalidRecord(
                f"the record batch claims {batch.record_count} records"
                f" and a last offset delta of {batch.last_offset_delta}"
            )
        batches.append(batch)
        position += batch.size_bytes
    return batches


def resealed(data: bytearray) -> Batch:
    """A batch whose bytes were changed, with its length and checksum made right again."""
    struct.pack_into(">i", data, 8, len(data) - BATCH_OVERHEAD_BYTES)
    _CHECKSUM.pack_into(data, _CHECKSUM_AT, checksum(bytes(data[_ATTRIBUTES_AT:])))
    return parse_batch(bytes(data))


def with_append_time(batch: Batch, now_ms: int) -> Batch:
    """The batch with the time of its storing in place of the times its producer gave."""
    data = bytearray(batch.data)
    _ATTRIBUTES.pack_into(data, _ATTRIBUTES_AT, batch.attributes | _APPEND_TIME_BIT)
    _TIMESTAMP.pack_into(data, _MAX_TIMESTAMP_AT, now_ms)
    return resealed(data)
