"""What is made of brokers' answers: every offset of a range is a message or belongs to a gap with a cause."""

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from braidmq.pipeline.columns import MESSAGE
from braidmq.pipeline.errors import DataLost, ReadFailed
from braidmq.pipeline.source._cluster import Fetch, Fetched, Place, Wanted
from braidmq.pipeline.source._fetching import read_ranges
from braidmq.pipeline.source._options import read_options
from braidmq.pipeline.source._ranges import Range, tasks
from braidmq.pipeline.source._stream import _shared_out
from braidmq.records import (
    Batch,
    Codec,
    Marker,
    Record,
    batch_prefix,
    build_batch,
    build_marker,
    extend_checksum,
)
from pipeline_support import packed_badly

SCHEMA = to_arrow_schema(from_arrow_schema(MESSAGE), timezone="UTC")
PLACE = Place("t", 0)


class Answers:
    """A partition's batches, as a broker gives them: from the one that holds the offset on, and cut at a size."""

    def __init__(
        self, batches: Sequence[Batch], *, end: int, aborted: Sequence[tuple[int, int]] = (), size: int
    ) -> None:
        self._batches = batches
        self._end = end
        self._aborted = aborted
        self._size = size

    def begin_fetch(self, wanted: Mapping[Place, Wanted]) -> Fetch:
        return Fetch(wanted)

    def end_fetch(self, fetch: Fetch) -> list[Fetched]:
        wanted = [batch for batch in self._batches if batch.last_offset >= fetch.wanted[PLACE].position]
        whole = b"".join(bytes(batch.data) for batch in wanted)
        first = len(wanted[0].data) if wanted else 0
        buffer = bytearray(b"head" + whole[: max(first, self._size)])
        return [Fetched(PLACE, False, self._end, self._aborted, buffer, 4, len(buffer))]

    def give_up(self, fetch: Fetch) -> None:
        pass


def moved(batch: Batch, offset: int) -> Batch:
    data = batch_prefix(offset, batch.length, 0) + bytes(batch.data)[16:]
    return batch._replace(base_offset=offset, data=data)


def plain(first: int, count: int, **more: Any) -> Batch:
    return build_batch(
        [Record(first + number, 0, None, b"%d" % (first + number), ()) for number in range(count)], **more
    )


def read(
    batches: Sequence[Batch],
    first: int,
    end: int,
    *,
    compacted: bool = False,
    size: int = 1 << 20,
    aborted: Sequence[tuple[int, int]] = (),
) -> tuple[list[int], dict[str, Any]]:
    options = read_options({"bootstrap": "x", "topics": "t", "ranges": "true"})
    cluster: Any = Answers(batches, end=end, aborted=aborted, size=size)
    rows = [
        row
        for batch in read_ranges(cluster, [Range(PLACE, first, end, 0, compacted)], options, SCHEMA, None)
        for row in batch.to_pylist()
    ]
    assert [row["value"] for row in rows[:-1]] == [b"%d" % row["offset"] for row in rows[:-1]]
    told: dict[str, Any] = msgspec.json.decode(rows[-1]["value"])
    missing = sum(until - since for since, until, _ in told["gaps"])
    assert told["records"] == len(rows) - 1
    assert told["records"] + missing == end - first
    return [row["offset"] for row in rows[:-1]], told


def test_offsets_that_compaction_took_are_gaps_also_within_and_behind_batches() -> None:
    kept = build_batch(
        [Record(offset, 0, None, b"%d" % offset, ()) for offset in (3, 4, 7)], base_offset=2, last_offset=9
    )
    offsets, told = read([kept, plain(20, 2)], 0, 40, compacted=True)
    assert offsets == [3, 4, 7, 20, 21]
    assert told["gaps"] == [
        [0, 3, "compaction"], [5, 7, "compaction"], [8, 20, "compaction"], [22, 40, "compaction"],
    ]  # fmt: skip


def test_a_hole_in_a_topic_that_is_not_compacted_has_no_known_cause() -> None:
    assert read([plain(0, 2), plain(5, 2)], 0, 7)[1]["gaps"] == [[2, 5, "unknown"]]


def test_a_batch_that_lost_all_its_records_is_a_gap() -> None:
    empty = build_batch([], base_offset=2, last_offset=5)
    assert read([plain(0, 2), empty, plain(6, 1)], 0, 7, compacted=True) == (
        [0, 1, 6],
        {"topic": "t", "partition": 0, "from": 0, "to": 7, "records": 3, "gaps": [[2, 6, "compaction"]]},
    )


def test_aborted_and_committed_transactions_of_several_producers_are_told_apart() -> None:
    mine: dict[str, Any] = {"producer_id": 1, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
    other = mine | {"producer_id": 2}

    def marker(kind: Marker, producer: int, offset: int) -> Batch:
        return moved(build_marker(kind, producer_id=producer, producer_epoch=0, timestamp_ms=0), offset)

    batches = [
        plain(0, 2, **mine), plain(2, 2, **other), marker(Marker.ABORT, 1, 4), plain(5, 1, **mine),
        marker(Marker.COMMIT, 2, 6), marker(Marker.COMMIT, 1, 7), plain(8, 1),
    ]  # fmt: skip
    offsets, told = read(batches, 0, 9, aborted=[(1, 0)])
    assert offsets == [2, 3, 5, 8]
    assert told["gaps"] == [[0, 2, "transaction"], [4, 5, "transaction"], [6, 8, "transaction"]]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=12), st.data())
