"""Whatever comes over the wire: it is read, or refused as InvalidBatch; and it never costs more than the bound."""

import contextlib
import gzip
import struct
import tracemalloc

import cramjam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from braidmq.model.errors import CorruptBatch, InvalidBatch, InvalidRecord, UnsupportedCompression
from braidmq.records import (
    BATCH_HEADER_BYTES,
    Batch,
    Codec,
    Record,
    build_batch,
    parse_batch,
    read_marker,
    read_records,
    resealed,
    split_batches,
)
from braidmq.records._codecs import compress, decompress
from braidmq.records._records import RECORDS_MAX

OUTSIDE_OF_CHECKSUM = {*range(8), *range(12, 16)}
"""Base offset and leader epoch, which a broker sets itself."""
SAMPLE = [Record(0, 1000, b"key", b"value", [("a", b"1"), ("a", None)]), Record(1, 900, None, None)]
COMPRESSED = [codec for codec in Codec if codec is not Codec.NONE]
MIB = 1024 * 1024


def holding(payload: bytes, attributes: int = 0, record_count: int = 1) -> Batch:
    """A batch with a right checksum around whatever is given."""
    data = bytearray(build_batch([], base_offset=0).data) + payload
    struct.pack_into(">h", data, 21, attributes)
    struct.pack_into(">i", data, 57, record_count)
    struct.pack_into(">i", data, 23, max(0, record_count - 1))
    return resealed(data)


@pytest.mark.parametrize("codec", Codec)
def test_any_changed_byte_is_noticed(codec: Codec) -> None:
    good = bytes(build_batch(SAMPLE, codec=codec).data)
    for position in set(range(len(good))) - OUTSIDE_OF_CHECKSUM:
        for bit in range(8):
            bad = bytearray(good)
            bad[position] ^= 1 << bit
            with pytest.raises(InvalidBatch):
                split_batches(bytes(bad))


def test_a_wrong_checksum_is_told_from_a_wrong_form() -> None:
    bad = bytearray(build_batch(SAMPLE).data)
    bad[-1] ^= 1
    with pytest.raises(CorruptBatch, match="at byte 0"):
        split_batches(bytes(bad))


@pytest.mark.parametrize("codec", Codec)
def test_a_batch_cut_short_anywhere_is_refused(codec: Codec) -> None:
    good = bytes(build_batch(SAMPLE, codec=codec).data)
    for size in range(1, len(good)):
        with pytest.raises(InvalidBatch):
            split_batches(good[:size])
        with pytest.raises(InvalidBatch):
            parse_batch(good[:size])
    assert split_batches(b"") == []


@pytest.mark.parametrize("codec", Codec)
def test_records_cut_short_anywhere_are_refused(codec: Codec) -> None:
    good = bytes(build_batch(SAMPLE, codec=codec).data)
    for size in range(BATCH_HEADER_BYTES, len(good)):
        with pytest.raises(InvalidBatch):
            read_records(resealed(bytearray(good[:size])))


@pytest.mark.parametrize("magic", [0, 1, 3, 127, -1])
def test_other_versions_are_refused_by_name(magic: int) -> None:
    data = bytearray(build_batch(SAMPLE).data)
    struct.pack_into(">b", data, 16, magic)
    with pytest.raises(InvalidBatch, match=f"version {magic} "):
        split_batches(bytes(data))


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_unknown_compression_is_refused_by_name(codec: int) -> None:
    batch = holding(b"", attributes=codec)
    with pytest.raises(UnsupportedCompression, match=f"compression {codec}"):
        split_batches(bytes(batch.data))
    with pytest.raises(UnsupportedCompression):
        read_records(batch)


@pytest.mark.parametrize(("records", "delta"), [(0, 0), (-1, 0), (2, 0), (1, 5), (1, -1), (1 << 30, (1 << 30) - 1)])
def test_a_batch_that_counts_wrong_is_refused(records: int, delta: int) -> None:
    data = bytearray(build_batch(SAMPLE[:1]).data)
    struct.pack_into(">i", data, 57, records)
    struct.pack_into(">i", data, 23, delta)
    with pytest.raises((InvalidBatch, InvalidRecord)):
        read_records(split_batches(bytes(resealed(data).data))[0])


