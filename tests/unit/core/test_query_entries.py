"""What the index keeps of a batch, at once or record by record."""

from collections.abc import Callable
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braidmq.core.query._ranges import OpenRange, batch_entries, stretch_entries
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


@given(
    batches=st.lists(st.tuples(RECORDS, st.sampled_from(["plain", "append time", "packed"])), min_size=1, max_size=6),
    begin=st.integers(95, 120),
    until=st.integers(98, 130),
    records_max=st.sampled_from([3, 1000]),
    entries_max=st.sampled_from([0, 5, 12, 1000]),
)
def test_batches_behind_each_other_leave_what_each_leaves(
    batches: list[tuple[list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]], str]],
    begin: int,
    until: int,
    records_max: int,
    entries_max: int,
) -> None:
    made: list[Batch] = []
    base_offset = 100
    for parts, kind in batches:
        records = [Record(base_offset + at, *each) for at, each in enumerate(parts)]
        batch = build_batch(records, codec=Codec.GZIP if kind == "packed" else Codec.NONE)
        made.append(with_append_time(batch, 77) if kind == "append time" else batch)
        base_offset += len(parts) + 1  # as compaction leaves them
    data = b"".join(bytes(batch.data) for batch in made)
    stretch = stretch_entries(data, FIRST, begin, until, records_max=records_max, entries_max=entries_max)
    if made[0].codec is not Codec.NONE or made[0].base_offset >= until or made[0].record_count > records_max:
        assert stretch is None
        return
    assert stretch is not None
    at_once, one_by_one = OpenRange(FIRST), OpenRange(FIRST)
    at_once.add_entries(stretch.made)
    size_bytes, count, end = 0, 0, begin
    for batch in made:
        alone = batch_entries(batch, FIRST, begin, until)
        if alone is None or batch.base_offset >= until or batch.record_count > records_max:
            break
        if size_bytes and len(one_by_one.entries) >= 12 * entries_max:
            break
        one_by_one.add_entries(alone)
        size_bytes += len(batch.data)
        count += alone.records
        end = min(batch.last_offset + 1, until)
    assert (stretch.size_bytes, stretch.made.records, stretch.end) == (size_bytes, count, end)
    assert at_once.entries == one_by_one.entries
    assert (at_once.earliest_ms, at_once.latest_ms) == (one_by_one.earliest_ms, one_by_one.latest_ms)


@given(at=st.integers(0, 250), byte=st.integers(0, 255))
def test_a_broken_stretch_does_no_harm(at: int, byte: int) -> None:
    whole = bytearray()
    for base_offset in (5, 6):
        whole += build_batch([Record(base_offset, 5, b"key", b"x" * 20, [(ID_HEADER, b"id")])]).data
    if at < len(whole):
        whole[at] = byte
    stretch = stretch_entries(whole, 0, 0, 1 << 40, records_max=1_000, entries_max=1_000)
    assert stretch is None or (stretch.size_bytes <= len(whole) and len(stretch.made.entries) <= 2 * 12 * 34)
