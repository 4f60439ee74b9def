"""What lies inside a batch: records and transaction markers, read and built with aiokafka's compiled codec."""

import enum
import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from aiokafka.errors import CorruptRecordException
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from braidmq.model import Header
from braidmq.model.errors import InvalidBatch
from braidmq.records._batch import (
    BATCH_HEADER_BYTES,
    CODEC_MASK,
    MAGIC,
    NO_PRODUCER,
    Batch,
    parse_batch,
    resealed,
)
from braidmq.records._codecs import Codec, compress, decompress

RECORDS_BYTES_MAX = 64 * 1024 * 1024
"""No batch that we open may hold more than this when decompressed."""

RECORDS_MAX = 1 << 19
"""Nor more records than these: more than fit into an uncompressed batch of the size that topics take by default."""

_ATTRIBUTES_AT = 21
_LAST_OFFSET_DELTA_AT = 23
_TIMESTAMPS = struct.Struct(">qq")
_TIMESTAMPS_AT = 27
_CONTROL_BIT = 0x20
_MARKER_KEY = struct.Struct(">hh")
_MARKER_VALUE = struct.Struct(">hi")
_UNBOUNDED = (1 << 31) - 1
_TIME_MAX = (1 << 63) - 1
_PLAIN_MS_MAX = 1 << 60
"""Times up to this one are no special case; -1 is, which the builder takes for none at all."""


class Record(NamedTuple):
    """One record; `timestamp_ms` is what the batch's timestamp type makes of it."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header] = ()


class Marker(enum.IntEnum):
    """How a transaction ended, as a control record's key says it."""

    ABORT = 0
    COMMIT = 1


def read_records(batch: Batch, bytes_max: int = RECORDS_BYTES_MAX) -> list[Record]:
    """All records of the batch. Raises InvalidBatch when what is inside is broken or too large."""
    if batch.record_count > RECORDS_MAX:
        raise InvalidBatch(f"the batch holds {batch.record_count} records; at most {RECORDS_MAX} are opened")
    payload = decompress(batch.attributes & CODEC_MASK, bytes(memoryview(batch.data)[BATCH_HEADER_BYTES:]), bytes_max)
    if batch.record_count < 0 or batch.record_count > len(payload):
        raise InvalidBatch(f"the batch claims {batch.record_count} records in {len(payload)} bytes")
    header = bytearray(memoryview(batch.data)[:BATCH_HEADER_BYTES])
    header[_ATTRIBUTES_AT + 1] &= 0xF8
    try:
        return [
            Record(record.offset, record.timestamp, record.key, record.value, record.headers)
            for record in DefaultRecordBatch(bytes(header) + payload)
        ]
    except (CorruptRecordException, ValueError, MemoryError, OverflowError) as error:
        raise InvalidBatch(f"the records at offset {batch.base_offset} are broken: {error}") from error


def build_batch(
    records: Iterable[Record],
    *,
    codec: Codec = Codec.NONE,
    level: int | None = None,
    base_offset: int | None = None,
    last_offset: int | None = None,
    producer_id: int = NO_PRODUCER,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
) -> Batch:
    """A batch of the records, in order of offset. It covers the offsets from `base_offset` (the first record's, unless
    told) to `last_offset` (the last record's, unless told): a compacted batch keeps the range it had.

    Raises InvalidBatch for a time that no record can have.
    """
    listed = list(records)
    if base_offset is None:
        if not listed:
            raise InvalidBatch("a batch without records needs a base offset")
        base_offset = listed[0].offset
    if last_offset is None:
        last_offset = listed[-1].offset if listed else base_offset
    builder = DefaultRecordBatchBuilder(
        MAGIC, 0, int(transactional), producer_id, producer_epoch, base_sequence, _UNBOUNDED
    )
    first_ms = listed[0].timestamp_ms if listed else 0
    try:
        for record in listed:
            delta = record.offset - base_offset
            if not -_TIME_MAX <= record.timestamp_ms <= _TIME_MAX:
                raise OverflowError(f"the time {record.timestamp_ms}")
            # The builder takes a first time of -1 for none at all: it sees what is behind the first, put right below.
            builder.append(delta, record.timestamp_ms - first_ms, record.key, record.value, list(record.headers))
        data = bytearray(builder.build())
        if listed:
            _, most_ms = _TIMESTAMPS.unpack_from(data, _TIMESTAMPS_AT)
            _TIMESTAMPS.pack_into(data, _TIMESTAMPS_AT, first_ms, first_ms + most_ms)
    except (OverflowError, struct.error) as error:
        raise InvalidBatch(f"a record has a time or an offset that does not fit: {error}") from error
    struct.pack_into(">q", data, 0, base_offset)
    struct.pack_into(">i", data, _LAST_OFFSET_DELTA_AT, last_offset - base_offset)
    if codec is not Codec.NONE:
        data[BATCH_HEADER_BYTES:] = compress(codec, bytes(data[BATCH_HEADER_BYTES:]), level)
        data[_ATTRIBUTES_AT + 1] |= codec
    return resealed(data)


def build_plain(parts: Sequence[tuple[int, bytes | None, bytes | None, Sequence[Header]]]) -> Batch | None:
    """What `build_batch` makes of records with these times, keys, values and headers, at offsets from 0 on, without a
    detour; None where that must make it. Hot path."""
    builder = DefaultRecordBatchBuilder(MAGIC, 0, 0, NO_PRODUCER, -1, -1, _UNBOUNDED)
    append = builder.append
    try:
        for delta, (timestamp_ms, key, value, headers) in enumerate(parts):
            if not 0 <= timestamp_ms <= _PLAIN_MS_MAX:
                return None
            append(delta, timestamp_ms, key, value, list(headers))
    except OverflowError:
        return None
    return parse_batch(bytes(builder.build())) if parts else None


def build_marker(
    marker: Marker, *, producer_id: int, producer_epoch: int, timestamp_ms: int, coordinator_epoch: int = 0
) -> Batch:
    """The control batch that ends a producer's transaction in one partition."""
    record = Record(0, timestamp_ms, _MARKER_KEY.pack(0, marker), _MARKER_VALUE.pack(0, coordinator_epoch))
    batch = build_batch([record], producer_id=producer_id, producer_epoch=producer_epoch, transactional=True)
    data = bytearray(batch.data)
    data[_ATTRIBUTES_AT + 1] |= _CONTROL_BIT
    return resealed(data)


def read_marker(batch: Batch) -> Marker | None:
    """How the transaction ended; None for control records of other kinds, which nobody needs to understand."""
    records = read_records(batch, bytes_max=4096)
    if not records or records[0].key is None or len(records[0].key) < _MARKER_KEY.size:
        raise InvalidBatch(f"the control batch at offset {batch.base_offset} holds no control record")
    _, kind = _MARKER_KEY.unpack_from(records[0].key)
    return Marker(kind) if kind in (Marker.ABORT, Marker.COMMIT) else None
