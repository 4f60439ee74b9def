"""What the index keeps of a batch, at once or record by record."""

from collections.abc import Callable
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braidmq.core.query._ranges import OpenRange, batch_entries
from braidmq.model import ID_HEADER, KEYS_HEADER
from braidmq.records import Batch, Codec, Record, build_batch, parse_batch, read_records, with_append_time

FIRST = 90


@pytest.fixture(autouse=True, scope="module")
def compiled(require_compiled: Callable[[str], ModuleType]) -> ModuleType:
    return require_compiled("braidmq.core.query._entries")


WORDS = st.sampled_from([b"", b"k", b"k1 k2", b" k \t k\n\x0bz", b"a\x1cb", " x\u2003y ".encode(), b"w " * 50])
HEADERS = st.lists(
    st.tuples(st.sampled_from([ID_HEADER, KEYS_HEADER, "TAGS", ""]), st.none() | WORDS | st.binary(max_size=9)),
    max_size=5,
)
RECORDS = st.lists(
    st.tuples(st.integers(-5, 1 << 45), st.none() | WORDS, st.none() | st.binary(max_size=40), HEADERS),
    min_size=1,
    max_size=6,
)


def batch_of(parts: list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]], **more: int) -> Batch:
    base = more.get("base_offset", 100)
    return build_batch([Record(base + at, *each) for at, each in enumerate(parts)])


@given(parts=RECORDS, begin=st.integers(95, 106), until=st.integers(98, 108), append_ms=st.none() | st.just(77))
def test_a_batch_leaves_the_entries_that_its_records_leave(
    parts: list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]],
    begin: int,
    until: int,
    append_ms: int | None,
) -> None:
    batch = batch_of(parts)
    if append_ms is not None:
        batch = with_append_time(batch, append_ms)
    made = batch_entries(batch, FIRST, begin, until)
    assert made is not None
    chosen = [record for record in read_records(batch) if begin <= record.offset < until]
    one_by_one, at_once = OpenRange(FIRST), OpenRange(FIRST)
    assert at_once.add_entries(made) == one_by_one.add(chosen)
    assert at_once.entries == one_by_one.entries
    assert (at_once.earliest_ms, at_once.latest_ms) == (one_by_one.earliest_ms, one_by_one.latest_ms)
    assert made.records == len(chosen)


def test_so_many_entries_are_sorted_in_runs_as_they_come() -> None:
    parts: list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]]
    parts = [(number, b"key-%d" % number, b"x", [(ID_HEADER, b"id-%d" % number)]) for number in range(3_000)]
    batch = batch_of(parts)
    made = batch_entries(batch, 100, 100, 10_000)
    assert made is not None
    one_by_one, at_once = OpenRange(100), OpenRange(100)
    one_by_one.add(read_records(batch))
    at_once.add_entries(made)
    assert at_once.entries == one_by_one.entries


def test_a_packed_batch_is_opened_first() -> None:
    packed = build_batch([Record(0, 5, b"k", b"x" * 100)], codec=Codec.ZSTD)
    assert batch_entries(packed, 0, 0, 10) is None


@given(at=st.integers(61, 120), byte=st.integers(0, 255))
def test_a_broken_batch_does_no_harm(at: int, byte: int) -> None:
    whole = bytearray(batch_of([(5, b"key", b"x" * 20, [(ID_HEADER, b"id"), (KEYS_HEADER, b"a b")])]).data)
    if at < len(whole):
        whole[at] = byte
    batch = parse_batch(bytes(whole))
    made = batch_entries(batch, 0, 0, 1 << 40)
    assert made is None or len(made.entries) <= 12 * 34


@pytest.mark.parametrize("count", [-1, 0, 2, 1_000_000])
def test_a_batch_that_claims_another_number_of_records_is_left_to_the_general_way(count: int) -> None:
    batch = batch_of([(5, b"key", b"x", [])])._replace(record_count=count)
    assert batch_entries(batch, 0, 0, 1 << 40) is None
