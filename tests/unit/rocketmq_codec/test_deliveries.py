"""Messages on their way to a client, whole batches at a time: the same bytes as in general, or left to that."""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braidmq.model import (
    ATTEMPT_HEADER,
    BORN_HEADER,
    HTTP_HEADER,
    HTTP_MARK,
    PRESSURE_HEADER,
    ROCKETMQ_HEADER,
    SHARDING_KEY_HEADER,
    Header,
    Message,
)
from braidmq.protocols.rocketmq._delivered import delivered
from braidmq.protocols.rocketmq.codec import Host, StoredMessage, message_of
from braidmq.protocols.rocketmq.codec.mapping import own_header
from braidmq.protocols.rocketmq.codec.messages import encode_message
from braidmq.records import (
    Batch,
    Codec,
    Marker,
    Record,
    batch_messages,
    build_batch,
    build_marker,
    message_record,
    read_records,
    record_message,
    resealed,
    with_append_time,
)
from unit.rocketmq_codec.strategies import stored_messages

TOPIC, QUEUE, NUMBER = "orders", 3, 77
HERE = Host.of("10.0.0.9", 10911)
ADDED = "MSG_REGION\x01DefaultRegion\x02TRACE_ON\x01true\x02CLUSTER\x01c\x02"
OWN: Header = (ROCKETMQ_HEADER, own_header(5, 2, 1_700_000_000_123, Host.of("10.1.2.3", 40_000)))
ALL = 1 << 30


@pytest.fixture(scope="module")
def codec(require_compiled: Callable[[str], ModuleType]) -> ModuleType:
    return require_compiled("braidmq.protocols.rocketmq.codec._deliveries")


def sent(body: bytes | None = b"body", *headers: Header, key: bytes | None = None) -> Message:
    """A message that came by RocketMQ."""
    return Message(body=body, key=key, headers=(*headers, OWN), born_ms=1_700_000_000_000)


def log_of(*lots: Sequence[Message], base_offset: int = 40) -> list[Batch]:
    """Batches back to back, as a log gives them."""
    batches = []
    for lot in lots:
        records = [message_record(message, base_offset + at) for at, message in enumerate(lot)]
        batches.append(build_batch(records))
        base_offset += len(lot)
    return batches


def data_of(batches: Sequence[Batch]) -> bytes:
    return b"".join(bytes(batch.data) for batch in batches)


def reading(codec: ModuleType, offset: int = 40, count_max: int = 32, bytes_max: int = ALL, **more: Any) -> Any:
    given = {"topic": TOPIC.encode(), "host": HERE, "tags": None, "added": ADDED.encode(), **more}
    return codec.Deliveries(
        *(offset, count_max, bytes_max, given["topic"], QUEUE, NUMBER << 40, *given["host"]),
        given["added"],
        given["tags"],
    )


def in_general(record: Record) -> bytes:
    message = record_message(record, TOPIC, QUEUE)
    return encode_message(delivered(message, QUEUE, NUMBER << 40 | record.offset, HERE, ADDED))


def records_of(batches: Sequence[Batch], offset: int) -> list[Record]:
    return [record for batch in batches for record in read_records(batch) if record.offset >= offset]


# What most messages are.


def test_messages_of_several_batches_are_written_as_in_general(codec: ModuleType) -> None:
    batches = log_of(
        [sent(b"a", ("TAGS", b"x"), ("UNIQ_KEY", b"1")), sent(b"", ("имя", "значение".encode()))],
        [sent(None), sent(b"keyed", ("KEYS", b"k1 k2"), key=b"k1")],
        [sent(b"b" * 3000, (SHARDING_KEY_HEADER, b"s"), key=b"s")],
    )
    found = reading(codec)
    assert found.take(data_of(batches))
    assert found.body == b"".join(in_general(record) for record in records_of(batches, 40))
    assert (found.offset, found.is_stuck, len(found.times)) == (45, False, 5)


def test_reading_begins_inside_a_batch_and_ends_when_there_is_enough(codec: ModuleType) -> None:
    batches = log_of([sent(b"%d" % number) for number in range(6)], [sent(b"6")])
    found = reading(codec, offset=42, count_max=3)
    assert not found.take(data_of(batches))
    assert found.body == b"".join(in_general(record) for record in records_of(batches, 42)[:3])
    assert (found.offset, found.count_left, found.is_stuck) == (45, 0, False)


