"""Plain sends, many at once: what is read is what the general way reads of the same bytes, or it is left to that."""

import json
import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from braidmq.core.delivery import pack, packed_for_later
from braidmq.model import GROUP_HEADER, HTTP_HEADER, ROCKETMQ_HEADER
from braidmq.protocols.rocketmq._deferred import half_id_of_numbers, kept_of_half, may_be_deferred
from braidmq.protocols.rocketmq._plain_sends import PLAIN
from braidmq.protocols.rocketmq.codec import (
    ONEWAY_FLAG,
    RESPONSE_FLAG,
    Command,
    Host,
    RequestCode,
    decode_request,
    encode_command,
    fields_of,
    read_header,
)
from braidmq.protocols.rocketmq.codec.headers import (
    EndTransactionRequestHeader,
    SendMessageRequestHeaderV2,
    TransactionEnd,
)
from braidmq.protocols.rocketmq.codec.mapping import make_message
from braidmq.protocols.rocketmq.codec.messages import read_properties, write_properties
from braidmq.records import Packed, batch_messages, batch_packed

NAME = "braidmq.protocols.rocketmq.codec._sends"
HOST = Host.of("10.0.0.9", 40123)
STORE_MS = 1_700_000_000_777
FRAME_BYTES_MAX = 1 << 24
PROPERTIES = "KEYS\x01k1 k2\x02UNIQ_KEY\x01A1B2\x02TAGS\x01pay\x02WAIT\x01true\x02"
SEND = {
    "a": "group",
    "b": "orders",
    "c": "TBW102",
    "d": "4",
    "e": "1",
    "f": "0",
    "g": "1700000000000",
    "h": "0",
    "i": PROPERTIES,
    "j": "0",
    "k": "false",
    "m": "false",
    "n": "node-1",
}
HALF = "TRAN_MSG\x01true\x02UNIQ_KEY\x01H1\x02PGROUP\x01payers\x02"
WORD = {
    "producerGroup": "payers",
    "tranStateTableOffset": "123456789012345678",
    "commitLogOffset": "9223372036854775807",
    "commitOrRollback": "8",
    "fromTransactionCheck": "false",
    "msgId": "H1",
    "transactionId": "H1",
    "bname": "node-1",
}

RequireCompiled = Callable[[str], ModuleType]


@pytest.fixture(scope="module")
def sends(require_compiled: RequireCompiled) -> ModuleType:
    return require_compiled(NAME)


def frame(
    fields: Mapping[str, object], body: bytes = b"body", header: Mapping[str, object] = MappingProxyType({})
) -> bytes:
    """A send as Java writes it, with its length."""
    whole = {"extFields": fields, "flag": 0, "language": "JAVA", "opaque": 5, "serializeTypeCurrentRPC": "JSON"}
    text = PLAIN[0] + json.dumps({**whole, "version": 479, **header}, separators=(",", ":")).encode()[1:]
    return struct.pack(">iI", 4 + len(text) + len(body), len(text)) + text + body


def send(body: bytes = b"body", opaque: int = 5, **fields: object) -> bytes:
    return frame({**SEND, **fields}, body, {"opaque": opaque})


def read(sends: ModuleType, data: bytes, position: int = 0) -> tuple[int, list[Any]]:
    """Where reading ended, and the sends; there must not be any words."""
    end, groups, words = sends.read_sends(data, position, FRAME_BYTES_MAX, STORE_MS, *HOST)
    assert words == []
    return end, groups


def read_words(sends: ModuleType, data: bytes) -> tuple[int, list[Any]]:
    end, groups, words = sends.read_sends(data, 0, FRAME_BYTES_MAX, STORE_MS, *HOST)
    assert groups == []
    return end, words


