"""Message and record are two views of one thing: body and value, properties and headers, key, born time."""

from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch as KafkaBatch

from braidmq.model import Message
from braidmq.model.errors import InvalidBatch
from braidmq.records import (
    Codec,
    Record,
    batch_messages,
    build_batch,
    key_of_content,
    message_record,
    messages_of,
    packed_content,
    read_records,
    record_message,
    split_batches,
    unpacked,
)
from unit.records.strategies import BYTES, HEADERS, TIMES, records

MESSAGES = st.builds(
    Message,
    body=BYTES,
    key=BYTES,
    headers=HEADERS.map(tuple),
    born_ms=TIMES,
)


@given(message=MESSAGES, offset=st.integers(0, 1 << 40))
def test_a_message_becomes_a_record_and_the_same_message_again(message: Message, offset: int) -> None:
    record = message_record(message, offset)
    assert (record.offset, record.timestamp_ms) == (offset, message.born_ms)
    assert (record.key, record.value, tuple(record.headers)) == (message.key, message.body, message.headers)
    again = record_message(record, "orders", 3)
    assert (again.topic, again.partition, again.offset) == ("orders", 3, offset)
    assert (again.body, again.key, again.headers, again.born_ms) == (
        message.body,
        message.key,
        message.headers,
        message.born_ms,
    )


@given(messages=st.lists(MESSAGES, min_size=1, max_size=5), codec=st.sampled_from(Codec))
def test_messages_share_a_batch_and_come_back_in_order(messages: list[Message], codec: Codec) -> None:
    (batch,) = split_batches(batch_messages(messages, codec).data)
    read = messages_of(batch, "orders", 1)
    assert [(each.body, each.key, each.headers, each.born_ms) for each in read] == [
        (each.body, each.key, each.headers, each.born_ms) for each in messages
    ]
    assert [each.offset for each in read] == list(range(len(messages)))
    assert {(each.topic, each.partition) for each in read} == {("orders", 1)}


@given(messages=st.lists(MESSAGES, min_size=1, max_size=5))
def test_a_batch_of_messages_is_the_batch_of_their_records(messages: list[Message]) -> None:
    listed = [message_record(message, delta) for delta, message in enumerate(messages)]
    assert batch_messages(messages) == build_batch(listed)


@given(listed=records())
def test_a_record_becomes_a_message_and_the_same_record_again(listed: list[Record]) -> None:
    again = [message_record(message, message.offset) for message in messages_of(build_batch(listed))]
    assert [record._replace(headers=list(record.headers)) for record in again] == listed


@given(message=MESSAGES)
def test_the_key_of_a_packed_message_is_read_without_the_rest(message: Message) -> None:
    content = packed_content(message)
    assert key_of_content(content) == message.key == unpacked(content).key


@given(
    content=st.one_of(
        st.binary(max_size=12), st.sampled_from([b"", b"\xff" * 9, b"\x03x", b"\x7f", b"\x81", b"\x81\x00"])
    )
)
def test_a_key_of_any_bytes_lies_within_them_or_is_refused(content: bytes) -> None:
    try:
        key = key_of_content(content)
    except InvalidBatch:
        return
    assert content.startswith(b"\x01") if key is None else key in content


def test_a_kafka_consumer_sees_the_words_of_a_rocketmq_producer() -> None:
    message = Message.create(
        b"body",
        tag="paid",
        keys=["order-1", "user-2"],
        sharding_key="shop-3",
        id="A1B2",
        properties={"colour": "red"},
        born_ms=1234,
    )
    (record,) = KafkaBatch(bytes(batch_messages([message]).data))
    assert (record.key, record.value, record.timestamp) == (b"shop-3", b"body", 1234)
    assert dict(record.headers) == {
        "TAGS": b"paid",
        "KEYS": b"order-1 user-2",
        "UNIQ_KEY": b"A1B2",
        "__SHARDINGKEY": b"shop-3",
        "colour": b"red",
    }


def test_what_a_kafka_producer_sets_are_the_words_of_a_message() -> None:
    headers = [("TAGS", b"paid"), ("KEYS", b"order-1"), ("trace", None)]
    (message,) = messages_of(build_batch([Record(0, 5, b"k", b"v", headers)]))
    assert (message.tag, message.keys, message.key, message.body) == ("paid", ("order-1",), b"k", b"v")
    assert message.properties == {"TAGS": "paid", "KEYS": "order-1", "trace": ""}


def test_a_message_without_a_body_is_a_deletion() -> None:
    batch = batch_messages([Message.create(None, keys=["gone"])])
    (record,) = read_records(batch)
    assert (record.key, record.value) == (b"gone", None)