def test_every_range_of_every_log_is_read_whole(drawn: list[tuple[int, bool]], data: st.DataObject) -> None:
    batches, at = [], 0
    for count, is_hole in drawn:
        if not is_hole:
            batches.append(plain(at, count))
        at += count
    first = data.draw(st.integers(0, at - 1))
    end = data.draw(st.integers(first + 1, at))
    offsets, _ = read(batches, first, end, size=data.draw(st.integers(0, 900)))
    there = [offset for batch in batches for offset in range(batch.base_offset, batch.last_offset + 1)]
    assert offsets == [offset for offset in there if first <= offset < end]


def test_a_damaged_batch_is_not_read() -> None:
    data = bytearray(plain(0, 3).data)
    data[-1] ^= 1
    with pytest.raises(ReadFailed, match="does not match its checksum"):
        read([plain(0, 3)._replace(data=bytes(data))], 0, 3)


def test_an_offset_that_went_while_it_was_read_is_data_loss() -> None:
    class Gone(Answers):
        def end_fetch(self, _: Fetch) -> list[Fetched]:
            return [Fetched(PLACE, True, -1, (), bytearray(), 0, 0)]

    cluster: Any = Gone([], end=5, size=0)
    options = read_options({"bootstrap": "x", "topics": "t"})
    with pytest.raises(DataLost, match="does not have offset 2 any more"):
        list(read_ranges(cluster, [Range(PLACE, 2, 5)], options, SCHEMA, None))


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5000), st.integers(1, 300)), max_size=8), st.integers(1, 200))
def test_tasks_hold_each_offset_once_and_none_too_many(drawn: list[tuple[int, int]], rows: int) -> None:
    ranges = [Range(Place("t", number), first, first + size) for number, (first, size) in enumerate(drawn)]
    planned = tasks(ranges, rows)
    assert all(sum(each.end - each.first for each in task.ranges) <= rows for task in planned)
    pieces = [
        (each.place, offset) for task in planned for each in task.ranges for offset in range(each.first, each.end)
    ]
    assert pieces == [(each.place, offset) for each in ranges for offset in range(each.first, each.end)]


@settings(deadline=None)
@given(st.lists(st.integers(0, 1 << 40), min_size=1, max_size=30), st.integers(1, 10_000))
def test_a_limit_is_shared_out_whole(lags: list[int], rows: int) -> None:
    behind = {Place("t", number): lag for number, lag in enumerate(lags)}
    shares = _shared_out(behind, rows)
    assert sum(shares.values()) == min(rows, sum(lags))
    assert all(0 <= share <= behind[place] for place, share in shares.items())


def read_all(batches: Sequence[Batch], first: int, end: int, **given: str) -> list[dict[str, Any]]:
    options = read_options({"bootstrap": "x", "topics": "t", **given})
    cluster: Any = Answers(batches, end=end, size=1 << 20)
    ranges = [Range(PLACE, first, end, 0, compacted=True)]
    found = read_ranges(cluster, ranges, options, SCHEMA, None)
    return [row for batch in found for row in batch.to_pylist()]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_batch_that_cannot_be_read_comes_as_it_is_and_keeps_no_other_from_being_read(codec: Codec) -> None:
    bad = [packed_badly(plain(first, 3, codec=codec)) for first in (2, 5, 9)]
    *rows, last = read_all([plain(0, 2), bad[0], bad[1], plain(8, 1), bad[2], plain(12, 2)], 0, 14, ranges="true")
    assert [(row["offset"], row["protocol"]) for row in rows] == [
        (0, "kafka"), (1, "kafka"), (2, "unreadable"), (5, "unreadable"), (8, "kafka"), (9, "unreadable"),
        (12, "kafka"), (13, "kafka"),
    ]  # fmt: skip
    assert rows[2]["value"] == bad[0].data
    told = msgspec.json.decode(last["value"])
    assert (told["records"], told["gaps"]) == (5, [[2, 8, "unreadable"], [9, 12, "unreadable"]])


def test_a_task_tells_only_its_part_of_a_batch_that_cannot_be_read() -> None:
    kept = build_batch([Record(offset, 0, None, b"", ()) for offset in (3, 4, 7)], base_offset=2, last_offset=9)
    *rows, last = read_all([packed_badly(kept), plain(10, 2)], 4, 12, ranges="true")
    assert [(row["offset"], row["protocol"]) for row in rows] == [(4, "unreadable"), (10, "kafka"), (11, "kafka")]
    told = msgspec.json.decode(last["value"])
    assert (told["records"], told["gaps"]) == (2, [[4, 10, "unreadable"]])


def test_where_nobody_hears_of_gaps_it_is_an_error_unless_data_loss_is_allowed() -> None:
    batches = [plain(0, 1), packed_badly(plain(1, 2, codec=Codec.GZIP)), plain(3, 1)]
    with pytest.raises(ReadFailed, match=r"t/0: .*set failOnDataLoss to false"):
        read_all(batches, 0, 4)
    assert [row["offset"] for row in read_all(batches, 0, 4, failOnDataLoss="false")] == [0, 3]


def test_a_compression_that_nobody_knows_is_not_read() -> None:
    data = bytearray(plain(0, 1).data)
    data[22] |= 7
    struct.pack_into(">I", data, 17, extend_checksum(0, bytes(data[21:])))
    rows = read_all([plain(0, 1)._replace(data=bytes(data))], 0, 1, ranges="true")
    assert [row["protocol"] for row in rows] == ["unreadable", "range"]
