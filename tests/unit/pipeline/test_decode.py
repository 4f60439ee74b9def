"""Batches decoded by whole columns say the same as the messages read one by one."""

import datetime
import struct
from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from braidmq.core.desk.sending import Outgoing, house_message
from braidmq.model import Header
from braidmq.model.errors import InvalidBatch
from braidmq.pipeline._batches import find_batches
from braidmq.pipeline.columns import MESSAGE
from braidmq.pipeline.decode import Piece, decode, instance_of
from braidmq.protocols.rocketmq.codec import Host, StoredMessage, message_of
from braidmq.records import (
    BATCH_HEADER_BYTES,
    Batch,
    Codec,
    Record,
    batch_messages,
    build_batch,
    record_message,
    with_append_time,
)

SCHEMA = to_arrow_schema(from_arrow_schema(MESSAGE), timezone="UTC")
NOW_MS = 1_700_000_000_123
TRACE_PARENT = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
BYTES = st.none() | st.binary(max_size=200)
NAMES = st.sampled_from(["TAGS", "KEYS", "UNIQ_KEY", "a", "b", "", "é"]) | st.text(max_size=5)
RECORDS = st.lists(
    st.tuples(
        st.integers(0, 200),
        st.integers(0, 4_000_000_000_000),
        BYTES,
        BYTES,
        st.lists(st.tuples(NAMES, st.none() | st.binary(max_size=20) | st.just(b" one  two ")), max_size=5),
    ),
    min_size=1,
    max_size=40,
)


def piece(batch: Batch, first: int = 0, end: int = 1 << 60, topic: str = "t", before: bytes = b"") -> Piece:
    buffer = bytearray(before + bytes(batch.data))
    return Piece(topic, 3, first, end, find_batches(buffer, len(before), len(buffer)))


def one_row(batch: Batch, topic: str = "t") -> dict[str, object]:
    (row,) = decode([piece(batch, topic=topic)], SCHEMA).to_pylist()
    return dict(row)


def row_of(headers: Sequence[Header], key: bytes | None = None, value: bytes | None = b"v") -> dict[str, object]:
    return one_row(build_batch([Record(7, NOW_MS, key, value, headers)]))


def at(time_ms: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(time_ms / 1000, datetime.UTC)


def numbered(drawn: list[tuple[int, int, bytes | None, bytes | None, list[Header]]]) -> list[Record]:
    offset, records = 0, []
    for step, time_ms, key, value, headers in drawn:
        records.append(Record(offset, time_ms, key, value, headers))
        offset += 1 + step
    return records


@settings(deadline=None)
@given(RECORDS, st.sampled_from(Codec), st.integers(0, 3000), st.integers(0, 3000), st.binary(max_size=9))
def test_columns_say_what_the_messages_say(
    drawn: list[tuple[int, int, bytes | None, bytes | None, list[Header]]],
    codec: Codec,
    first: int,
    end: int,
    before: bytes,
) -> None:
    records = numbered(drawn)
    rows = decode([piece(build_batch(records, codec=codec), first, end, before=before)], SCHEMA)
    rows.validate(full=True)
    wanted = [record for record in records if first <= record.offset < end]
    assert rows.column("offset").to_pylist() == [record.offset for record in wanted]
    for row, record in zip(rows.to_pylist(), wanted, strict=True):
        message = record_message(record)
        assert row["key"] == record.key
        assert row["value"] == record.value
        assert row["tag"] == message.tag
        assert row["message_id"] == message.id
        assert row["keys"] == (list(message.keys) or None)
        assert (None if row["headers"] is None else dict(row["headers"])) == (dict(record.headers) or None)
        in_order = [{"name": name, "value": header} for name, header in record.headers]
        assert row["repeated_headers"] == (in_order if len(dict(record.headers)) < len(record.headers) else None)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["x", "y", "z|c%w"]), RECORDS, st.sampled_from(Codec)), min_size=1, max_size=4)
)
def test_batches_of_several_topics_are_decoded_together(drawn: list[tuple[str, list[object], Codec]]) -> None:
    pieces = [piece(build_batch(numbered(records), codec=codec), topic=topic) for topic, records, codec in drawn]  # type: ignore[arg-type]
    rows = decode(pieces, SCHEMA)
    rows.validate(full=True)
    assert rows.column("topic").to_pylist() == [
        each.topic for each in pieces for _ in range(int(each.batches.heads["record_count"].sum()))
    ]


def test_a_header_that_comes_twice_keeps_its_last_value() -> None:
    headers = [("a", b"1"), ("b", None), ("a", b"2"), ("TAGS", b"x"), ("TAGS", b"y")]
    row = row_of(headers)
    assert dict(row["headers"]) == {"a": b"2", "b": None, "TAGS": b"y"}  # type: ignore[call-overload]
    assert row["repeated_headers"] == [{"name": name, "value": value} for name, value in headers]
    assert row["tag"] == "y"


