"""Ours against RocketMQ's own classes: they read what we write, write it again, and we read that."""

import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from braidmq.protocols.rocketmq.codec import (
    BatchedMessage,
    Command,
    Host,
    Language,
    RequestCode,
    ResponseCode,
    Serialization,
    StoredMessage,
    decode_body,
    decode_body_list,
    decode_command,
    encode_body,
    encode_command,
    message_of,
    read_header,
    wrapped_code,
    write_header,
)
from braidmq.protocols.rocketmq.codec.bodies import (
    AclInfo,
    Body,
    BrokerData,
    SubscriptionGroupConfig,
    SubscriptionGroupWrapper,
    UserInfo,
)
from braidmq.protocols.rocketmq.codec.headers import CustomHeader
from braidmq.protocols.rocketmq.codec.ids import (
    OffsetId,
    UniqueId,
    ms_of_month,
    read_offset_id,
    read_unique_id,
    write_offset_id,
    write_unique_id,
)
from braidmq.protocols.rocketmq.codec.messages import (
    COMPRESSED,
    COMPRESSION_LZ4,
    COMPRESSION_ZLIB,
    COMPRESSION_ZSTD,
    decode_batch,
    decode_message,
    encode_batch,
    encode_message,
    read_properties,
)
from compat_support import RunProgram, jars
from rocketmq_oracles import BODY_CLASSES, HEADER_CLASSES, filled, sparse, unordered

ROCKETMQ = "5.3.3"
OLD = "4.9.8"
NEWER = {
    "GetAllTopicConfigRequestHeader",
    "GetAllTopicConfigResponseHeader",
    "GetAllSubscriptionGroupRequestHeader",
    "GetAllSubscriptionGroupResponseHeader",
}
"""What this release does not have yet, or has without fields."""

IPV4 = Host.of("192.168.7.9", 10911)
IPV6 = Host.of("2001:db8::7", 65535)

Ask = Callable[[Sequence[str]], list[str]]


@pytest.fixture(scope="session")
def ask(run: RunProgram, compile_java: Callable[[str, str], str]) -> Ask:
    """What RocketMQ's classes make of each question, one line for each."""
    classpath = compile_java(
        "RocketMQClasses", jars(f"rocketmq-client-{ROCKETMQ}", f"org.apache.rocketmq:rocketmq-client:{ROCKETMQ}")
    )

    def ask(questions: Sequence[str]) -> list[str]:
        command = ["java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", classpath, "RocketMQClasses"]
        answers = run(command, given="\n".join(questions)).splitlines()
        assert len(answers) == len(questions)
        both = zip(questions, answers, strict=True)
        refused = [f"{question[:60]}: {answer}" for question, answer in both if "refused" in answer]
        assert not refused, "\n".join(refused)
        return answers

    return ask


def test_the_numbers_have_the_names_that_rocketmq_gives_them(ask: Ask) -> None:
    (answer,) = ask(["numbers"])
    ours = {
        f"{kind.__name__}.{member.name}={member.value}"
        for kind in (RequestCode, ResponseCode, Language)
        for member in kind
    }
    assert ours == set(answer.split())


@pytest.mark.parametrize("serialization", Serialization)
def test_every_custom_header_is_read_and_written_by_its_own_class(ask: Ask, serialization: Serialization) -> None:
    sent: list[tuple[CustomHeader, Command]] = [
        (header, Command(code=310, opaque=9, fields=write_header(header), serialization=serialization, body=b"x"))
        for kind in HEADER_CLASSES
        if kind.__name__ not in NEWER
        for header in (filled(kind), filled(kind, 300), sparse(kind))
    ]
    answers = ask([f"header {type(header).__name__} {encode_command(command).hex()}" for header, command in sent])
    for (header, command), answer in zip(sent, answers, strict=True):
        back = decode_command(bytes.fromhex(answer)[4:])
        assert (back.code, back.opaque, back.body, back.serialization) == (310, 9, b"x", serialization)
        assert read_header(type(header), back.fields) == header, command


