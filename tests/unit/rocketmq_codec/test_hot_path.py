"""The shortcuts of the hot path say the same as the general way, or leave it to that."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from braidmq.protocols.rocketmq.codec import (
    REQUEST_HEADERS,
    RESPONSE_FLAG,
    Command,
    Host,
    MalformedFrame,
    MalformedHeader,
    RequestCode,
    StoredMessage,
    decode_command,
    decode_request,
    encode_command,
    fields_of,
    message_of,
    read_header,
    read_raw_header,
    stored_message,
)
from braidmq.protocols.rocketmq.codec.delivered import encode_record
from braidmq.protocols.rocketmq.codec.headers import SendMessageRequestHeaderV2
from braidmq.protocols.rocketmq.codec.messages import decode_message, encode_message, read_properties
from braidmq.protocols.rocketmq.codec.sent import encode_sent
from braidmq.records import batch_messages, read_records, record_message
from unit.rocketmq_codec.strategies import COMMANDS, stored_messages
from unit.rocketmq_codec.test_frames import json_frame

SEND = {
    "a": "group",
    "b": "orders",
    "c": "TBW102",
    "d": "4",
    "e": "1",
    "f": "0",
    "g": "1700000000000",
    "h": "0",
    "i": "KEYS\x01k\x02",
    "j": "0",
    "k": "false",
    "m": "false",
    "n": "node-1",
}


def by_name(fields: bytes | dict[str, str]) -> dict[str, str]:
    return fields_of(fields) if isinstance(fields, bytes) else fields


@given(command=COMMANDS)
def test_a_request_is_the_command_and_its_fields(command: Command) -> None:
    frame = encode_command(command)[4:]
    whole = decode_command(frame)
    request, fields = decode_request(frame)
    assert by_name(fields) == whole.fields
    request.fields = whole.fields
    if not whole.is_response:
        request.remark = whole.remark  # nobody reads the remark of a request
    assert request == whole


@given(frame=st.binary(max_size=200))
def test_what_is_no_frame_is_no_request(frame: bytes) -> None:
    try:
        whole = decode_command(frame)
    except MalformedFrame:
        with pytest.raises(MalformedFrame):
            decode_request(frame)
    else:
        assert decode_request(frame)[0].code == whole.code


@pytest.mark.parametrize("header", ['{"code":34}', '{"code":34,"extFields":null}', '{"code":34,"extFields":{}}'])
def test_a_request_without_fields_has_none(header: str) -> None:
    _, fields = decode_request(json_frame(header))
    assert by_name(fields) == {}


@pytest.mark.parametrize("code", list(REQUEST_HEADERS))
def test_a_header_is_the_same_from_text_and_by_name(code: RequestCode) -> None:
    kind = REQUEST_HEADERS[code]
    fields = {field.encode_name: "1" for field in msgspec.structs.fields(kind)} | {"unknown": "x"}
    try:
        expected = read_header(kind, fields)
    except MalformedHeader:
        assert read_raw_header(kind, msgspec.json.encode(fields)) is None
    else:
        assert read_raw_header(kind, msgspec.json.encode(fields)) == expected


@pytest.mark.parametrize("raw", [b"", b"null", b"[]", b"{", b'{"a":1}', b"\xff", msgspec.json.encode({"e": "x"})])
def test_what_is_no_header_is_left_to_the_general_way(raw: bytes) -> None:
    assert read_raw_header(SendMessageRequestHeaderV2, raw) is None


def test_a_send_is_read_from_its_text() -> None:
    header = read_raw_header(SendMessageRequestHeaderV2, msgspec.json.encode(SEND))
    assert header == read_header(SendMessageRequestHeaderV2, SEND)
    assert header is not None
    assert (header.queue_id, header.born_timestamp, header.unit_mode) == (1, 1_700_000_000_000, False)


@given(
    opaque=st.integers(0, 2**31 - 1),
    offset=st.integers(0, 2**40 - 1),
    queue_id=st.integers(0, 9_999),
    unique_id=st.text(max_size=40),
)
def test_the_answer_to_a_send_is_the_same_in_short(opaque: int, offset: int, queue_id: int, unique_id: str) -> None:
    written = encode_sent(opaque, 479, "DefaultRegion", "7F00AB", queue_id, offset, unique_id)
    fields = {
        "msgId": "7F00AB",
        "queueId": str(queue_id),
        "queueOffset": str(offset),
        "transactionId": unique_id,
        "MSG_REGION": "DefaultRegion",
        "TRACE_ON": "true",
    }
    general = Command(code=0, opaque=opaque, flag=RESPONSE_FLAG, version=479, fields=fields)
    if unique_id.isascii() and unique_id.isalnum():
        assert written == encode_command(general)
    else:
        assert written is None


@given(sent=stored_messages())
def test_a_record_becomes_the_same_message_in_short(sent: StoredMessage) -> None:
    sent.born_ms %= 1 << 45
    sent.topic = "orders"
    (record,) = read_records(batch_messages([message_of(sent)]))
    for store_host in (Host.of("10.0.0.9", 10911), Host.of("::1", 10911)):
        written = encode_record(record, b"orders", 3, 77, store_host, b"")
        general = stored_message(
            record_message(record, "orders", 3), queue_id=3, physical_offset=77, store_host=store_host
        )
        assert written is None or written == encode_message(general)


def test_nearly_all_records_take_the_short_way() -> None:
    sent = StoredMessage(topic="orders", body=b"x", properties="TAGS\x01A\x02UNIQ_KEY\x01B\x02", born_ms=5)
    (record,) = read_records(batch_messages([message_of(sent)]))
    written = encode_record(record, b"orders", 0, 0, Host.of("127.0.0.1", 1), b"CLUSTER\x01c\x02")
    assert written is not None
    assert read_properties(decode_message(written).properties) == {"TAGS": "A", "UNIQ_KEY": "B", "CLUSTER": "c"}
