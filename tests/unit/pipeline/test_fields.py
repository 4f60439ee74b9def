"""Where fields of records lie: the compiled pass and numpy's say the same, and what is broken is refused by both."""

from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from braidmq.model.errors import InvalidBatch
from braidmq.pipeline import _fields
from braidmq.pipeline._fields import Buffer, Fields, HeaderFields, Integers, read_by_columns, read_fields
from braidmq.records import BATCH_HEADER_BYTES, Record, build_batch

places = pytest.importorskip("braidmq.pipeline._places", reason="not compiled here")

Drawn: TypeAlias = list[list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]]]
"""Batches of records: the time, the key, the value and the headers of each."""

BYTES = st.none() | st.binary(max_size=200)
BATCHES = st.lists(
    st.lists(
        st.tuples(
            st.integers(-(1 << 60), 1 << 60),
            BYTES,
            BYTES,
            st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=70)), max_size=4),
        ),
        min_size=1,
        max_size=20,
    ),
    min_size=1,
    max_size=4,
)


def laid_out(batches: Drawn) -> bytearray:
    return bytearray().join(
        bytes(build_batch([Record(number, *each) for number, each in enumerate(batch)]).data) for batch in batches
    )


def spans_of(buffer: Buffer, counts: list[int]) -> Integers:
    spans, at = [], 0
    for _ in counts:
        size = 12 + int.from_bytes(buffer[at + 8 : at + 12], "big")
        spans.append((at + BATCH_HEADER_BYTES, at + size))
        at += size
    return np.array(spans, np.int64)


def listed(found: tuple[Fields, HeaderFields]) -> list[list[int]]:
    return [column.tolist() for fields in found for column in fields]


@given(BATCHES)
@settings(deadline=None)
def test_the_compiled_pass_finds_what_numpy_finds(batches: Drawn) -> None:
    buffer, numbers = laid_out(batches), [len(batch) for batch in batches]
    spans, counts = spans_of(buffer, numbers), np.array(numbers, np.int64)
    compiled = _fields._read_compiled(buffer, spans, counts)
    assert compiled is not None
    assert listed(compiled) == listed(read_by_columns(buffer, spans, counts))


@pytest.mark.thorough
@given(BATCHES, st.data())
@settings(deadline=None, max_examples=300)
def test_of_broken_records_the_compiled_pass_never_says_what_numpy_does_not(
    batches: Drawn, data: st.DataObject
) -> None:
    buffer, numbers = laid_out(batches), [len(batch) for batch in batches]
    spans = spans_of(buffer, numbers)
    for _ in range(data.draw(st.integers(1, 4))):
        span = spans[data.draw(st.integers(0, len(spans) - 1))]
        buffer[data.draw(st.integers(int(span[0]), int(span[1]) - 1))] = data.draw(st.integers(0, 255))
    counts = np.array([max(0, count + data.draw(st.integers(-1, 1))) for count in numbers], np.int64)
    compiled = _fields._read_compiled(buffer, spans, counts)
    try:
        found = read_by_columns(buffer, spans, counts)
    except InvalidBatch:
        assert compiled is None
        with pytest.raises(InvalidBatch):
            read_fields(buffer, spans, counts)
        return
    assert compiled is None or listed(compiled) == listed(found)


@given(st.binary(min_size=1, max_size=300), st.data())
@settings(deadline=None, max_examples=300)
def test_any_bytes_are_read_within_their_bounds_or_refused(noise: bytes, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(noise) - 1))
    spans = np.array([(start, data.draw(st.integers(start, len(noise))))], np.int64)
    counts = np.array([data.draw(st.integers(0, 10))], np.int64)
    try:
        fields, headers = read_fields(noise, spans, counts)
    except InvalidBatch:
        return
    for starts, sizes in (
        (fields.key_starts, fields.key_sizes),
        (fields.value_starts, fields.value_sizes),
        (headers.name_starts, headers.name_sizes),
        (headers.starts, headers.sizes),
    ):
        assert all(0 <= at <= at + max(size, 0) <= len(noise) for at, size in zip(starts, sizes, strict=True))


def test_spans_outside_of_the_buffer_and_arrays_of_another_shape_are_not_read() -> None:
    buffer = laid_out([[(0, None, b"v", [])]])
    spans, counts = spans_of(buffer, [1]), np.array([1], np.int64)
    room = np.empty((len(Fields._fields), 1), np.int64)
    assert places.find_fields(buffer, spans, counts, room) == 0
    assert places.find_fields(buffer, spans + len(buffer), counts, room) == -1
    assert places.find_fields(buffer, spans - len(buffer), counts, room) == -1
    assert places.find_fields(buffer, spans, counts + 1, room) == -1
    assert places.find_fields(buffer, spans, counts, room[:-1]) == -1