@pytest.mark.parametrize("serialization", Serialization)
def test_a_command_is_read_and_written_by_its_own_class(ask: Ask, serialization: Serialization) -> None:
    commands = [
        Command(code=ResponseCode.TOPIC_NOT_EXIST, opaque=-5, flag=1, remark='no "t" \u00e9\u4e2d\n\x01', version=479),
        Command(
            code=0, opaque=(1 << 31) - 1, flag=3, fields={"a": "\x01\x02\u20ac", "b c": '"'}, body=bytes(range(256))
        ),
        Command(
            code=1, fields={f"{n:x}": "".join(map(chr, range(n, n + 1024))) for n in range(1, 0xD800 - 1024, 1024)}
        ),
        Command(code=1, fields={"\ufffe": "".join(map(chr, range(0xE000, 0x10400)))}, remark="\U0010ffff"),
        *(Command(code=105, language=language, version=399) for language in Language),
    ]
    for command in commands:
        command.serialization = serialization
    answers = ask([f"frame {encode_command(command).hex()}" for command in commands])
    assert [decode_command(bytes.fromhex(answer)[4:]) for answer in answers] == commands


def test_a_code_that_does_not_fit_comes_back_whole(ask: Ask) -> None:
    command = Command(code=RequestCode.POP_MESSAGE, serialization=Serialization.ROCKETMQ)
    (answer,) = ask([f"frame {encode_command(command).hex()}"])
    assert int.from_bytes(bytes.fromhex(answer)[8:10], signed=True) == wrapped_code(RequestCode.POP_MESSAGE) == 3442
    assert decode_command(bytes.fromhex(answer)[4:]).code == RequestCode.POP_MESSAGE


def test_every_body_is_read_and_written_by_its_own_class(ask: Ask) -> None:
    sent = [each for kind in BODY_CLASSES for each in (filled(kind), filled(kind, 300), sparse(kind))]
    answers = ask([f"body {type(body).__name__} {encode_body(body).hex()}" for body in sent])
    for body, answer in zip(sent, answers, strict=True):
        back = decode_body(type(body), bytes.fromhex(answer))
        if isinstance(body, SubscriptionGroupWrapper):
            body.forbidden_table = None  # newer than this release, which passes it over
        assert unordered(back) == unordered(body)


def test_lists_are_read_and_written_by_their_own_class(ask: Ask) -> None:
    kinds: list[type[Body]] = [UserInfo, AclInfo, SubscriptionGroupConfig]
    sent = [[filled(kind), filled(kind, 90)] for kind in kinds]
    answers = ask([f"list {kind.__name__} {encode_body(each).hex()}" for kind, each in zip(kinds, sent, strict=True)])
    for kind, each, answer in zip(kinds, sent, answers, strict=True):
        assert unordered(decode_body_list(kind, bytes.fromhex(answer))) == unordered(each)


def test_a_stored_message_is_read_by_their_decoder(ask: Ask) -> None:
    topics = ["t", "%RETRY%" + "g" * 120, "%RETRY%" + "\u4e2d" * 80]
    messages = [a_message(*each) for each in itertools.product(topics, (IPV4, IPV6), (IPV4, IPV6))]
    answers = ask([f"message {encode_message(message).hex()}" for message in messages])
    for message, answer in zip(messages, answers, strict=True):
        found, _, written = answer.partition(" ")
        ours = msgspec.structs.asdict(message) | {"offset_id": message.offset_id, "body": message.body.hex()}
        ours |= {name: f"{host.ip.hex()}:{host.port}" for name, host in ours.items() if isinstance(host, Host)}
        ours["properties"] = read_properties(message.properties)
        assert json.loads(bytes.fromhex(found)) == ours
        assert bool(written) == (len(message.topic.encode()) <= 127)
        if written:
            back = decode_message(bytes.fromhex(written))
            assert read_properties(back.properties) == ours["properties"]
            back.properties = message.properties
            assert back == message


def a_message(topic: str, born_host: Host, store_host: Host) -> StoredMessage:
    return StoredMessage(
        topic=topic,
        body=bytes(range(256)),
        properties="TAGS\x01paid\x02KEYS\x01a b\x02UNIQ_KEY\x01\u00e9\u4e2d\x02",
        queue_id=3,
        queue_offset=1 << 35,
        physical_offset=(5 << 40) | 17,
        flag=-6,
        sys_flag=0x8 | 0x10 * born_host.is_ipv6 | 0x20 * store_host.is_ipv6,
        born_ms=1_700_000_000_123,
        born_host=born_host,
        store_ms=1_700_000_000_456,
        store_host=store_host,
        reconsume_times=4,
        prepared_offset=(6 << 40) | 18,
    )


def test_a_batch_is_read_and_written_by_their_decoder(ask: Ask) -> None:
    batch = [
        BatchedMessage(body=b"one", properties="TAGS\x01a\x02", flag=1),
        BatchedMessage(body=b"", flag=-1),
        BatchedMessage(body=bytes(5000), properties="UNIQ_KEY\x01\u00e9\x02"),
    ]
    (answer,) = ask([f"batch {encode_batch(batch).hex()}"])
    assert decode_batch(bytes.fromhex(answer)) == batch


