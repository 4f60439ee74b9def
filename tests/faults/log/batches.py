"""Batches that can be told apart, and what must hold for any run of batches that a log serves."""

from uuid import UUID

from braidmq.log._policy import Policy
from braidmq.model import Topic
from braidmq.records import Batch, Marker, Record, build_batch, build_marker, parse_batch

BORN_MS = 1_700_000_000_000
PREFIX_BYTES = 16
"""Base offset, length and leader epoch: what a log sets itself; the rest is the producer's."""
TOPIC_ID = UUID(int=7)


def plain(text: str, *, records: int = 1, size_bytes: int = 0) -> Batch:
    """A batch without a producer; `text` makes it different from all others."""
    return build_batch(_records(text, records, size_bytes))


def of_producer(
    text: str,
    producer_id: int,
    sequence: int,
    *,
    records: int = 1,
    size_bytes: int = 0,
    epoch: int = 0,
    transactional: bool = False,
) -> Batch:
    return build_batch(
        _records(text, records, size_bytes),
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=transactional,
    )


def marker(kind: Marker, producer_id: int, *, epoch: int = 0) -> Batch:
    return build_marker(kind, producer_id=producer_id, producer_epoch=epoch, timestamp_ms=BORN_MS)


def _records(text: str, count: int, size_bytes: int) -> list[Record]:
    value = text.encode().ljust(size_bytes, b".")
    return [Record(number, BORN_MS + number, b"key", value) for number in range(count)]


def body(batch: Batch | bytes | memoryview) -> bytes:
    """The part of a batch that nobody may change on its way through a log."""
    data = batch.data if isinstance(batch, Batch) else batch
    return bytes(memoryview(data)[PREFIX_BYTES:])


def split_served(data: bytes | bytearray | memoryview, first_offset: int) -> list[Batch]:
    """What a read gave, batch by batch: whole, checked, and without a gap from the first offset on."""
    served: list[Batch] = []
    position, expected = 0, first_offset
    while position < len(data):
        batch = parse_batch(data, position)
        assert batch.matches_checksum(), f"a corrupt batch was served at offset {batch.base_offset}"
        assert batch.leader_epoch == 0, f"the leader epoch at offset {batch.base_offset} is {batch.leader_epoch}"
        if served:
            assert batch.base_offset == expected, f"offset {batch.base_offset} was served where {expected} is next"
        else:
            assert batch.base_offset <= expected <= batch.last_offset
        served.append(batch)
        position += batch.size_bytes
        expected = batch.last_offset + 1
    return served


def topic(numbers: tuple[int, ...], topic_id: UUID = TOPIC_ID, **settings: str) -> Topic:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return Topic(id=topic_id, name="faults", partition_numbers=numbers, retention_ms=-1, settings=named)


def policy(segment_bytes: int) -> Policy:
    return Policy(retention_ms=-1, segment_bytes=segment_bytes)