def test_a_message_by_kafka_tells_its_protocol_trace_and_traffic() -> None:
    plain = row_of([])
    assert (plain["protocol"], plain["traffic"], plain["trace_id"], plain["instance"]) == (
        "kafka",
        "normal",
        None,
        "default",
    )
    marked = row_of([("__PRESSURE", b"true"), ("traceparent", TRACE_PARENT)])
    assert (marked["traffic"], marked["trace_id"]) == ("pressure", "0af7651916cd43dd8448eb211c80319c")
    odd = row_of([("__PRESSURE", b"no"), ("traceparent", b"\xff")])
    assert (odd["traffic"], odd["trace_id"]) == ("normal", None)


def test_the_instance_is_told_by_a_physical_name() -> None:
    batch = build_batch([Record(0, 0, None, b"", [])])
    assert one_row(batch, "BANK|GZ00%PAYMENT")["instance"] == "BANK"
    assert one_row(batch, "plain")["instance"] == "default"


def test_a_message_by_rocketmq_has_the_time_of_its_storing() -> None:
    stored = StoredMessage(
        topic="t", body=b"body", properties="TAGS\x01T\x02KEYS\x01a b\x02UNIQ_KEY\x01id", queue_id=0, queue_offset=0,
        physical_offset=0, flag=0, sys_flag=0, born_ms=NOW_MS, born_host=Host.of("10.0.0.1", 1), store_ms=NOW_MS + 50,
        store_host=Host.of("10.0.0.2", 2), reconsume_times=0, prepared_offset=0,
    )  # fmt: skip
    row = one_row(batch_messages([message_of(stored)]))
    assert (row["protocol"], row["tag"], row["keys"], row["message_id"]) == ("rocketmq", "T", ["a", "b"], "id")
    assert (row["store_time"], row["born_time"]) == (at(NOW_MS + 50), at(NOW_MS))


def test_a_message_by_http_is_known_by_its_mark() -> None:
    message = house_message(Outgoing(body="hello", tag="T", properties={"region": "north"}), NOW_MS)
    row = one_row(batch_messages([message]))
    assert (row["protocol"], row["tag"], row["value"], row["born_time"]) == ("http", "T", b"hello", at(NOW_MS))


def test_a_message_that_came_later_was_born_earlier() -> None:
    row = row_of([("BORN_TIMESTAMP", b"1699999999000")])
    assert (row["store_time"], row["born_time"]) == (at(NOW_MS), at(1_699_999_999_000))


def test_with_append_time_the_time_of_birth_is_unknown() -> None:
    row = one_row(with_append_time(build_batch([Record(0, 5, None, b"", [])]), NOW_MS))
    assert (row["store_time"], row["born_time"]) == (at(NOW_MS), None)


@pytest.mark.parametrize("time_ms", [-1, -(1 << 61), (1 << 62)])
def test_a_time_that_no_calendar_has_stops_nothing(time_ms: int) -> None:
    assert one_row(build_batch([Record(0, time_ms, None, b"", [])]))["store_time"] is not None


def test_bytes_that_are_no_text_are_shown_as_well_as_they_can_be() -> None:
    row = row_of([("TAGS", b"a\xff"), ("UNIQ_KEY", b"\xfe")], key=b"\xff\xff")
    assert (row["tag"], row["message_id"], row["keys"], row["key"]) == ("a�", "�", ["��"], b"\xff\xff")


def test_columns_that_are_not_wanted_are_not_made() -> None:
    batch = build_batch([Record(0, NOW_MS, b"k", b"v", [])])
    rows = decode([piece(batch)], pa.schema([SCHEMA.field("key"), SCHEMA.field("offset")]))
    assert rows.to_pylist() == [{"key": b"k", "offset": 0}]


@settings(deadline=None)
@given(st.data())
def test_broken_records_are_refused_and_never_misread(data: st.DataObject) -> None:
    records = [Record(number, NOW_MS + number, b"key", b"x" * 50, [("TAGS", b"a")]) for number in range(5)]
    whole = bytearray(build_batch(records).data)
    place = data.draw(st.integers(BATCH_HEADER_BYTES, len(whole) - 1))
    whole[place] = data.draw(st.integers(0, 255))
    try:
        rows = decode([Piece("t", 0, 0, 5, find_batches(whole, 0, len(whole)))], SCHEMA)
    except InvalidBatch:
        return
    rows.validate(full=True)


def test_a_claim_of_more_records_than_bytes_is_refused() -> None:
    data = bytearray(build_batch([Record(0, 0, None, b"v", [])]).data)
    struct.pack_into(">i", data, 57, 1 << 30)
    with pytest.raises(InvalidBatch):
        decode([Piece("t", 0, 0, 9, find_batches(data, 0, len(data)))], SCHEMA)


@pytest.mark.parametrize(
    ("topic", "instance"),
    [("orders", "default"), ("retail|A%orders", "retail"), ("%LITE%devices|meter-1", "default"), ("|x", "default")],
)
def test_a_name_tells_its_instance_and_a_lite_topics_bar_tells_none(topic: str, instance: str) -> None:
    assert instance_of(topic) == instance
