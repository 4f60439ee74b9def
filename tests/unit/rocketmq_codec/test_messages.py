"""Messages and their ids, as bytes and back."""

import datetime
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braidmq.model import PARTITION_NUMBER_MAX
from braidmq.protocols.rocketmq.codec import BatchedMessage, Host, MalformedMessage, StoredMessage, Unencodable
from braidmq.protocols.rocketmq.codec.ids import (
    OFFSET_MAX,
    OffsetId,
    UniqueId,
    ms_of_month,
    physical_offset,
    read_offset_id,
    read_unique_id,
    split_physical_offset,
    write_offset_id,
    write_unique_id,
)
from braidmq.protocols.rocketmq.codec.messages import (
    decode_batch,
    decode_message,
    decode_messages,
    encode_batch,
    encode_message,
    read_properties,
    write_properties,
)
from unit.rocketmq_codec.strategies import BATCHED, HOSTS, LONGS, PROPERTY_NAMES, PROPERTY_VALUES, stored_messages


@given(message=stored_messages())
def test_a_message_that_was_written_is_read_again(message: StoredMessage) -> None:
    assert decode_message(encode_message(message)) == message


@given(messages=st.lists(stored_messages(), max_size=4))
def test_messages_of_an_answer_are_read_one_after_the_other(messages: list[StoredMessage]) -> None:
    assert decode_messages(b"".join(map(encode_message, messages))) == messages


@given(batch=st.lists(BATCHED, max_size=5))
def test_a_batch_that_was_written_is_read_again(batch: list[BatchedMessage]) -> None:
    assert decode_batch(encode_batch(batch)) == batch


def test_a_batch_of_too_many_messages_is_refused() -> None:
    data = encode_batch([BatchedMessage(body=b"")] * 4)
    assert len(decode_batch(data, messages_max=4)) == 4
    with pytest.raises(MalformedMessage, match="more than 3 messages"):
        decode_batch(data, messages_max=3)


def test_the_fields_stand_where_clients_look_for_them() -> None:
    message = StoredMessage(topic="topic", body=b"body", properties="a\x01b\x02", physical_offset=5, store_ms=6)
    data = encode_message(message)
    assert len(data) == 91 + len("topic") + len("body") + len("a\x01b\x02") == int.from_bytes(data[:4])
    assert data[4:8].hex() == "daa320a7"
    assert int.from_bytes(data[8:12]) == zlib.crc32(b"body") & 0x7FFFFFFF
    assert (int.from_bytes(data[28:36]), int.from_bytes(data[56:64])) == (5, 6)
    assert encode_message(StoredMessage(topic="t" * 128, body=b""))[4:8].hex() == "daa320ab"


def test_the_bits_for_addresses_follow_the_addresses() -> None:
    message = StoredMessage(topic="t", body=b"", sys_flag=0x18, store_host=Host.of("::1", 1))
    assert decode_message(encode_message(message)).sys_flag == 0x28


@pytest.mark.parametrize(
    "message",
    [
        StoredMessage(topic="t" * 70_000, body=b""),
        StoredMessage(topic="t", body=b"", properties="x" * 32_768),
        StoredMessage(topic="t", body=b"", queue_id=1 << 31),
    ],
    ids=["topic", "properties", "queue"],
)
def test_what_does_not_fit_is_not_written(message: StoredMessage) -> None:
    with pytest.raises(Unencodable):
        encode_message(message)


def test_a_batched_message_with_too_many_properties_is_not_written() -> None:
    with pytest.raises(Unencodable):
        encode_batch([BatchedMessage(body=b"", properties="x" * 32_768)])