def test_bodies_have_a_limit_but_the_first_is_always_given(codec: ModuleType) -> None:
    batches = log_of([sent(b"x" * 100), sent(b"y" * 10), sent(b"z" * 10)])
    found = reading(codec, bytes_max=15)
    assert not found.take(data_of(batches))
    assert (len(found.times), found.offset) == (1, 41)
    found = reading(codec, offset=41, bytes_max=15)
    assert not found.take(data_of(batches))
    assert (len(found.times), found.offset) == (1, 42)


def test_only_messages_with_the_tags_are_given(codec: ModuleType) -> None:
    lots = [[sent(b"%d" % number, ("TAGS", b"t%d" % (number % 3)))] for number in range(9)]
    batches = log_of(*lots, [sent(b"without")])
    found = reading(codec, tags=frozenset({b"t1", b"t2"}))
    assert found.take(data_of(batches))
    chosen = [record for record in records_of(batches, 40) if record.value != b"without" and record.offset % 3 != 1]
    assert found.body == b"".join(in_general(record) for record in chosen)
    assert found.offset == 50


def test_markers_are_passed_over_and_append_times_count(codec: ModuleType) -> None:
    marker = bytearray(build_marker(Marker.COMMIT, producer_id=1, producer_epoch=0, timestamp_ms=5).data)
    marker[:8] = (41).to_bytes(8)
    first, last = log_of([sent(b"a")]), log_of([sent(b"b")], base_offset=42)
    batches = [with_append_time(first[0], 1_800_000_000_000), resealed(marker), *last]
    found = reading(codec)
    assert found.take(data_of(batches))
    assert found.body == in_general(read_records(batches[0])[0]) + in_general(read_records(batches[2])[0])
    assert found.times == [1_800_000_000_000, 1_700_000_000_000]


@pytest.mark.parametrize("mark", [b"true", b"false"])
def test_the_first_message_says_whether_all_belong_to_a_test(codec: ModuleType, mark: bytes) -> None:
    found = reading(codec)
    found.take(data_of(log_of([sent(b"a", (PRESSURE_HEADER, mark)), sent(b"b", (PRESSURE_HEADER, b"true"))])))
    assert found.is_pressure is (mark == b"true")


@pytest.mark.parametrize("born", [b"0", b"1", b"1690000000123", b"999999999999999999"])
def test_messages_that_came_to_their_topic_later_have_both_times(codec: ModuleType, born: bytes) -> None:
    batches = log_of([sent(b"a", ("TAGS", b"x"), (BORN_HEADER, born), ("UNIQ_KEY", b"1")), sent(b"b")])
    found = reading(codec)
    assert found.take(data_of(batches))
    assert found.body == b"".join(in_general(record) for record in records_of(batches, 40))
    assert found.times == [1_700_000_000_000] * 2


def test_a_message_that_names_a_cluster_is_given_no_other(codec: ModuleType) -> None:
    batches = log_of([sent(b"a", ("CLUSTER", b"another"))])
    found = reading(codec)
    found.take(data_of(batches))
    assert found.body == in_general(records_of(batches, 40)[0])


# What is left to the general way.


@pytest.mark.parametrize(
    "odd",
    [
        Message(body=b"by Kafka", born_ms=5),
        Message(body=b"", headers=((ROCKETMQ_HEADER, b"short"),), born_ms=5),
        Message(body=b"", headers=((ROCKETMQ_HEADER, own_header(0, 0, 5, Host.of("::1", 7))),), born_ms=5),
        sent(b"", OWN),
        sent(b"", ("null", None)),
        sent(b"", ("", b"x")),
        sent(b"", ("twice", b"1"), ("twice", b"2")),
        sent(b"", (ATTEMPT_HEADER, b"1")),
        sent(b"", (HTTP_HEADER, HTTP_MARK)),
        sent(b"", (BORN_HEADER, b"")),
        sent(b"", (BORN_HEADER, b"-1")),
        sent(b"", (BORN_HEADER, b"007")),
        sent(b"", (BORN_HEADER, b"12 ")),
        sent(b"", (BORN_HEADER, b"1"), (BORN_HEADER, b"2")),
        sent(b"", (BORN_HEADER, b"9223372036854775808")),
        sent(b"", ("sep\x01arator", b"x")),
        sent(b"", ("name", b"sep\x02arator")),
        sent(b"", ("bytes", b"\xff\xfe")),
        sent(b"", ("long", b"x" * 33_000)),
        sent(b"", *((f"p{number}", b"x") for number in range(80))),
        sent(b"", key=b"a key that no property says"),
    ],
)
def test_writing_ends_in_front_of_what_is_not_as_expected(codec: ModuleType, odd: Message) -> None:
    batches = log_of([sent(b"a"), odd, sent(b"b")])
    found = reading(codec)
    assert not found.take(data_of(batches))
    assert found.body == in_general(records_of(batches, 40)[0])
    assert (found.offset, found.is_stuck, len(found.times)) == (41, True, 1)
    assert not found.take(data_of(batches)), "and does not go on"


