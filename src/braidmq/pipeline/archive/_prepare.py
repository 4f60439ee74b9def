"""Messages as the archive keeps them. Hot path: runs for each message that is archived, by whole Arrow batches."""

import itertools
import zlib
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braidmq.pipeline.archive._layout import QUARANTINED, bucket_of
from braidmq.pipeline.columns import SCHEMA_VERSION, UNREADABLE, UNREADABLE_REASON
from braidmq.pipeline.decode import instance_of
from braidmq.pipeline.tables import RANGE_OFFSET, REASON

EARLY: Final = "store time before 2000"
LATE: Final = "store time in the future"
_EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
_AHEAD: Final = timedelta(days=1)


def prepared(messages: pa.RecordBatch, now: datetime) -> pa.RecordBatch:
    """The rows of the source with their day, their bucket, a checksum of the body, and, where they are not fit for the
    table, the reason. A time that no broker can have stored it at would open a folder for each odd day."""
    count = messages.num_rows
    columns = {field.name: column for field, column in zip(messages.schema, messages.columns, strict=True)} | {
        "day": messages.column("store_time").cast(pa.date32()),
        "bucket": _buckets(messages.column("topic")),
        "body_crc": _checksums(messages.column("value")),
        "schema_ver": pa.repeat(pa.scalar(SCHEMA_VERSION, pa.int32()), count),
        REASON: _reasons(messages, now),
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in QUARANTINED.names], schema=_PREPARED)


_PREPARED: Final = pa.schema([*QUARANTINED.remove(QUARANTINED.get_field_index(REASON)), pa.field(REASON, pa.string())])


def _buckets(topics: pa.Array) -> pa.Array:
    """A batch has few topics, mostly one; a topic's name says its instance."""
    encoded = topics.dictionary_encode()
    each = np.array([bucket_of(topic, instance_of(topic)) for topic in encoded.dictionary.to_pylist()], np.int32)
    return pa.array(each[encoded.indices.to_numpy()])


def _checksums(values: pa.Array) -> pa.Array:
    """The CRC-32 of each value, where it lies; null where there is none."""
    _, edges, data = values.buffers()
    places = np.frombuffer(edges, np.int32)[values.offset : values.offset + len(values) + 1].tolist()
    octets = memoryview(b"" if data is None else data)
    checksum = zlib.crc32
    found = [checksum(octets[start:end]) for start, end in itertools.pairwise(places)]
    return pa.array(found, pa.int64(), mask=values.is_null().to_numpy(zero_copy_only=False))


def _reasons(messages: pa.RecordBatch, now: datetime) -> pa.Array:
    if messages.num_rows == 1 and messages.column("protocol")[0].as_py() == UNREADABLE:
        return pa.array([UNREADABLE_REASON])  # such a row comes alone
    times = messages.column("store_time")
    early, late = (
        pc.less(times, pa.scalar(_EARLIEST, times.type)),
        pc.greater(times, pa.scalar(now + _AHEAD, times.type)),
    )
    if not (pc.any(early).as_py() or pc.any(late).as_py()):
        return pa.nulls(messages.num_rows, pa.string())
    is_message = pc.not_equal(messages.column("offset"), RANGE_OFFSET)
    conditions = pa.StructArray.from_arrays([pc.and_(early, is_message), pc.and_(late, is_message)], ["early", "late"])
    return pc.case_when(conditions, EARLY, LATE)
