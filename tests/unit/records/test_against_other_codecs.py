"""What we write, kafka-python and aiokafka read; what they write, we read."""

import struct

import cramjam
import pytest
from aiokafka.record.default_records import DefaultRecordBatch as AiokafkaBatch
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from hypothesis import assume, given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch as KafkaBatch
from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaBuilder

from braidmq.model.errors import InvalidBatch
from braidmq.records import (
    BATCH_HEADER_BYTES,
    Batch,
    Codec,
    Marker,
    Record,
    build_batch,
    build_marker,
    parse_batch,
    read_marker,
    read_records,
    resealed,
    split_batches,
    with_append_time,
)
from unit.records.strategies import records

# kafka-python reads the others only with libraries that are not installed here; aiokafka brings them all.
KAFKA_CODECS = st.sampled_from([Codec.NONE, Codec.GZIP])
CODECS = st.sampled_from(Codec)
READERS = [(KafkaBatch, KAFKA_CODECS), (AiokafkaBatch, CODECS)]
BUILDERS = [(KafkaBuilder, KAFKA_CODECS), (AiokafkaBuilder, CODECS)]
BOTH = pytest.mark.parametrize("which", [0, 1], ids=["kafka-python", "aiokafka"])


def seen_by(batch: "KafkaBatch | AiokafkaBatch") -> list[Record]:
    return [Record(each.offset, each.timestamp, each.key, each.value, list(each.headers)) for each in batch]


@BOTH
@given(data=st.data(), listed=records(), base_offset=st.integers(0, 1 << 50))
def test_others_read_what_we_write(which: int, data: st.DataObject, listed: list[Record], base_offset: int) -> None:
    reader, codecs = READERS[which]
    moved = [record._replace(offset=base_offset + record.offset) for record in listed]
    batch = build_batch(moved, codec=data.draw(codecs))
    other = reader(bytes(batch.data))
    assert other.validate_crc()
    assert seen_by(other) == moved


@BOTH
@given(data=st.data(), listed=records())
def test_we_read_what_others_write(which: int, data: st.DataObject, listed: list[Record]) -> None:
    assume(listed[0].timestamp_ms != -1)  # they take it for no time at all
    builder_class, codecs = BUILDERS[which]
    codec = data.draw(codecs)
    builder = builder_class(2, int(codec), 0, -1, -1, -1, 1 << 30)
    for record in listed:
        builder.append(record.offset, record.timestamp_ms, record.key, record.value, list(record.headers))
    (batch,) = split_batches(bytes(builder.build()))
    assert batch.codec in (codec, Codec.NONE)
    assert read_records(batch) == listed


@given(listed=records(), codec=CODECS)
def test_we_read_what_we_write(listed: list[Record], codec: Codec) -> None:
    (batch,) = split_batches(build_batch(listed, codec=codec).data)
    assert (batch.codec, batch.record_count, batch.last_offset) == (codec, len(listed), len(listed) - 1)
    assert batch.max_timestamp == max(record.timestamp_ms for record in listed)
    assert read_records(batch) == listed


@given(
    listed=records(),
    base_offset=st.integers(0, 1 << 50),
    producer_id=st.integers(-1, 1 << 40),
    epoch=st.integers(-1, (1 << 15) - 1),
    sequence=st.integers(-1, (1 << 31) - 1),
    transactional=st.booleans(),
)
def test_the_header_says_the_same_to_kafka_python(
    listed: list[Record], base_offset: int, producer_id: int, epoch: int, sequence: int, transactional: bool
) -> None:
    batch = build_batch(
        [record._replace(offset=base_offset + record.offset) for record in listed],
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=transactional,
    )
    other = KafkaBatch(bytes(batch.data))
    assert (batch.base_offset, batch.last_offset, batch.size_bytes) == (
        other.base_offset,
        other.last_offset,
        other.size_in_bytes,
    )
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (
        other.producer_id,
        other.producer_epoch,
        other.base_sequence,
    )
    assert (batch.base_timestamp, batch.max_timestamp) == (other.first_timestamp, other.max_timestamp)
    assert (batch.is_transactional, batch.is_control) == (other.is_transactional, other.is_control_batch)
    assert (batch.crc, batch.magic, batch.record_count) == (other.crc, other.magic, other.records_count)


@pytest.mark.parametrize("first_ms", [-3, -2, -1, 0, 1, -(1 << 62), 1 << 62])
def test_a_first_time_may_be_any(first_ms: int) -> None:
    listed = [Record(0, first_ms, None, b"a"), Record(1, first_ms - 5, None, b"b"), Record(2, first_ms + 7, None, b"c")]
    batch = build_batch(listed)
    assert (batch.base_timestamp, batch.max_timestamp) == (first_ms, first_ms + 7)
    assert [record.timestamp_ms for record in read_records(batch)] == [first_ms, first_ms - 5, first_ms + 7]