def test_a_small_batch_with_very_many_records_is_not_opened() -> None:
    """Each of them would cost a hundred times what it takes in the batch."""
    record = b"\x0c\x00\x00\x00\x01\x01\x00"
    data = bytearray(holding(compress(Codec.ZSTD, record * (RECORDS_MAX + 1)), attributes=Codec.ZSTD).data)
    struct.pack_into(">i", data, 57, RECORDS_MAX + 1)
    struct.pack_into(">i", data, 23, RECORDS_MAX)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidBatch, match=f"at most {RECORDS_MAX}"):
            read_records(resealed(data))
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(data) < 10_000
    assert peak_bytes < 20 * MIB


def bomb(codec: Codec, size: int) -> bytes:
    if codec is Codec.GZIP:
        return gzip.compress(bytes(size))
    if codec is Codec.SNAPPY:
        return bytes(cramjam.snappy.compress_raw(bytes(size)))
    return compress(codec, bytes(size))


@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_bomb_costs_no_more_than_the_bound(codec: Codec) -> None:
    data = bomb(codec, 200 * MIB)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidBatch, match="larger than"):
            decompress(codec, data, 2 * MIB)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak_bytes < 10 * MIB + 2 * len(data)


def test_a_bomb_in_many_snappy_blocks_costs_no_more_than_the_bound() -> None:
    data = compress(Codec.SNAPPY, bytes(20 * MIB))
    with pytest.raises(InvalidBatch, match="larger than"):
        decompress(Codec.SNAPPY, data, 2 * MIB)


@pytest.mark.parametrize("codec", COMPRESSED)
@pytest.mark.parametrize("size", [1, 1000, 64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, 600_000])
def test_what_is_exactly_as_large_as_the_bound_is_read(codec: Codec, size: int) -> None:
    data = compress(codec, b"x" * size)
    assert decompress(codec, data, size) == b"x" * size
    with pytest.raises(InvalidBatch, match="larger than"):
        decompress(codec, data, size - 1)


@pytest.mark.parametrize("codec", COMPRESSED)
def test_broken_data_is_refused_without_trying_ever_larger_buffers(codec: Codec) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(InvalidBatch, match=f"{codec.name.lower()} data"):
            decompress(codec, b"\x01broken", 64 * MIB)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak_bytes < MIB


@given(data=st.binary(max_size=300))
def test_random_bytes_are_refused(data: bytes) -> None:
    try:
        for batch in split_batches(data):
            read_records(batch)
    except InvalidBatch:
        pass


@settings(max_examples=500)
@given(payload=st.binary(max_size=200), attributes=st.integers(0, 0x3F), count=st.integers(-5, 300))
def test_random_records_behind_a_right_checksum_are_read_or_refused(
    payload: bytes, attributes: int, count: int
) -> None:
    batch = holding(payload, attributes, count)
    for read in (read_records, read_marker):
        with contextlib.suppress(InvalidBatch):
            read(batch)


@settings(max_examples=300)
@given(data=st.data(), codec=st.sampled_from(Codec))
def test_records_with_some_bytes_changed_are_read_or_refused(data: st.DataObject, codec: Codec) -> None:
    changed = bytearray(build_batch(SAMPLE, codec=codec).data)
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(BATCH_HEADER_BYTES, len(changed) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(InvalidBatch):
        read_records(resealed(changed))


@given(data=st.binary(max_size=300), codec=st.sampled_from(Codec))
def test_random_compressed_bytes_are_read_or_refused(data: bytes, codec: Codec) -> None:
    with contextlib.suppress(InvalidBatch):
        assert len(decompress(codec, data, 10_000)) <= 10_000


@given(data=st.binary(max_size=5000), codec=st.sampled_from(Codec))
def test_what_was_compressed_comes_back(data: bytes, codec: Codec) -> None:
    assert decompress(codec, compress(codec, data), 5000) == data