def check_as_in_general(group: Any) -> None:
    """What was read is what the general way makes of each of the frames."""
    messages = []
    for nth, whole in enumerate(group.frames()):
        request, raw = decode_request(whole)
        header = read_header(SendMessageRequestHeaderV2, fields_of(raw) if isinstance(raw, bytes) else raw)
        assert (request.code, request.flag, request.opaque) == (RequestCode.SEND_MESSAGE_V2, 0, group.opaque(nth))
        assert (header.topic, header.queue_id) == (group.topic, group.queue_id)
        assert not header.batch
        assert not header.reconsume_times
        assert may_be_deferred(header.properties or "") == group.are_halves
        properties, sys_flag = header.properties or "", header.sys_flag
        if group.are_halves:
            kept, sys_flag = kept_of_half(
                read_properties(properties), sys_flag, header.topic, header.queue_id, header.producer_group
            )
            properties = write_properties(kept)
        message = make_message(
            properties,
            request.body,
            header.born_timestamp,
            flag=header.flag,
            sys_flag=sys_flag,
            store_ms=STORE_MS,
            born_host=HOST,
        )
        assert message.id
        assert len(request.body) <= group.body_bytes_max
        assert group.has_sharding_key or message.sharding_key is None
        messages.append(message)
    if group.are_halves:
        assert [message.header(GROUP_HEADER) for message in messages] == [each.encode() for each in group.groups]
        assert [message.id for message in messages] == [group.message_id(nth) for nth in range(len(group))]
        assert list(map(packed_for_later, group.contents, group.times)) == list(map(pack, messages))
    else:
        assert batch_packed([Packed(group.contents, group.times)]) == batch_messages(messages)


# What Java's producers send.


def test_sends_that_came_together_are_read_together_by_queue(sends: ModuleType) -> None:
    data = b"".join(send(b"%d" % nth, nth, e=str(nth % 3)) for nth in range(10))
    end, groups = read(sends, data)
    assert end == len(data)
    assert [(group.topic, group.queue_id, len(group)) for group in groups] == [
        ("orders", 0, 4),
        ("orders", 1, 3),
        ("orders", 2, 3),
    ]
    assert sum(group.frame_bytes for group in groups) == len(data) - 4 * 10
    for group in groups:
        check_as_in_general(group)


def test_reading_begins_at_a_position_and_ends_before_what_is_not_whole(sends: ModuleType) -> None:
    data = b"###" + send() + send()[:-1]
    end, groups = read(sends, data, 3)
    assert (end, len(groups[0])) == (3 + len(send()), 1)


@pytest.mark.parametrize("cut", [0, 1, 7, 8, 20])
def test_what_is_not_whole_is_left_alone(sends: ModuleType, cut: int) -> None:
    assert read(sends, send()[:cut]) == (0, [])


def test_each_of_several_can_be_had_alone(sends: ModuleType) -> None:
    (group,) = read(sends, send(b"a", 1) + send(b"bb", 2))[1]
    alone = group.alone()
    assert [(len(one), one.opaque(0), one.frames()) for one in alone] == [
        (1, 1, [send(b"a", 1)[4:]]),
        (1, 2, [send(b"bb", 2)[4:]]),
    ]
    assert [one.frame_bytes for one in alone] == [len(send(b"a", 1)) - 4, len(send(b"bb", 2)) - 4]
    for one in alone:
        check_as_in_general(one)


@pytest.mark.parametrize(
    "fields",
    [
        {"i": PROPERTIES.removesuffix("\x02")},
        {"i": PROPERTIES + "имя\x01значение 🧾".removesuffix(" 🧾") + "\x02"},
        {"i": "UNIQ_KEY\x01A\x02KEYS\x01\u2003первый второй\x02"},
        {"i": "UNIQ_KEY\x01A\x02KEYS\x01 \x1c x y\x02"},
        {"i": "UNIQ_KEY\x01A\x02KEYS\x01  \x02"},
        {"i": "UNIQ_KEY\x01A\x02KEYS\x01\x02"},
        {"i": "UNIQ_KEY\x01A\x02__SHARDINGKEY\x01user 7\x02KEYS\x01k\x02"},
        {"i": "UNIQ_KEY\x01A\x02__SHARDINGKEY\x01\x02KEYS\x01k\x02"},
        {"i": 'UNIQ_KEY\x01A\x02say\x01"quoted" \\ / \b\f\n\r\t\x7f\x02'},
        {"f": "10", "h": "-77", "g": "0"},
        {"l": "16", "k": "true", "bname": "node-1", "unknown": "x"},
    ],
)
def test_what_producers_say_is_understood_without_a_detour(sends: ModuleType, fields: dict[str, str]) -> None:
    data = frame({**SEND, **fields})
    end, groups = read(sends, data)
    assert end == len(data)
    check_as_in_general(groups[0])


