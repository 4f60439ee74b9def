"""Which record answers a time: the first that is not older, or the latest of all; exact inside a batch."""

from braidmq.log._port import TimedOffset
from braidmq.model.errors import InvalidBatch
from braidmq.records import Batch, read_records


def first_not_older(batch: Batch, timestamp_ms: int, start_offset: int) -> TimedOffset | None:
    """The batch's first record from the start offset on that is late enough; None when it has none."""
    if batch.max_timestamp < timestamp_ms or batch.last_offset < start_offset:
        return None
    try:
        records = read_records(batch)
    except InvalidBatch:
        # A producer's broken batch cannot be opened by anybody; its beginning is as near as one can come.
        return TimedOffset(max(batch.base_offset, start_offset), batch.max_timestamp)
    for record in records:
        if record.timestamp_ms >= timestamp_ms and record.offset >= start_offset:
            return TimedOffset(record.offset, record.timestamp_ms)
    return None


def latest_of(batch: Batch, start_offset: int, before: TimedOffset | None) -> TimedOffset | None:
    """The batch's first record with its latest time, from the start offset on, if that is later than what was found
    before it."""
    is_earlier = before is not None and batch.max_timestamp <= before.timestamp_ms
    if is_earlier or batch.last_offset < start_offset:
        return before
    try:
        records = read_records(batch)
    except InvalidBatch:
        return TimedOffset(max(batch.base_offset, start_offset), batch.max_timestamp)
    for record in records:
        if record.offset >= start_offset and (before is None or record.timestamp_ms > before.timestamp_ms):
            before = TimedOffset(record.offset, record.timestamp_ms)
    return before