def test_packed_batches_are_left_to_the_general_way(codec: ModuleType) -> None:
    packed = build_batch([message_record(sent(b"x" * 100), 41)], codec=Codec.LZ4)
    found = reading(codec)
    assert not found.take(data_of([*log_of([sent(b"a")]), packed]))
    assert (found.offset, found.is_stuck, len(found.times)) == (41, True, 1)


@pytest.mark.parametrize("more", [{"host": Host.of("::1", 5)}, {"topic": b"t" * 128}])
def test_wide_addresses_and_names_are_left_to_the_general_way(codec: ModuleType, more: dict[str, Any]) -> None:
    found = reading(codec, **more)
    assert found.is_stuck
    assert not found.take(data_of(log_of([sent(b"a")])))
    assert (found.body, found.offset) == (b"", 40)


@pytest.mark.parametrize("cut", [1, 30, 60, 61, 90])
def test_batches_that_are_cut_off_do_no_harm(codec: ModuleType, cut: int) -> None:
    whole = data_of(log_of([sent(b"a")]))
    found = reading(codec)
    assert not found.take(whole + whole[:cut])
    assert len(found.times) == 1


# Whatever lies in the log.

KAFKA_HEADERS = st.lists(
    st.tuples(
        st.sampled_from(["TAGS", "KEYS", "a", "", ROCKETMQ_HEADER, ATTEMPT_HEADER, "CLUSTER"]) | st.text(max_size=3),
        st.none() | st.sampled_from([b"x", b"1", OWN[1], b"\x01"]) | st.binary(max_size=4),
    ),
    max_size=4,
)


def _of_these_times(message: StoredMessage) -> StoredMessage:
    message.born_ms %= 1 << 45
    return message


MESSAGES = st.one_of(
    stored_messages().map(_of_these_times).map(message_of),
    st.builds(
        lambda body, key, headers: Message(body=body, key=key, headers=(*headers, OWN), born_ms=7),
        st.none() | st.binary(max_size=50),
        st.none() | st.binary(max_size=4),
        KAFKA_HEADERS,
    ),
)


@given(
    lots=st.lists(st.lists(MESSAGES, min_size=1, max_size=4), min_size=1, max_size=3),
    offset=st.integers(40, 45),
    count_max=st.integers(1, 6),
    bytes_max=st.integers(1, 100),
)
def test_what_is_written_is_what_the_general_way_writes(
    codec: ModuleType, lots: list[list[Message]], offset: int, count_max: int, bytes_max: int
) -> None:
    batches = log_of(*lots)
    records = records_of(batches, offset)
    found = reading(codec, offset, count_max, bytes_max)
    goes_on = found.take(data_of(batches))
    written = records[: len(found.times)]
    assert found.body == b"".join(in_general(record) for record in written)
    assert found.times == [record.timestamp_ms for record in written]
    if goes_on:
        assert written == records
    elif not found.is_stuck:
        assert found.count_left == 0 or len(records[len(written)].value or b"") > found.bytes_left
    assert sum(len(record.value or b"") for record in written[1:]) <= max(0, bytes_max)


@given(at=st.integers(0, 150), byte=st.integers(0, 255), extra=st.binary(max_size=70))
def test_a_log_with_one_byte_changed_does_no_harm(codec: ModuleType, at: int, byte: int, extra: bytes) -> None:
    data = bytearray(batch_messages([sent(b"a" * 20, ("TAGS", b"t"), ("KEYS", b"k"), key=b"k")]).data)
    data[min(at, len(data) - 1)] = byte
    found = reading(codec, offset=0)
    found.take(bytes(data) + extra)
    assert len(found.body) < 1000


def test_the_longest_properties_that_fit_are_written(codec: ModuleType) -> None:
    room = 32_767 - len(ADDED) - len("long") - 2
    for size, is_written in ((room, True), (room + 1, False)):
        found = reading(codec)
        found.take(data_of(log_of([sent(b"", ("long", b"x" * size))])))
        assert bool(found.times) is is_written