@pytest.mark.parametrize(
    "fields",
    [
        {"i": HALF},
        {"i": HALF + "KEYS\x01k1 k2\x02TAGS\x01pay\x02a\x01b\x02"},
        {"i": "UNIQ_KEY\x01A\x02__SHARDINGKEY\x01user 7\x02" + HALF.replace("UNIQ_KEY\x01H1\x02", "")},
        {"i": HALF, "f": "4", "h": "3", "g": "17"},
        {"i": HALF, "f": "0"},
    ],
)
def test_halves_are_understood_without_a_detour(sends: ModuleType, fields: dict[str, str]) -> None:
    data = frame({**SEND, **fields})
    end, (group,) = read(sends, data)
    assert end == len(data)
    assert group.are_halves
    check_as_in_general(group)


def test_halves_and_other_messages_for_one_queue_stay_apart(sends: ModuleType) -> None:
    several = [send(b"a", 1), send(b"h", 2, i=HALF), send(b"b", 3), send(b"i", 4, i=HALF)]
    end, groups = read(sends, b"".join(several))
    assert end == sum(map(len, several))
    assert [(group.are_halves, len(group)) for group in groups] == [(False, 2), (True, 2)]
    for group in groups:
        check_as_in_general(group)


def test_an_empty_body_is_a_body(sends: ModuleType) -> None:
    (group,) = read(sends, send(b""))[1]
    check_as_in_general(group)


# What is left to the general way.


@pytest.mark.parametrize(
    "fields",
    [
        {"i": ""},
        {"i": "KEYS\x01k\x02"},
        {"i": "UNIQ_KEY\x01no letters\x02"},
        {"i": "UNIQ_KEY\x01\x02"},
        {"i": PROPERTIES + "DELAY\x013\x02"},
        {"i": PROPERTIES + "TIMER_DELIVER_MS\x015\x02"},
        {"i": PROPERTIES + "TRAN_MSG\x01true\x02"},
        {"i": HALF + "TRAN_MSG\x01true\x02"},
        {"i": HALF.replace("true", "True", 1)},
        {"i": HALF.replace("true", "false", 1)},
        {"i": HALF + "CHECK_IMMUNITY_TIME_IN_SECONDS\x019\x02"},
        {"i": HALF + "REAL_TOPIC\x01other\x02"},
        {"i": HALF + "REAL_QID\x010\x02"},
        {"i": HALF + "DELAY\x013\x02"},
        {"i": PROPERTIES + "REPLY_TO_CLIENT\x01me\x02"},
        {"i": PROPERTIES + "TAGS\x01twice\x02"},
        {"i": PROPERTIES + "RECONSUME_TIME\x011\x02"},
        {"i": PROPERTIES + ROCKETMQ_HEADER + "\x01x\x02"},
        {"i": PROPERTIES + HTTP_HEADER + "\x01x\x02"},
        {"i": PROPERTIES + "\x01x\x02"},
        {"i": PROPERTIES + "\x02"},
        {"i": PROPERTIES + "a\x01b\x01c\x02"},
        {"i": PROPERTIES + "".join(f"p{nth}\x01v\x02" for nth in range(40))},
        {"i": PROPERTIES + "long\x01" + "x" * 5000 + "\x02"},
        {"i": PROPERTIES + "pair\x01\U0001f9fe\x02"},
        {"i": None},
        {"b": ""},
        {"b": "%RETRY%group"},
        {"b": "тема"},
        {"e": "-1"},
        {"e": "x"},
        {"e": 1},
        {"f": "1"},
        {"f": "16"},
        {"g": "-1"},
        {"g": "9223372036854775807"},
        {"h": "2147483648"},
        {"j": "1"},
        {"m": "true"},
        {"k": "perhaps"},
        {"lo": "true"},
        {"d": "04"},
    ],
)
def test_what_is_not_plain_is_left_to_the_general_way(sends: ModuleType, fields: dict[str, object]) -> None:
    odd = frame({**SEND, **fields})
    assert read(sends, odd) == (0, [])
    end, groups = read(sends, send() + odd + send())
    assert (end, len(groups)) == (len(send()), 1)


