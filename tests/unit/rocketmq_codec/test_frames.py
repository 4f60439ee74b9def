"""Frames of RocketMQ: what is written is read again, and what clients really send is read as they mean it."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braidmq.protocols.rocketmq.codec import (
    Audience,
    Command,
    Language,
    MalformedFrame,
    RequestCode,
    Serialization,
    Unencodable,
    decode_command,
    encode_command,
    encode_head,
    frame_end,
    wrapped_code,
)
from unit.rocketmq_codec.strategies import COMMANDS


def json_frame(header: str | bytes, body: bytes = b"") -> bytes:
    data = header.encode() if isinstance(header, str) else header
    return struct.pack(">I", len(data)) + data + body


def binary_frame(header: bytes) -> bytes:
    return struct.pack(">I", 1 << 24 | len(header)) + header


@given(command=COMMANDS)
def test_a_command_that_was_written_is_read_again(command: Command) -> None:
    frame = encode_command(command)
    assert frame_end(frame, 0) == len(frame)
    assert decode_command(frame[4:]) == command


@given(commands=st.lists(COMMANDS, min_size=1, max_size=4), data=st.data())
def test_frames_are_found_one_after_the_other_and_only_when_they_are_whole(
    commands: list[Command], data: st.DataObject
) -> None:
    frames = [encode_command(command) for command in commands]
    stream = b"".join(frames)
    cut = data.draw(st.integers(0, len(stream)))
    found, start = [], 0
    while (end := frame_end(memoryview(stream)[:cut], start)) is not None:
        found.append(decode_command(stream[start + 4 : end]))
        start = end
    whole = [sum(map(len, frames[: n + 1])) <= cut for n in range(len(frames))]
    assert found == commands[: sum(whole)]


def test_the_head_of_a_frame_counts_a_body_that_is_sent_apart() -> None:
    command = Command(code=0, opaque=1, flag=1, body=b"1234")
    assert encode_head(command, 4) + b"1234" == encode_command(command)


@pytest.mark.parametrize("length", [-1, 0, 3, 1001, 1 << 31 - 1])
def test_a_length_that_cannot_be_is_refused_before_the_rest_arrives(length: int) -> None:
    with pytest.raises(MalformedFrame):
        frame_end(struct.pack(">i", length), 0, frame_bytes_max=1000)


def test_a_header_beyond_the_limit_is_refused() -> None:
    frame = encode_command(Command(code=1, fields={"a": "x" * 1000}))[4:]
    assert decode_command(frame).fields["a"]
    with pytest.raises(MalformedFrame, match="at most 500"):
        decode_command(frame, header_bytes_max=500)


@pytest.mark.parametrize(
    "header",
    [
        '{"code":105,"opaque":7,"flag":0,"language":"JAVA","version":399,"extFields":{"topic":"t"}}',
        '{"code":105,"opaque":7,"flag":0,"language":"JAVA","version":399,"extFields":{"topic":"t"},"unknown":{"a":[1]}}',
        '{"code":105,"opaque":7,"flag":0,"language":"JAVA","version":399,"extFields":{"topic":"t","b":null},"remark":null}',
        '{"opaque":7,"code":105,"version":399,"extFields":{"topic":"t",}}',
        "{'code':'105',opaque:7,\"version\":399,extFields:{topic:'t'}}",
        '{"code":105,"opaque":7,"flag":0,"language":0,"version":399,"extFields":{"topic":"t"}}',
        ' {"code":105,"opaque":7,"version":399,"language":null,"extFields":{"topic":"t"}} \n',
    ],
)
def test_a_json_header_is_read_in_all_the_forms_that_clients_write(header: str) -> None:
    command = decode_command(json_frame(header, b"body"))
    assert (command.code, command.opaque, command.flag, command.version) == (105, 7, 0, 399)
    assert (command.fields, command.body, command.remark) == ({"topic": "t"}, b"body", None)


def test_fields_that_are_no_text_become_the_text_that_java_would_make_of_them() -> None:
    command = decode_command(
        json_frame('{"code":1,"extFields":{"a":1,"b":true,"c":-2.5,"d":{"x":"y"},"e":"","f":[1]}}')
    )
    assert command.fields == {"a": "1", "b": "true", "c": "-2.5", "d": '{"x":"y"}', "e": "", "f": "[1]"}


@pytest.mark.parametrize("fields", ["null", "{}"])
def test_no_fields_are_an_empty_map(fields: str) -> None:
    assert decode_command(json_frame(f'{{"code":1,"extFields":{fields}}}')).fields == {}
    assert decode_command(json_frame('{"code":1}')).fields == {}


def test_separators_of_properties_are_read_escaped_and_raw() -> None:
    for text in (rb"TAGS\u0001a\u0002", b"TAGS\x01a\x02", rb"TAGS\1a\2", rb"TAGS\x01a\x02"):
        assert (
            decode_command(json_frame(b'{"code":310,"extFields":{"i":"' + text + b'"}}')).fields["i"] == "TAGS\x01a\x02"
        )


def test_bytes_that_are_no_text_are_replaced_and_not_refused() -> None:
    assert decode_command(json_frame(b'{"code":1,"remark":"\xff"}')).remark == "\ufffd"
    assert decode_command(json_frame(rb'{"code":1,"remark":"\ud800x"}')).remark == "\ufffdx"
    assert decode_command(json_frame(rb'{"code":1,"remark":"\ud83d\ude00\v"}')).remark == "\U0001f600\v"


def test_a_language_that_is_not_known_is_another_one() -> None:
    assert decode_command(json_frame('{"code":1,"language":"COBOL"}')).language is Language.OTHER
    assert decode_command(binary_frame(struct.pack(">hBhiiii", 1, 99, 0, 0, 0, 0, 0))).language is Language.OTHER


@pytest.mark.parametrize("code", [code for code in RequestCode if code > 0x7FFF])
def test_codes_that_do_not_fit_sixteen_bits_are_unwrapped_in_requests(code: RequestCode) -> None:
    binary = Command(code=code, serialization=Serialization.ROCKETMQ)
    assert decode_command(encode_command(binary)[4:]).code == code
    assert decode_command(json_frame(f'{{"code":{wrapped_code(code)}}}')).code == code
    assert decode_command(json_frame(f'{{"code":{wrapped_code(code)},"flag":1}}')).code == wrapped_code(code)


def test_nobody_else_has_a_wrapped_code() -> None:
    assert not {wrapped_code(code) for code in RequestCode if code > 0x7FFF} & set(RequestCode)


def test_empty_texts_of_a_binary_header_are_null() -> None:
    command = Command(code=1, fields={"a": "", "b": "x"}, remark="", serialization=Serialization.ROCKETMQ)
    back = decode_command(encode_command(command)[4:])
    assert (back.fields, back.remark) == ({"b": "x"}, None)


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\0\0\0",
        b"\0\0\0\x01",
        b"\x02\0\0\0",
        json_frame(""),
        json_frame("[]"),
        json_frame("{}"),
        json_frame("null"),
        json_frame('{"code":"x"}'),
        json_frame('{"code":2147483648}'),
        json_frame('{"code":1,"opaque":1e99}'),
        json_frame('{"code":1,"extFields":[]}'),
        json_frame('{"code":1} x'),
        json_frame('{"code":' + "9" * 5000 + "}"),
        json_frame('{"code":1,"x":' + "[" * 100_000 + "}"),
        json_frame('{"code":1,"extFields":{{"a":1}:2}}'),
        binary_frame(b""),
        binary_frame(bytes(20)),
        binary_frame(struct.pack(">hBhiii", 1, 0, 0, 0, 0, -1)),
        binary_frame(struct.pack(">hBhiii", 1, 0, 0, 0, 0, 1 << 30)),
        binary_frame(struct.pack(">hBhiiii", 1, 0, 0, 0, 0, 0, 1 << 30)),
        binary_frame(struct.pack(">hBhiiiih", 1, 0, 0, 0, 0, 0, 2, -1)),
        binary_frame(struct.pack(">hBhiiiihi", 1, 0, 0, 0, 0, 0, 6, 0, 9)),
    ],
)
def test_whatever_is_no_frame_is_refused(frame: bytes) -> None:
    with pytest.raises(MalformedFrame):
        decode_command(frame)


@pytest.mark.parametrize(
    "command",
    [
        Command(code=1, remark="\ud800"),
        Command(code=1, version=1 << 20, serialization=Serialization.ROCKETMQ),
        Command(code=1, fields={"x" * 40_000: "y"}, serialization=Serialization.ROCKETMQ),
        Command(code=1, opaque=1 << 40, serialization=Serialization.ROCKETMQ),
        Command(code=1, fields={"a": "x" * (1 << 24)}),
    ],
    ids=["surrogate", "version", "name", "opaque", "header"],
)
def test_what_does_not_fit_is_not_written(command: Command) -> None:
    with pytest.raises(Unencodable):
        encode_command(command)


def test_every_request_says_who_sends_it() -> None:
    assert RequestCode(310).audience is Audience.CLIENT
    assert RequestCode.UPDATE_AND_CREATE_TOPIC.audience is Audience.ADMIN
    assert RequestCode.REGISTER_BROKER.audience is Audience.PEER
    assert RequestCode["POP_MESSAGE"] == 200050
