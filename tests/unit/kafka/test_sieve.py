"""What a filtered fetch sends: exactly the chosen records, at their offsets, and how far it came."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braidmq.core.filters import tag_filter
from braidmq.log import AbortedTransaction, Fetched
from braidmq.protocols.kafka import _sieve
from braidmq.protocols.kafka._sieve import Sieve
from braidmq.records import (
    BATCH_HEADER_BYTES,
    Batch,
    Codec,
    Marker,
    Record,
    batch_prefix,
    build_batch,
    build_marker,
    parse_batch,
    read_records,
    resealed,
    with_append_time,
)

NOW_MS = 1_700_000_000_000
WANTED = tag_filter([b"A"])
EPOCH = 5


def stored(batch: Batch, offset: int) -> bytes:
    """As the log has it: with offset and leader epoch."""
    prefix = batch_prefix(offset, batch.length, EPOCH)
    return prefix + bytes(batch.data[len(prefix) :])


def batch_of(tags: bytes, offset: int = 0, **given: object) -> bytes:
    """A record for each letter, tagged with it."""
    records = [
        Record(place, NOW_MS + place, b"k", b"%d" % (offset + place), [("TAGS", tags[place : place + 1])])
        for place in range(len(tags))
    ]
    return stored(build_batch(records, **given), offset)  # type: ignore[arg-type]


def batches(data: bytes | memoryview) -> list[Batch]:
    found = []
    position = 0
    while position < len(data):
        found.append(parse_batch(data, position))
        assert found[-1].matches_checksum()
        position += found[-1].size_bytes
    return found


def sifted(*pieces: bytes) -> list[Batch]:
    sieve = Sieve(WANTED, 0)
    for piece in pieces:
        sieve.take(Fetched(piece))
    return batches(sieve.result().data)


def test_a_batch_whose_records_are_all_wanted_goes_out_as_it_came() -> None:
    data = batch_of(b"AAA")
    assert [bytes(batch.data) for batch in sifted(data)] == [data]


@pytest.mark.parametrize("codec", Codec)
def test_of_a_mixed_batch_the_wanted_stay_at_their_offsets(codec: Codec) -> None:
    given_batch = {"codec": codec, "producer_id": 7, "producer_epoch": 1, "base_sequence": 40, "transactional": True}
    (left,) = sifted(batch_of(b"BABCA", 100, **given_batch))
    assert [(record.offset, record.value) for record in read_records(left)] == [(101, b"101"), (104, b"104")]
    assert [record.timestamp_ms for record in read_records(left)] == [NOW_MS + 1, NOW_MS + 4]
    assert (left.base_offset, left.last_offset, left.leader_epoch, left.codec) == (100, 104, EPOCH, codec)
    assert (left.producer_id, left.producer_epoch, left.base_sequence, left.is_transactional) == (7, 1, 40, True)


def test_a_stretch_without_wanted_records_is_one_empty_batch() -> None:
    first, second, third = sifted(
        batch_of(b"BB", 0) + batch_of(b"C", 2), batch_of(b"B", 3) + batch_of(b"A", 4) + batch_of(b"C", 5)
    )
    assert (first.base_offset, first.last_offset, first.record_count, first.leader_epoch) == (0, 3, 0, EPOCH)
    assert first.size_bytes == BATCH_HEADER_BYTES
    assert (second.base_offset, second.record_count) == (4, 1)
    assert (third.base_offset, third.last_offset, third.record_count) == (5, 5, 0)


def test_a_stretch_that_is_too_long_for_one_batch_is_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sieve, "_STRETCH_MAX", 3)
    ranges = [(batch.base_offset, batch.last_offset) for batch in sifted(*(batch_of(b"B", at) for at in range(7)))]
    assert ranges == [(0, 2), (3, 5), (6, 6)]


def test_markers_stay_and_aborted_transactions_are_told_once() -> None:
    marker = stored(build_marker(Marker.ABORT, producer_id=7, producer_epoch=0, timestamp_ms=NOW_MS), 2)
    sieve = Sieve(WANTED, 0)
    aborted = AbortedTransaction(7, 0)
    sieve.take(
        Fetched(batch_of(b"BB", producer_id=7, producer_epoch=0, base_sequence=0, transactional=True), (aborted,))
    )
    sieve.take(Fetched(marker, (aborted, AbortedTransaction(8, 1))))
    result = sieve.result()
    assert bytes(result.data).endswith(marker)
    assert result.aborted == (aborted, AbortedTransaction(8, 1))
    assert sieve.kept_bytes == 0
    assert sieve.offset == 3


def test_append_times_stay() -> None:
    data = with_append_time(parse_batch(batch_of(b"AB")), NOW_MS + 99)
    (left,) = sifted(stored(data, 0))
    assert left.is_append_time
    assert [record.timestamp_ms for record in read_records(left)] == [NOW_MS + 99]


def test_a_batch_that_cannot_be_opened_is_passed_on() -> None:
    broken = bytearray(build_batch([], base_offset=0).data) + b"no records"
    broken[22] |= Codec.ZSTD
    data = stored(resealed(broken), 0)
    assert [bytes(batch.data) for batch in sifted(data)] == [data]


def test_only_batches_with_wanted_records_count_as_kept() -> None:
    sieve = Sieve(WANTED, 0)
    sieve.take(Fetched(batch_of(b"BBB")))
    assert (sieve.kept_bytes, sieve.size_bytes) == (0, 0)
    wanted = batch_of(b"A", 3)
    sieve.take(Fetched(wanted))
    assert (sieve.kept_bytes, sieve.size_bytes) == (len(wanted), len(wanted) + BATCH_HEADER_BYTES)
    assert len(sieve.result().data) == sieve.size_bytes


def test_a_search_without_success_tires(monkeypatch: pytest.MonkeyPatch) -> None:
    data = batch_of(b"B")
    monkeypatch.setattr(_sieve, "LOOKED_AT_BYTES_MAX", 2 * len(data))
    sieve = Sieve(WANTED, 0)
    sieve.take(Fetched(data))
    assert not sieve.is_tired
    sieve.take(Fetched(batch_of(b"B", 1)))
    assert sieve.is_tired


@given(
    st.lists(
        st.tuples(
            st.binary(min_size=1, max_size=6).map(lambda b: bytes(65 + x % 3 for x in b)),
            st.sampled_from(Codec),
            st.integers(0, 3),
        ),
        max_size=8,
    ),
    st.data(),
)
def test_a_reader_finds_all_that_is_wanted_nothing_else_and_no_end_of_empty_stretches(
    plan: list[tuple[bytes, Codec, int]], data: st.DataObject
) -> None:
    """Read as a client does: behind the last batch of one answer, ask for the next."""
    pieces: list[bytes] = []
    offset = 0
    expected = []
    for tags, codec, gap in plan:
        offset += gap
        pieces.append(batch_of(tags, offset, codec=codec))
        expected += [offset + place for place, tag in enumerate(tags) if tag == ord("A")]
        offset += len(tags)
    seen: list[int] = []
    answers = 0
    while pieces:
        count = data.draw(st.integers(1, len(pieces)))
        sieve = Sieve(WANTED, 0)
        for piece in pieces[:count]:
            sieve.take(Fetched(piece))
        got = batches(sieve.result().data)
        seen += [record.offset for batch in got for record in read_records(batch)]
        assert got[-1].last_offset + 1 == sieve.offset == parse_batch(pieces[count - 1]).last_offset + 1
        assert all(one.record_count or two.record_count for one, two in itertools.pairwise(got))
        del pieces[:count]
        answers += 1
    assert seen == expected