@pytest.mark.parametrize("missing", ["a", "b", "c", "d", "e", "f", "g", "h", "i"])
def test_a_send_that_lacks_something_is_left_to_the_general_way(sends: ModuleType, missing: str) -> None:
    assert read(sends, frame({name: value for name, value in SEND.items() if name != missing})) == (0, [])


@pytest.mark.parametrize(
    "header", [{"flag": 2}, {"flag": 1}, {"opaque": 1 << 31}, {"opaque": "5"}, {"version": 1.5}, {"extFields": None}]
)
def test_a_header_with_something_odd_in_it_is_left_to_the_general_way(
    sends: ModuleType, header: dict[str, object]
) -> None:
    assert read(sends, frame(SEND, header=header)) == (0, [])


@pytest.mark.parametrize(
    ("found", "instead"),
    [
        (b'{"code":310,', b'{"code":311,'),
        (b'{"code":310,', b'{"code":310,"code":310,'),
        (b'"flag":0', b'"flag":0,"flag":2'),
        (b'"e":"1"', b'"e":"1","e":"2"'),
        (b'"b":"orders"', b'"b":"ord\\u0065rs"'),
        (b'"b":"orders"', b'"b":"ord\x01ers"'),
        (b'"b":"orders"', b'"b":"ord\xffers"'),
        (b'"a":"group"', b'"a":{"x":"y"}'),
        (b"\\u0001pay", b"\\u000gpay"),
        (b"\\u0001pay", b"\\xpay"),
        (b"\\u0001pay", b"\\u0001\xc3(pay"),
        (b"\\u0001pay", b"\\u0001\\ud83epay"),
        (b'"version":479}', b'"version":479} '),
        (b'"version":479}', b'"version":479'),
        (b'"version":479}', b'"version":479,}'),
        (b'"extFields":{', b'"extFields": {'),
    ],
)
def test_json_in_another_form_is_left_to_the_general_way(sends: ModuleType, found: bytes, instead: bytes) -> None:
    text = send(b"")[8:]
    assert found in text
    changed = text.replace(found, instead, 1)
    assert read(sends, struct.pack(">iI", 4 + len(changed), len(changed)) + changed) == (0, [])


@pytest.mark.parametrize(("length", "head"), [(-1, 0), (3, 0), (1 << 30, 10), (100, 1 << 24), (100, 97), (100, 0)])
def test_lengths_that_cannot_be_are_left_to_the_general_way(sends: ModuleType, length: int, head: int) -> None:
    assert read(sends, struct.pack(">iI", length, head) + send()[8:] * 2) == (0, [])


def test_frames_above_the_limit_are_left_to_the_general_way(sends: ModuleType) -> None:
    assert sends.read_sends(send(b"x" * 2000), 0, 1500, STORE_MS, *HOST) == (0, [], [])


# Whatever comes.