@pytest.mark.parametrize("times", [(1 << 63,), (5, 1 << 63), (-(1 << 63) - 5,), (-10, -(1 << 63) - 5)])
def test_a_time_that_no_record_can_have_is_refused(times: tuple[int, ...]) -> None:
    with pytest.raises(InvalidBatch):
        build_batch([Record(offset, time_ms, None, b"") for offset, time_ms in enumerate(times)])


@BOTH
@given(listed=records(), now_ms=st.integers(0, 1 << 45))
def test_the_time_of_storing_is_every_records_time(which: int, listed: list[Record], now_ms: int) -> None:
    batch = with_append_time(build_batch(listed), now_ms)
    assert batch.is_append_time
    assert batch.matches_checksum()
    expected = [record._replace(timestamp_ms=now_ms) for record in listed]
    assert read_records(batch) == expected
    assert seen_by(READERS[which][0](bytes(batch.data))) == expected


@given(listed=records(), first=st.integers(0, 100), spare=st.integers(0, 100))
def test_a_batch_may_cover_more_offsets_than_it_has_records(listed: list[Record], first: int, spare: int) -> None:
    moved = [record._replace(offset=1000 + 3 * record.offset) for record in listed]
    batch = build_batch(moved, base_offset=1000 - first, last_offset=moved[-1].offset + spare)
    assert (batch.base_offset, batch.last_offset) == (1000 - first, moved[-1].offset + spare)
    assert read_records(batch) == moved
    assert seen_by(KafkaBatch(bytes(batch.data))) == moved


def test_an_empty_batch_keeps_its_range() -> None:
    batch = build_batch([], base_offset=5, last_offset=9, producer_id=3, producer_epoch=1, base_sequence=7)
    assert (batch.base_offset, batch.last_offset, batch.record_count) == (5, 9, 0)
    assert batch.matches_checksum()
    assert read_records(batch) == []
    assert seen_by(KafkaBatch(bytes(batch.data))) == []


@given(listed=records())
def test_snappy_is_read_in_both_of_its_dresses(listed: list[Record]) -> None:
    plain = build_batch(listed)
    data = bytearray(plain.data)
    data[BATCH_HEADER_BYTES:] = bytes(cramjam.snappy.compress_raw(bytes(data[BATCH_HEADER_BYTES:])))
    data[22] |= Codec.SNAPPY
    assert read_records(resealed(data)) == listed
    assert read_records(build_batch(listed, codec=Codec.SNAPPY)) == listed


def test_snappy_of_many_blocks_is_read() -> None:
    listed = [Record(0, 0, None, bytes(range(256)) * 1000, [])]
    batch = build_batch(listed, codec=Codec.SNAPPY)
    assert read_records(batch) == listed
    assert seen_by(AiokafkaBatch(bytes(batch.data))) == listed


@given(marker=st.sampled_from(Marker), producer_id=st.integers(0, 1 << 40), epoch=st.integers(0, 1000))
def test_markers_are_control_batches_to_everybody(marker: Marker, producer_id: int, epoch: int) -> None:
    batch = build_marker(marker, producer_id=producer_id, producer_epoch=epoch, timestamp_ms=5, coordinator_epoch=9)
    other = KafkaBatch(bytes(batch.data))
    assert other.validate_crc()
    assert other.is_control_batch
    assert other.is_transactional
    assert (other.producer_id, other.producer_epoch) == (producer_id, epoch)
    (record,) = other
    assert struct.unpack(">hh", record.key) == (0, marker)
    assert struct.unpack(">hi", record.value) == (0, 9)
    assert read_marker(batch) is marker


def test_control_records_of_other_kinds_are_no_markers() -> None:
    data = bytearray(build_batch([Record(0, 0, struct.pack(">hh", 0, 5), b"")]).data)
    data[22] |= 0x20
    assert read_marker(resealed(data)) is None


@given(lists=st.lists(records(), min_size=1, max_size=4))
def test_batches_back_to_back_are_split(lists: list[list[Record]]) -> None:
    built = [build_batch(listed) for listed in lists]
    together = b"".join(bytes(batch.data) for batch in built)
    split = split_batches(together)
    assert [bytes(batch.data) for batch in split] == [bytes(batch.data) for batch in built]
    assert [read_records(batch) for batch in split] == lists
    assert _same(parse_batch(together, built[0].size_bytes), built[1]) if len(built) > 1 else True


def _same(one: Batch, other: Batch) -> bool:
    return one[:-1] == other[:-1] and bytes(one.data) == bytes(other.data)
