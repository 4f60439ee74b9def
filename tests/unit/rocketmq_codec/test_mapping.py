"""One message on two wires: what a RocketMQ producer sent a Kafka consumer reads, and the other way round."""

import zlib

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch as KafkaBatch

from braidmq.model import HTTP_HEADER, HTTP_MARK, ROCKETMQ_HEADER, Message
from braidmq.protocols.rocketmq.codec import Host, MalformedMessage, StoredMessage, message_of, stored_message
from braidmq.protocols.rocketmq.codec.messages import (
    COMPRESSED,
    COMPRESSION_LZ4,
    COMPRESSION_ZLIB,
    COMPRESSION_ZSTD,
    PROPERTIES_BYTES_MAX,
    encode_message,
    read_properties,
    write_properties,
)
from braidmq.records import Record, batch_messages, build_batch, messages_of, split_batches
from unit.records.strategies import BYTES, HEADERS, TIMES
from unit.rocketmq_codec.strategies import stored_messages

STORE_HOST = Host.of("10.0.0.9", 10911)
BODY = b"the same again, " * 500


def through_the_log(message: Message, topic: str = "orders") -> Message:
    (batch,) = split_batches(batch_messages([message]).data)
    (read,) = messages_of(batch, topic, 2)
    return read


def from_kafka(record: Record) -> StoredMessage:
    (message,) = messages_of(build_batch([record]), "orders", 2)
    return stored_message(message, queue_id=2, physical_offset=77, store_host=STORE_HOST)


@given(sent=stored_messages())
def test_a_message_of_rocketmq_comes_back_from_the_log_as_it_was(sent: StoredMessage) -> None:
    sent.born_ms %= 1 << 45
    sent.reconsume_times = max(sent.reconsume_times, 0)
    message = through_the_log(message_of(sent), sent.topic)
    back = stored_message(message, queue_id=2, physical_offset=77, store_host=STORE_HOST)
    assert read_properties(back.properties) == {
        name: value for name, value in read_properties(sent.properties).items() if name != ROCKETMQ_HEADER
    }
    sent.properties = back.properties
    sent.queue_id, sent.queue_offset, sent.physical_offset, sent.store_host = 2, 0, 77, STORE_HOST
    sent.sys_flag = back.sys_flag = sent.sys_flag & ~0x30
    assert back == sent


def test_a_kafka_consumer_reads_the_properties_as_headers() -> None:
    properties = {"KEYS": "order-1 user-2", "TAGS": "paid", "UNIQ_KEY": "A1", "colour": "rot é"}
    sent = StoredMessage(topic="orders", body=b"body", properties=write_properties(properties), born_ms=1234)
    (record,) = KafkaBatch(bytes(batch_messages([message_of(sent)]).data))
    assert (record.key, record.value, record.timestamp) == (b"order-1", b"body", 1234)
    headers = dict(record.headers)
    assert len(headers.pop(ROCKETMQ_HEADER)) == 25
    assert headers == {name: value.encode() for name, value in properties.items()}


@pytest.mark.parametrize(
    ("properties", "key"),
    [
        ({"KEYS": "a b", "__SHARDINGKEY": "s"}, b"s"),
        ({"KEYS": " a b"}, b"a"),
        ({"KEYS": "  "}, None),
        ({"__SHARDINGKEY": "", "KEYS": "a"}, b"a"),
        ({}, None),
    ],
)
def test_the_record_key_is_the_sharding_key_or_else_the_first_key(
    properties: dict[str, str], key: bytes | None
) -> None:
    assert message_of(StoredMessage(topic="t", body=b"", properties=write_properties(properties))).key == key


def test_a_rocketmq_consumer_reads_the_headers_of_a_kafka_producer() -> None:
    back = from_kafka(Record(5, 1234, b"order-1", b"body", [("TAGS", b"paid"), ("a", b"1"), ("a", b"2"), ("b", None)]))
    assert read_properties(back.properties) == {"TAGS": "paid", "a": "2", "b": "", "KEYS": "order-1"}
    assert (back.topic, back.body, back.queue_id, back.queue_offset) == ("orders", b"body", 2, 5)
    assert (back.born_ms, back.store_ms, back.flag, back.sys_flag) == (1234, 1234, 0, 0)


def test_a_key_is_not_a_key_of_the_user_where_he_named_his_own_or_it_is_no_text() -> None:
    assert read_properties(from_kafka(Record(0, 0, b"k", b"", [("KEYS", b"a b")])).properties) == {"KEYS": "a b"}
    assert from_kafka(Record(0, 0, b"k", b"", [("__SHARDINGKEY", b"k")])).properties == "__SHARDINGKEY\x01k\x02"
    for key in (b"\xff\x00", b"", b"a\x02b", None):
        assert from_kafka(Record(0, 0, key, b"")).properties == ""


def test_what_a_property_cannot_say_is_said_as_well_as_it_can_be() -> None:
    headers = [("", b"1"), ("a\x01", b"2"), ("b\x02", b"3"), ("c", b"x\x02y\xff"), ("d", b"\x01")]
    assert read_properties(from_kafka(Record(0, 0, None, b"", headers)).properties) == {
        "c": "x\ufffdy\ufffd",
        "d": "\x01",
    }