ODD_VALUES = st.one_of(
    st.sampled_from(["", "0", "1", "-1", "7.0", "true", "null", "x", "99999999999", " 1", "\x01", "\ud800"]),
    st.integers(-(2**40), 2**40),
    st.floats(),
    st.booleans(),
    st.none(),
    st.just([]),
)
PROPERTY_TEXTS = st.lists(
    st.tuples(
        st.one_of(
            st.sampled_from(
                [
                    "UNIQ_KEY",
                    "TRAN_MSG",
                    "PGROUP",
                    "KEYS",
                    "TAGS",
                    "__SHARDINGKEY",
                    "RECONSUME_TIME",
                    ROCKETMQ_HEADER,
                    "a",
                    "",
                ]
            ),
            st.text(max_size=4),
        ),
        st.one_of(
            st.sampled_from(["A1", "true", "", " ", "a b", "\u2003x", "\x1cy", "\x01", "\x02"]), st.text(max_size=6)
        ),
        st.sampled_from(["\x01"] * 12 + ["\x02", ""]),
        st.sampled_from(["\x02"] * 12 + ["\x01", ""]),
    ),
    max_size=6,
).map(lambda pairs: "".join(f"{name}{middle}{value}{end}" for name, value, middle, end in pairs))


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    """Sends as Java writes them, some of them with something odd in a place."""
    fields: dict[str, object] = {**SEND, "g": str(draw(st.integers(0, 2**62)))}
    fields["i"] = draw(
        st.sampled_from([PROPERTIES, HALF]) | PROPERTY_TEXTS.map(lambda text: f"UNIQ_KEY\x01Z9\x02{text}")
    )
    header: dict[str, object] = {"opaque": draw(st.integers(-(2**31), 2**31 - 1))}
    for place in (fields, header):
        for name in draw(st.lists(st.sampled_from([*place, "unknown"]), max_size=1)):
            place[name] = draw(ODD_VALUES)
    for name in draw(st.lists(st.sampled_from([*fields]), max_size=1)):
        if draw(st.booleans()):
            del fields[name]
    return frame(fields, draw(st.binary(max_size=20)), header)


@given(several=st.lists(frames(), min_size=1, max_size=4))
def test_sends_are_read_as_in_general_or_left_to_that(sends: ModuleType, several: list[bytes]) -> None:
    data = b"".join(several)
    end, groups = read(sends, data)
    starts = [sum(map(len, several[:nth])) for nth in range(len(several) + 1)]
    assert end in starts
    assert sum(map(len, groups)) == starts.index(end)
    for group in groups:
        check_as_in_general(group)


@given(data=st.binary(max_size=60), position=st.integers(0, 4))
def test_bytes_of_any_kind_do_no_harm(sends: ModuleType, data: bytes, position: int) -> None:
    end, groups = read(sends, data, position)
    assert (end, groups) == (position, [])


@given(at=st.integers(0, len(send()) - 1), byte=st.integers(0, 255))
@example(at=60, byte=0x22)
def test_a_send_with_one_byte_changed_is_read_as_in_general_or_left_to_that(
    sends: ModuleType, at: int, byte: int
) -> None:
    changed = bytearray(send())
    changed[at] = byte
    _, groups = read(sends, bytes(changed))
    for group in groups:
        check_as_in_general(group)


# Words on halves.


def word(header: Mapping[str, object] = MappingProxyType({}), **fields: object) -> bytes:
    """A word as Java says it, with its length."""
    whole = {"extFields": {**WORD, **fields}, "flag": 2, "language": "JAVA", "opaque": 5, "version": 479, **header}
    text = PLAIN[1] + json.dumps(whole, separators=(",", ":")).encode()[1:]
    return struct.pack(">iI", 4 + len(text), len(text)) + text


def check_word_as_in_general(data: bytes, found: tuple[int, int, bool, str, bool, int, int]) -> None:
    first, second, is_commit, group, is_asked, begin, end = found
    request, raw = decode_request(data[begin:end])
    assert (request.code, request.flag, request.body) == (RequestCode.END_TRANSACTION, ONEWAY_FLAG, b"")
    header = read_header(EndTransactionRequestHeader, fields_of(raw) if isinstance(raw, bytes) else raw)
    assert (header.tran_state_table_offset, header.commit_log_offset) == (first, second)
    assert half_id_of_numbers(first, second).int == first << 64 | second
    assert (header.commit_or_rollback is TransactionEnd.COMMIT) == is_commit
    assert (header.producer_group, header.from_transaction_check) == (group, is_asked)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"commitOrRollback": "12"},
        {"fromTransactionCheck": "true"},
        {"tranStateTableOffset": "0", "commitLogOffset": "7"},
        {"topic": "orders"},
    ],
)
def test_words_are_understood_without_a_detour(sends: ModuleType, fields: dict[str, str]) -> None:
    data = word({}, **fields) * 2
    end, words = read_words(sends, data)
    assert (end, len(words)) == (len(data), 2)
    for found in words:
        check_word_as_in_general(data, found)
    assert words[0][2] is (fields.get("commitOrRollback", "8") == "8")


