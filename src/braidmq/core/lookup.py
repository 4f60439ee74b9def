"""Finding one message by its place."""

from typing import Final

from braidmq.log import Log
from braidmq.model import Message
from braidmq.model.errors import DamagedLog, OffsetOutOfRange, UnknownMessage, UnknownPartition
from braidmq.records import parse_batch, read_records, record_message

YOUNG_BYTES: Final = 256 << 20


def is_young(log: Log, number: int) -> bool:
    """Whether the partition has little, and all it ever had. Raises UnknownPartition."""
    return log.bounds(number).start == 0 and log.size_bytes(number) < YOUNG_BYTES


async def message_at(log: Log, number: int, offset: int) -> Message:
    """The one message at this place. Raises UnknownPartition, OffsetOutOfRange, UnknownMessage, DamagedLog."""
    fetched = log.read_now(number, offset, 1) or await log.read(number, offset, 1)
    if fetched.data:
        batch = parse_batch(fetched.data)
        found = (
            None if batch.is_control else next((each for each in read_records(batch) if each.offset == offset), None)
        )
        if found is not None:
            return record_message(found)
    raise UnknownMessage(f"partition number {number} holds no message at offset {offset}")


async def time_at(log: Log, number: int, offset: int) -> int | None:
    """The time of the record at this place, a marker's too; None where there is none any more."""
    try:
        fetched = log.read_now(number, offset, 1) or await log.read(number, offset, 1)
    except (OffsetOutOfRange, UnknownPartition):
        return None
    if not fetched.data:
        return None
    batch = parse_batch(fetched.data)
    if batch.is_control or batch.is_append_time:
        return batch.max_timestamp
    return next((each.timestamp_ms for each in read_records(batch) if each.offset == offset), batch.max_timestamp)


def batch_time_at(log: Log, number: int, offset: int) -> int | None:
    """The time with which the batch at this place begins, without opening it; None where there is none, or where it
    would have to come from the disk, or cannot be read."""
    try:
        fetched = log.read_now(number, offset, 1)
    except (OffsetOutOfRange, UnknownPartition, DamagedLog):
        return None
    if fetched is None or not fetched.data:
        return None
    batch = parse_batch(fetched.data)
    return batch.max_timestamp if batch.is_append_time else batch.base_timestamp