def test_ids_mean_the_same_on_both_sides(ask: Ask) -> None:
    offset_ids = [OffsetId(host, (5 << 40) | 17) for host in (IPV4, IPV6)]
    made = UniqueId(bytes([10, 0, 0, 7]), 4711, 0x01020304, 3, 9)
    *offsets, new, other = ask(
        [
            *(f"offset-id {write_offset_id(*each)}" for each in offset_ids),
            "new-unique-id",
            f"unique-id {write_unique_id(made)}",
        ]
    )
    for ours, answer in zip(offset_ids, offsets, strict=True):
        address, offset, written = answer.split()
        assert (address, int(offset)) == (f"{ours.host.ip.hex()}:{ours.host.port}", ours.physical_offset)
        assert read_offset_id(written) == ours
    unique, process, ip, now_ms = new.split()
    read = read_unique_id(unique)
    assert (read.process, read.ip.hex(), read.counter) == (int(process), ip, 0)
    # Their months begin at midnight of their own time zone, at most a day from ours.
    assert abs(ms_of_month(int(now_ms)) - read.ms_of_month) % (27 * 86_400_000) < 86_400_000 + 60_000
    assert other.split()[:2] == ["4711", "0a000007"]


def test_a_body_that_their_client_compressed_lies_plain_in_the_log(ask: Ask) -> None:
    body = b"the same again, " * 1000
    kinds = [("LZ4", COMPRESSION_LZ4), ("ZSTD", COMPRESSION_ZSTD), ("ZLIB", COMPRESSION_ZLIB), ("ZLIB", 0)]
    answers = ask([f"compress {name} {body.hex()}" for name, _ in kinds])
    for (_, bits), answer in zip(kinds, answers, strict=True):
        compressed = bytes.fromhex(answer)
        assert len(compressed) < len(body)
        stored = StoredMessage(topic="t", body=compressed, sys_flag=COMPRESSED | bits)
        assert message_of(stored).body == body


def test_maps_with_odd_keys_are_read_in_all_their_forms(ask: Ask) -> None:
    forms = [b'{"brokerAddrs":{0:"a:1",1:"b:2"}}', b'{"brokerAddrs":{"0":"a:1","1":"b:2"}}']
    answers = ask([f"body BrokerData {form.hex()}" for form in forms])
    for data in (*forms, *map(bytes.fromhex, answers)):
        assert decode_body(BrokerData, data).broker_addrs == {0: "a:1", 1: "b:2"}


def test_every_body_is_read_and_written_by_the_classes_of_release_4(
    run: RunProgram, compile_java: Callable[[str, str], str]
) -> None:
    classpath = compile_java(
        "OldRocketMQClasses", jars(f"rocketmq-client-{OLD}", f"org.apache.rocketmq:rocketmq-client:{OLD}")
    )
    sent = [body for kind in BODY_CLASSES for body in (filled(kind), filled(kind, 300))]
    given = "\n".join(f"{type(body).__name__} {encode_body(body).hex()}" for body in sent)
    answers = run(["java", "-XX:TieredStopAtLevel=1", "-cp", classpath, "OldRocketMQClasses"], given=given).splitlines()
    known = [(body, answer) for body, answer in zip(sent, answers, strict=True) if answer != "unknown"]
    assert len(known) > 50
    refused = [f"{type(body).__name__}: {answer}" for body, answer in known if answer.startswith("refused")]
    assert not refused, "\n".join(refused)
    for body, answer in known:
        theirs = decode_body(type(body), bytes.fromhex(answer))
        assert theirs != type(body)()
        assert says_nothing_else(theirs, body), f"{theirs}\n{body}"


def says_nothing_else(theirs: Any, ours: Any) -> bool:
    """Equal but for fields that the older class does not have, which are as if they had not been sent."""
    match theirs:
        case msgspec.Struct():
            unsent = type(theirs)()
            return type(theirs) is type(ours) and all(
                says_nothing_else(getattr(theirs, name), getattr(ours, name))
                or getattr(theirs, name) == getattr(unsent, name)
                for name in theirs.__struct_fields__
            )
        case dict():
            return theirs.keys() == ours.keys() and all(says_nothing_else(theirs[name], ours[name]) for name in theirs)
        case list():
            return len(theirs) == len(ours) and all(any(says_nothing_else(a, b) for b in ours) for a in theirs)
        case _:
            return bool(theirs == ours)