@given(message=stored_messages(), data=st.data())
def test_a_message_that_is_cut_or_continued_is_refused(message: StoredMessage, data: st.DataObject) -> None:
    whole = encode_message(message)
    with pytest.raises(MalformedMessage):
        decode_message(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(MalformedMessage):
        decode_message(whole + b"x")


@given(properties=st.dictionaries(PROPERTY_NAMES, PROPERTY_VALUES))
def test_properties_that_were_written_are_read_again(properties: dict[str, str]) -> None:
    assert read_properties(write_properties(properties)) == properties


def test_whatever_is_no_property_is_passed_over() -> None:
    assert read_properties("a\x01b") == {"a": "b"}
    assert read_properties("\x02\x02a\x01b\x02nothing\x02\x01c\x02a\x01d\x01e\x02") == {"a": "d\x01e"}
    assert read_properties("") == {}


@pytest.mark.parametrize("properties", [{"": "a"}, {"a\x01": "b"}, {"a": "b\x02"}, {"a\x02b": "c"}])
def test_properties_with_separators_are_not_written(properties: dict[str, str]) -> None:
    with pytest.raises(Unencodable):
        write_properties(properties)


@given(number=st.integers(0, PARTITION_NUMBER_MAX), offset=st.integers(0, OFFSET_MAX))
def test_a_physical_offset_is_a_partition_and_an_offset(number: int, offset: int) -> None:
    physical = physical_offset(number, offset)
    assert 0 <= physical < 1 << 63
    assert split_physical_offset(physical) == (number, offset)


@pytest.mark.parametrize(("number", "offset"), [(-1, 0), (0, -1), (PARTITION_NUMBER_MAX + 1, 0), (0, OFFSET_MAX + 1)])
def test_what_is_no_place_has_no_physical_offset(number: int, offset: int) -> None:
    with pytest.raises(Unencodable):
        physical_offset(number, offset)


@pytest.mark.parametrize("physical", [-1, 1 << 63])
def test_what_is_no_physical_offset_is_refused(physical: int) -> None:
    with pytest.raises(MalformedMessage):
        split_physical_offset(physical)


@given(host=HOSTS, physical=LONGS)
def test_an_offset_id_that_was_written_is_read_again(host: Host, physical: int) -> None:
    text = write_offset_id(host, physical)
    assert len(text) == (56 if host.is_ipv6 else 32)
    assert read_offset_id(text) == OffsetId(host, physical)
    assert read_offset_id(text.lower()) == OffsetId(host, physical)


def test_an_offset_id_looks_as_rocketmq_writes_it() -> None:
    assert write_offset_id(Host.of("192.168.7.9", 10911), 0xABCDEF) == "C0A8070900002A9F0000000000ABCDEF"


@given(unique=st.builds(UniqueId, st.binary(min_size=4, max_size=4), *(st.integers(0, 0xFFFF) for _ in range(4))))
def test_a_unique_id_that_was_written_is_read_again(unique: UniqueId) -> None:
    assert read_unique_id(write_unique_id(unique)) == unique


def test_numbers_of_a_unique_id_wrap() -> None:
    assert read_unique_id(write_unique_id(UniqueId(bytes(4), 65_536 + 5, -1, 7, 65_536))) == (
        bytes(4),
        5,
        0xFFFFFFFF,
        7,
        0,
    )


@pytest.mark.parametrize("text", ["", "x" * 32, "0" * 31, "0" * 30 + "  ", " " * 32, "é" * 32, "01" * 17])
def test_what_is_no_id_is_refused(text: str) -> None:
    for read in (read_offset_id, read_unique_id):
        with pytest.raises(MalformedMessage):
            read(text)


def test_the_time_in_a_unique_id_counts_from_the_beginning_of_the_month() -> None:
    time = datetime.datetime(2026, 3, 2, 0, 0, 1, 500_000, datetime.UTC)
    assert ms_of_month(int(time.timestamp() * 1000)) == 86_400_000 + 1_500


@pytest.mark.parametrize(
    ("address", "meant"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("fe80::1%eth0", "fe80::1"),
        ("broker.local", ".".join("0000")),
    ],
)
def test_an_address_is_what_a_message_can_carry(address: str, meant: str) -> None:
    assert Host.of(address, 1).address == meant