def test_a_deletion_is_a_message_without_a_body() -> None:
    assert from_kafka(Record(0, 0, b"k", None)).body == b""


@given(key=BYTES, value=BYTES, headers=HEADERS, time=TIMES)
def test_any_record_can_be_given_to_a_rocketmq_client(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]], time: int
) -> None:
    assert encode_message(from_kafka(Record(0, time, key, value, headers)))


@given(own=st.binary(max_size=60))
def test_a_header_that_somebody_else_wrote_under_our_name_does_no_harm(own: bytes) -> None:
    back = from_kafka(Record(0, 9, None, b"plain", [(ROCKETMQ_HEADER, own), ("a", b"b")]))
    assert (back.properties, back.body) == ("a\x01b\x02", b"plain")
    assert not back.sys_flag & COMPRESSED
    assert encode_message(back)


def test_a_client_cannot_write_our_own_header() -> None:
    sent = StoredMessage(topic="t", body=b"", properties=f"{ROCKETMQ_HEADER}\x01x\x02a\x01b\x02", flag=7)
    message = message_of(sent)
    assert [name for name, _ in message.headers] == ["a", ROCKETMQ_HEADER]
    assert stored_message(message, queue_id=0, physical_offset=0, store_host=STORE_HOST).flag == 7


def test_the_mark_of_http_is_no_property_and_no_client_can_write_it() -> None:
    back = from_kafka(Record(0, 9, None, b"body", [("a", b"b"), (HTTP_HEADER, HTTP_MARK)]))
    assert back.properties == "a\x01b\x02"
    sent = StoredMessage(topic="t", body=b"", properties=f"{HTTP_HEADER}\x01x\x02a\x01b\x02")
    assert [name for name, _ in message_of(sent).headers] == ["a", ROCKETMQ_HEADER]


def test_headers_beyond_what_rocketmq_can_carry_are_left_out_and_its_own_are_kept() -> None:
    headers = [("long", b"x" * 20_000), ("longer", b"y" * 20_000), ("short", b"z"), ("TAGS", b"paid"), ("KEYS", b"k")]
    back = from_kafka(Record(0, 0, None, b"", headers))
    assert read_properties(back.properties).keys() == {"TAGS", "KEYS", "long", "short"}
    wide = from_kafka(Record(0, 0, None, b"", [("wide", "中".encode() * 10_923), ("TAGS", b"a")]))
    assert len(wide.properties.encode()) <= PROPERTIES_BYTES_MAX
    assert read_properties(wide.properties) == {"TAGS": "a"}


def test_properties_that_could_not_be_given_back_are_refused() -> None:
    message_of(StoredMessage(topic="t", body=b"", properties="a\x01" + "x" * (PROPERTIES_BYTES_MAX - 2)))
    for text in ("x" * (PROPERTIES_BYTES_MAX - 1), "中" * 10_922):
        with pytest.raises(MalformedMessage, match="at most 32767 bytes"):
            message_of(StoredMessage(topic="t", body=b"", properties="a\x01" + text))


@pytest.mark.parametrize(
    ("bits", "compressed"),
    [
        (0, zlib.compress(BODY, 5)),
        (COMPRESSION_ZLIB, zlib.compress(BODY, 5)),
        (COMPRESSION_LZ4, bytes(cramjam.lz4.compress(BODY))),
        (COMPRESSION_ZSTD, bytes(cramjam.zstd.compress(BODY))),
    ],
)
def test_a_compressed_body_lies_plain_in_the_log_and_is_given_plain_to_all(bits: int, compressed: bytes) -> None:
    sent = StoredMessage(topic="t", body=compressed, sys_flag=COMPRESSED | bits | 0x8)
    message = through_the_log(message_of(sent))
    assert message.body == BODY
    assert stored_message(message, queue_id=0, physical_offset=0, store_host=STORE_HOST).sys_flag == 0x8
    with pytest.raises(MalformedMessage):
        message_of(sent, body_bytes_max=len(BODY) - 1)
    assert message_of(sent, body_bytes_max=len(BODY)).body == BODY
    for broken in (b"", b"no such thing", compressed[:-5] if bits != COMPRESSION_LZ4 else compressed[:40]):
        sent.body = broken
        with pytest.raises(MalformedMessage):
            message_of(sent)


def test_a_compression_that_is_not_known_is_refused() -> None:
    with pytest.raises(MalformedMessage, match="compression 7"):
        message_of(StoredMessage(topic="t", body=b"x", sys_flag=COMPRESSED | 0x700))


def test_a_small_body_that_opens_to_a_huge_one_is_refused_early() -> None:
    bomb = zlib.compress(bytes(64 * 1024 * 1024), 9)
    with pytest.raises(MalformedMessage, match="larger than 1000 bytes"):
        message_of(StoredMessage(topic="t", body=bomb, sys_flag=COMPRESSED), body_bytes_max=1000)