@pytest.mark.parametrize(
    ("header", "fields"),
    [
        ({"flag": 0}, {}),
        ({"extFields": None}, {}),
        ({}, {"commitLogOffset": "9223372036854775808"}),
        ({}, {"tranStateTableOffset": "99999999999999999999"}),
        ({}, {"tranStateTableOffset": "-1"}),
        ({}, {"commitLogOffset": "x"}),
        ({}, {"commitLogOffset": 7}),
        ({}, {"commitOrRollback": "0"}),
        ({}, {"commitOrRollback": "3"}),
        ({}, {"fromTransactionCheck": "perhaps"}),
        ({}, {"producerGroup": "группа"}),
    ],
)
def test_a_word_that_is_not_plain_is_left_to_the_general_way(
    sends: ModuleType, header: dict[str, object], fields: dict[str, object]
) -> None:
    assert read_words(sends, word(header, **fields)) == (0, [])


@pytest.mark.parametrize("missing", ["producerGroup", "tranStateTableOffset", "commitLogOffset", "commitOrRollback"])
def test_a_word_that_lacks_something_is_left_to_the_general_way(sends: ModuleType, missing: str) -> None:
    fields = {name: value for name, value in WORD.items() if name != missing}
    assert read_words(sends, word({"extFields": fields})) == (0, [])


@given(at=st.integers(0, len(word()) - 1), byte=st.integers(0, 255))
def test_a_word_with_one_byte_changed_is_read_as_in_general_or_left_to_that(
    sends: ModuleType, at: int, byte: int
) -> None:
    changed = bytearray(word())
    changed[at] = byte
    _, words = read_words(sends, bytes(changed))
    for found in words:
        check_word_as_in_general(bytes(changed), found)


# Answers.


@given(
    opaques=st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=4),
    offset=st.integers(0, 2**40 - 10),
    number=st.integers(0, 2**23 - 1),
    queue_id=st.integers(0, 9_999),
)
def test_answers_are_those_of_the_general_way(
    sends: ModuleType, opaques: list[int], offset: int, number: int, queue_id: int
) -> None:
    data = b"".join(send(opaque=opaque, e=str(queue_id)) for opaque in opaques)
    (group,) = read(sends, data)[1]
    place = number << 40 | offset
    written = group.answers(479, b"DefaultRegion", b"0A00000900002A9F", place, offset)
    expected = b""
    for nth, opaque in enumerate(opaques):
        fields = {
            "msgId": f"0A00000900002A9F{place + nth:016X}",
            "queueId": str(queue_id),
            "queueOffset": str(offset + nth),
            "transactionId": "A1B2",
            "MSG_REGION": "DefaultRegion",
            "TRACE_ON": "true",
        }
        expected += encode_command(Command(code=0, opaque=opaque, flag=RESPONSE_FLAG, version=479, fields=fields))
    assert written == expected


def test_halves_are_answered_with_their_numbers(sends: ModuleType) -> None:
    (group,) = read(sends, send(b"a", 1, i=HALF) + send(b"b", -2, i=HALF))[1]
    numbers = [(2**63 - 1, 0), (1, 2**63 - 1)]
    written = group.half_answers(479, b"DefaultRegion", b"0A00000900002A9F", numbers)
    expected = b""
    for (first, second), opaque in zip(numbers, (1, -2), strict=True):
        fields = {
            "msgId": f"0A00000900002A9F{second:016X}",
            "queueId": "1",
            "queueOffset": str(first),
            "transactionId": "H1",
            "MSG_REGION": "DefaultRegion",
            "TRACE_ON": "true",
        }
        expected += encode_command(Command(code=0, opaque=opaque, flag=RESPONSE_FLAG, version=479, fields=fields))
    assert written == expected
