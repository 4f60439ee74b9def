"""Clients that send nonsense, lies and floods get RocketMQ's own code and a reason, or a closed connection, and nobody
else notices."""

import asyncio
import contextlib
import os
import random
import struct
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import cramjam
import msgspec
import psutil
import pytest

from braidmq.protocols.rocketmq._operations import operations
from braidmq.protocols.rocketmq.codec import (
    RequestCode,
    ResponseCode,
    Serialization,
    encode_body,
    encode_command,
)
from braidmq.protocols.rocketmq.codec.bodies import ConsumerData, HeartbeatData, ProducerData, SubscriptionData
from rocketmq_peer import Peer, connected, in_letters, pulling, sending
from running_node import RunningNode, WaitFor

MIB = 1 << 20
IDLE_CONNECTIONS = 5_000
IDLE_BYTES_MAX = 40_000
FUZZ_SEED = int(os.environ.get("BRAID_FUZZ_SEED", "1"))
TOPIC = "orders"

KNOWN_CODES = {int(code) for code in ResponseCode}


class Node:
    """A node in its own process, so that its memory can be measured."""

    def __init__(self, running: RunningNode) -> None:
        self.running = running
        self._address = running.ready["listeners"]["rocketmq"][0]
        self._peers: list[Peer] = []

    async def connect(self) -> Peer:
        peer = await connected(*self._address)
        self._peers.append(peer)
        return peer

    async def disconnect(self) -> None:
        for peer in self._peers:
            await peer.close()

    @property
    def memory_bytes(self) -> int:
        resident: int = psutil.Process(self.running.process.pid).memory_info().rss
        return resident

    async def serves_others(self) -> None:
        """A well-behaved client gets its answers, soon."""
        async with asyncio.timeout(15):
            peer = await self.connect()
            answer = await peer.publish("well-behaved", b"a")
            assert answer.code == 0, answer.remark
            offset = int(answer.fields["queueOffset"])
            assert (await peer.read("well-behaved", offset)).code == 0
        assert self.running.process.poll() is None


async def start(tmp_path: Path, wait_for: WaitFor, *more: str) -> Node:
    arguments = ["--data", str(tmp_path / "data"), "--http", "off", "--kafka", "off", "--flush", "interval"]
    running = RunningNode(tmp_path, [*arguments, "--rocketmq", "127.0.0.1:0", *more], {}, wait_for)
    return Node(await asyncio.to_thread(running.wait_ready))


@pytest.fixture
async def node(tmp_path: Path, wait_for: WaitFor) -> AsyncIterator[Node]:
    node = await start(tmp_path, wait_for)
    yield node
    await node.disconnect()
    node.running.clean_up()
    assert "Traceback" not in node.running.err, node.running.err[-3000:]
    assert "made a mistake" not in node.running.err


# Frames.


async def test_a_frame_that_claims_an_impossible_size_closes_the_connection(node: Node) -> None:
    for size in (-1, -(1 << 31), 0, 3, (1 << 31) - 1, 17 << 20):
        peer = await node.connect()
        peer.write(struct.pack(">i", size) + b"x" * 100)
        assert await peer.is_closed()
    await node.serves_others()


NO_FRAMES = [
    struct.pack(">I", 0xFFFFFF),
    struct.pack(">I", 5 << 24),
    struct.pack(">I", 2) + b"{}",
    struct.pack(">I", 4) + b"null",
    struct.pack(">I", 30) + b"[" * 30,
    struct.pack(">I", 13) + b'{"code":1e400',
    struct.pack(">I", 23) + b'{"code":99999999999999}',
    struct.pack(">I", 1 << 24 | 21) + b"\xff" * 21,
    struct.pack(">I", 1 << 24 | 21) + struct.pack(">hBhiiii", 10, 0, 0, 1, 0, 0, 1 << 30),
    b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"[4:],
]


async def test_a_frame_that_is_none_closes_the_connection(node: Node) -> None:
    for frame in NO_FRAMES:
        peer = await node.connect()
        peer.write(struct.pack(">i", len(frame)) + frame)
        assert await peer.is_closed()
    await node.serves_others()


async def test_what_follows_a_frame_that_is_none_is_not_done(node: Node) -> None:
    peer = await node.connect()
    good = encode_command(peer.command(RequestCode.SEND_MESSAGE, sending("behind"), b"a"))
    peer.write(struct.pack(">iI", 4, 5 << 24) + good * 3)
    assert await peer.is_closed()
    other = await node.connect()
    assert (await other.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "behind"})).code == 17


async def test_nested_brackets_cost_nothing(node: Node) -> None:
    before = node.memory_bytes
    for text in (b"[" * 500_000, b'{"a":' * 100_000, b'{"extFields":{"a":' + b"[" * 400_000):
        peer = await node.connect()
        frame = struct.pack(">I", len(text)) + text
        peer.write(struct.pack(">i", len(frame)) + frame)
        assert await peer.is_closed()
    assert node.memory_bytes - before < 64 * MIB
    await node.serves_others()


async def test_unknown_codes_are_answered_as_such_and_the_connection_goes_on(node: Node) -> None:
    peer = await node.connect()
    for serialization in Serialization:
        peer.serialization = serialization
        for code in (0, -1, 9999, 30_000, 32_767, -32_768):
            answer = await peer.request(code)
            assert answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
            assert str(code) in (answer.remark or "")
    await node.serves_others()


async def test_answers_that_nobody_asked_for_are_passed_over(node: Node) -> None:
    peer = await node.connect()
    for opaque in range(1000):
        command = peer.command(0, None, b"x" * 100, flag=1)
        command.opaque = opaque
        peer.write(encode_command(command))
    assert (await peer.publish(TOPIC, b"a")).code == 0


# Requests.


async def test_a_field_that_is_missing_is_named(node: Node) -> None:
    peer = await node.connect()
    for missing in ("topic", "queueId", "sysFlag", "bornTimestamp", "producerGroup"):
        header = {name: value for name, value in sending(TOPIC).items() if name != missing}
        answer = await peer.request(RequestCode.SEND_MESSAGE, header, b"a")
        assert answer.code == ResponseCode.SYSTEM_ERROR
        assert missing in (answer.remark or "")


async def test_a_field_of_the_wrong_type_is_named(node: Node) -> None:
    peer = await node.connect()
    for field in ("queueId", "sysFlag", "bornTimestamp", "flag", "reconsumeTimes", "batch"):
        for value in ("", "x", "1.5", "99999999999999999999", "0x10", "🧾", "9" * 5000):
            answer = await peer.request(RequestCode.SEND_MESSAGE, sending(TOPIC) | {field: value}, b"a")
            assert answer.code == ResponseCode.SYSTEM_ERROR, (field, value)
            assert field in (answer.remark or "")
            assert len(answer.remark or "") < 500


async def test_texts_that_are_no_unicode_hurt_nobody(node: Node) -> None:
    peer = await node.connect()
    assert (await peer.publish(TOPIC, b"a")).code == 0
    asked: list[tuple[RequestCode, dict[str, object], tuple[str, ...]]] = [
        (RequestCode.SEND_MESSAGE, sending(TOPIC), ("topic", "properties", "producerGroup")),
        (RequestCode.SEND_MESSAGE, sending(TOPIC) | {"properties": "DELAY\x011\x02"}, ("producerGroup",)),
        (RequestCode.PULL_MESSAGE, pulling(TOPIC), ("topic", "consumerGroup", "subscription", "expressionType")),
        (
            RequestCode.UPDATE_CONSUMER_OFFSET,
            {"consumerGroup": "g", "topic": TOPIC, "queueId": 0, "commitOffset": 0},
            ("consumerGroup", "topic"),
        ),
        (RequestCode.CONSUMER_SEND_MSG_BACK, {"offset": 0, "group": "g", "delayLevel": 1}, ("group",)),
        (RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": TOPIC}, ("topic",)),
        (RequestCode.RECALL_MESSAGE, {"topic": TOPIC, "recallHandle": "x"}, ("recallHandle", "topic")),
        (RequestCode.UNREGISTER_CLIENT, {"clientID": "c", "consumerGroup": "g"}, ("clientID", "consumerGroup")),
    ]
    for code, header, names in asked:
        for name in names:
            command = peer.command(code, {**header, name: "HERE"}, b"a")
            answered = peer._asked[command.opaque] = asyncio.get_running_loop().create_future()
            frame = encode_command(command)[4:].replace(b'"HERE"', b'"\\ud800"')
            (word,) = struct.unpack_from(">I", frame)
            frame = struct.pack(">I", word + 2) + frame[4:]
            peer.write(struct.pack(">i", len(frame)) + frame)
            async with asyncio.timeout(10):
                answer = await answered
            assert "mistake" not in (answer.remark or ""), (code, name)
    await node.serves_others()


async def test_numbers_at_the_ends_of_their_range_hurt_nobody(node: Node) -> None:
    peer = await node.connect()
    ends = [-(1 << 31), (1 << 31) - 1, -1, 0, 1]
    longs = [*ends, -(1 << 63), (1 << 63) - 1]
    for name in ("queueId", "sysFlag", "flag", "reconsumeTimes", "maxReconsumeTimes", "defaultTopicQueueNums"):
        for value in ends:
            answer = await peer.request(RequestCode.SEND_MESSAGE, sending(TOPIC) | {name: value}, b"a")
            assert "mistake" not in (answer.remark or ""), (name, value)
    for value in longs:
        answer = await peer.publish(TOPIC, b"a", bornTimestamp=value)
        assert "mistake" not in (answer.remark or ""), value
    for name in ("DELAY", "TIMER_DELAY_SEC", "TIMER_DELAY_MS", "TIMER_DELIVER_MS", "CHECK_IMMUNITY_TIME_IN_SECONDS"):
        for value in (*longs, 10**30):
            half = {"TRAN_MSG": "true"} if name.startswith("CHECK") else {}
            answer = await peer.publish(TOPIC, b"a", properties={name: str(value), **half})
            assert "mistake" not in (answer.remark or ""), (name, value)
            assert answer.code in (0, 13), (name, value, answer)
    for name in ("queueOffset", "maxMsgNums", "suspendTimeoutMillis", "commitOffset", "subVersion", "maxMsgBytes"):
        for value in longs if name != "maxMsgNums" else ends:
            answer = await peer.read(TOPIC, **{"sysFlag": 1 | 4, name: value})
            assert "mistake" not in (answer.remark or ""), (name, value)
    queue: dict[str, object] = {"topic": TOPIC, "queueId": 0}
    for value in longs:
        for boundary in ("LOWER", "UPPER"):
            asked = queue | {"timestamp": value, "boundaryType": boundary}
            answer = await peer.request(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, asked)
            assert "mistake" not in (answer.remark or ""), value
    await node.serves_others()


async def test_a_message_with_a_hostile_time_disturbs_no_other_sender(node: Node) -> None:
    good, bad = await node.connect(), await node.connect()
    assert (await good.publish(TOPIC, b"first")).code == 0
    hostile = in_letters(sending(TOPIC, bornTimestamp=(1 << 63) - 1))
    answers = []
    for _ in range(50):
        bad.write(encode_command(bad.command(RequestCode.SEND_MESSAGE_V2, hostile, b"bad", flag=2)) * 20)
        answers += [good.publish(TOPIC, b"good") for _ in range(5)]
    assert {answer.code for answer in await asyncio.gather(*answers)} == {0}


async def test_property_strings_of_any_size_are_taken_whole_or_refused(node: Node) -> None:
    peer = await node.connect()
    for size in (32_767, 32_768, 65_535, 400_000):
        answer = await peer.publish(TOPIC, b"a", properties={"a": "x" * size})
        assert answer.code == ResponseCode.MESSAGE_ILLEGAL
        assert "32767" in (answer.remark or "")
    for count in (1000, 4000, 10_000):
        many = "".join(f"{number}\x01v\x02" for number in range(count))
        answer = await peer.publish(TOPIC, b"a", properties=many)
        assert answer.code == (0 if len(many) < 32_700 else ResponseCode.MESSAGE_ILLEGAL)
    peer.begin(RequestCode.SEND_MESSAGE, sending(TOPIC, properties="x" * 600_000))
    assert await peer.is_closed(), "a header has at most 512 KiB"
    await node.serves_others()


async def test_properties_that_are_none_are_passed_over(node: Node) -> None:
    peer = await node.connect()
    for properties in ("\x01", "\x02" * 1000, "\x01\x02" * 1000, "a", "a\x01", "\x01b\x02", "a\x01b\x01c\x02"):
        for more in ("", "DELAY\x01-1\x02", "TIMER_DELAY_MS\x01-5\x02"):
            assert (await peer.publish(TOPIC, b"a", properties=f"{properties}\x02{more}")).code == 0
    assert len(await peer.messages(TOPIC)) == 21


async def test_filters_that_cannot_be_read_are_refused(node: Node) -> None:
    peer = await node.connect()
    assert (await peer.publish(TOPIC, b"a")).code == 0
    hopeless = ["||", " || ".join(map(str, range(10_000))), "x" * 400_000, "(" * 100_000, "a = 'b", "a >", "'" * 1000]
    for expression in hopeless:
        for kind in ("TAG", "SQL92"):
            answer = await peer.read(TOPIC, subscription=expression, expressionType=kind)
            assert answer.code in (ResponseCode.SUBSCRIPTION_PARSE_FAILED, ResponseCode.PULL_RETRY_IMMEDIATELY), (
                expression[:50]
            )
            assert len(answer.remark or "") < 2000
    await node.serves_others()


async def test_filters_that_are_large_are_not_kept(node: Node) -> None:
    peer = await node.connect()
    assert (await peer.publish(TOPIC, b"a")).code == 0
    before = node.memory_bytes
    for number in range(600):
        await peer.read(TOPIC, subscription=f"{number}" + "x" * 400_000)
    assert node.memory_bytes - before < 64 * MIB


async def test_bodies_that_are_none_are_refused(node: Node) -> None:
    peer = await node.connect()
    codes = [
        RequestCode.HEART_BEAT,
        RequestCode.LOCK_BATCH_MQ,
        RequestCode.UNLOCK_BATCH_MQ,
        RequestCode.CHECK_CLIENT_CONFIG,
    ]
    for code in codes:
        for body in (
            b"",
            b"{",
            b"[]",
            b"null",
            b"[" * MIB,
            b'{"clientID":7}',
            b'{"mqSet":{}}',
            bytes(100),
            b"\xff" * 100,
        ):
            answer = await peer.request(code, None, body)
            assert answer.code in KNOWN_CODES
            assert "mistake" not in (answer.remark or ""), (code, body[:20])
    await node.serves_others()


async def test_groups_with_illegal_names_are_refused_or_harmless(node: Node) -> None:
    peer = await node.connect()
    for group in ("", "x" * 121, "x" * 100_000, "a b", "группа", "a\x00b", "../..", "%RETRY%g"):
        beat = HeartbeatData(client_id="c", consumer_data_set=[ConsumerData(group_name=group)])
        answer = await peer.ask(RequestCode.HEART_BEAT, None, beat)
        assert "mistake" not in (answer.remark or "")
        assert len(answer.remark or "") < 1000
        back = {"offset": 0, "group": group, "delayLevel": 1}
        answer = await peer.request(RequestCode.CONSUMER_SEND_MSG_BACK, back)
        assert answer.code != 0
        assert "mistake" not in (answer.remark or "")
        assert len(answer.remark or "") < 1000
    await node.serves_others()


# Floods.


async def test_a_zip_bomb_is_refused(node: Node) -> None:
    peer = await node.connect()
    assert (await peer.publish(TOPIC, b"a")).code == 0
    bomb = bytes(100 * MIB)
    zipped = zlib.compress(bomb)
    packed = {
        0x0: zipped,
        0x100: bytes(cramjam.lz4.compress(bomb)),
        0x200: bytes(cramjam.zstd.compress(bomb)),
        0x300: zipped,
    }
    before = node.memory_bytes
    for bits, body in packed.items():
        answer = await peer.publish(TOPIC, body, sysFlag=1 | bits)
        assert answer.code == ResponseCode.MESSAGE_ILLEGAL
    assert node.memory_bytes - before < 64 * MIB
    await node.serves_others()


async def test_a_batch_of_very_many_messages_is_taken_or_refused_soon(node: Node) -> None:
    peer = await node.connect()
    assert (await peer.publish(TOPIC, b"a")).code == 0
    before = node.memory_bytes
    nothing = struct.pack(">iiiiih", 22, 0, 0, 0, 0, 0)
    answer = await peer.request(RequestCode.SEND_BATCH_MESSAGE, in_letters(sending(TOPIC)), nothing * 700_000, 60)
    assert answer.code == ResponseCode.MESSAGE_ILLEGAL
    answer = await peer.request(RequestCode.SEND_BATCH_MESSAGE, in_letters(sending(TOPIC)), nothing * 65_536, 60)
    assert answer.code in (0, ResponseCode.MESSAGE_ILLEGAL)
    assert node.memory_bytes - before < 256 * MIB
    await node.serves_others()


async def test_a_frame_cut_off_is_forgotten_with_its_connection(node: Node) -> None:
    before = node.memory_bytes
    for _ in range(20):
        peer = await node.connect()
        peer.write(struct.pack(">i", 16 * MIB) + b"x" * (4 * MIB))
        await peer.drain()
        await peer.close()
    await node.serves_others()
    assert node.memory_bytes - before < 64 * MIB


async def test_requests_that_never_end_cannot_take_all_memory(tmp_path: Path, wait_for: WaitFor) -> None:
    node = await start(tmp_path, wait_for, "--set", "rocketmq.buffer_bytes_max=16MiB")
    try:
        before = node.memory_bytes
        peers = [await node.connect() for _ in range(20)]
        for peer in peers:
            peer.write(struct.pack(">i", 16 * MIB) + b"x" * (4 * MIB))
        await asyncio.gather(*(peer.drain() for peer in peers), return_exceptions=True)
        await node.serves_others()
        assert node.memory_bytes - before < 64 * MIB
        await node.disconnect()
    finally:
        node.running.clean_up()


async def test_a_client_that_does_not_read_its_answers_is_not_read_from_either(node: Node) -> None:
    deaf = await node.connect()
    assert (await deaf.publish(TOPIC, bytes(MIB))).code == 0
    before = node.memory_bytes
    deaf.deafen()
    pull = encode_command(deaf.command(RequestCode.PULL_MESSAGE, pulling(TOPIC, maxMsgBytes=8 * MIB)))
    deaf.write(pull * (24 * MIB // len(pull)))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(3):
            await deaf.drain()
    assert node.memory_bytes - before < 64 * MIB
    await node.serves_others()
    deaf.abort()


async def test_many_waits_of_a_deaf_client_end_in_bounded_memory(node: Node) -> None:
    deaf, writer = await node.connect(), await node.connect()
    assert (await writer.publish(TOPIC, b"first")).code == 0
    deaf.deafen()
    waiting = encode_command(deaf.command(RequestCode.PULL_MESSAGE, pulling(TOPIC, 1, wait_ms=60_000)))
    deaf.write(waiting * 2000)
    await deaf.drain()
    await node.serves_others()
    before = node.memory_bytes
    for _ in range(3):
        assert (await writer.publish(TOPIC, bytes(MIB))).code == 0
    await node.serves_others()
    assert node.memory_bytes - before < 96 * MIB
    deaf.abort()
    await node.serves_others()


async def test_notices_to_a_deaf_client_do_not_pile_up(node: Node) -> None:
    deaf, busy = await node.connect(), await node.connect()
    group = "x" * 100
    subscribed = [SubscriptionData(topic=TOPIC, sub_string="*")]
    consumers = [ConsumerData(group_name=group, subscription_data_set=subscribed)]
    await deaf.ask(RequestCode.HEART_BEAT, None, HeartbeatData(client_id="deaf", consumer_data_set=consumers))
    deaf.deafen()
    before = node.memory_bytes
    come = encode_body(HeartbeatData(client_id="busy", consumer_data_set=consumers))
    go = {"clientID": "busy", "consumerGroup": group}
    pair = encode_command(busy.command(RequestCode.HEART_BEAT, None, come, flag=2))
    pair += encode_command(busy.command(RequestCode.UNREGISTER_CLIENT, go, flag=2))
    for _ in range(300):
        busy.write(pair * 200)
        await busy.drain()
    await node.serves_others()
    assert node.memory_bytes - before < 32 * MIB


async def test_a_client_with_ever_new_names_is_still_one_client(node: Node) -> None:
    peer = await node.connect()
    await peer.beat("first", producers=["p"])
    before = node.memory_bytes
    for number in range(300):
        producers = [ProducerData(group_name=f"{number}-{n}" + "x" * 80) for n in range(500)]
        beat = HeartbeatData(client_id=f"name {number}", producer_data_set=producers)
        assert (await peer.ask(RequestCode.HEART_BEAT, None, beat)).code == 0
    assert node.memory_bytes - before < 32 * MIB


async def test_floods_of_one_way_requests_hurt_nobody(node: Node) -> None:
    peer = await node.connect()
    assert (await peer.publish(TOPIC, b"a")).code == 0
    before = node.memory_bytes
    header = in_letters(sending(TOPIC))
    frame = encode_command(peer.command(RequestCode.SEND_MESSAGE_V2, header, bytes(1000), flag=2))
    for _ in range(20):
        peer.write(frame * 1000)
        await peer.drain()
    await node.serves_others()
    assert node.memory_bytes - before < 128 * MIB


async def test_five_thousand_idle_connections_cost_little(node: Node) -> None:
    warm = [await asyncio.open_connection(*node._address) for _ in range(50)]
    before = node.memory_bytes
    wires = list(warm)
    for _ in range(IDLE_CONNECTIONS // 100):
        wires += await asyncio.gather(*(asyncio.open_connection(*node._address) for _ in range(100)))
    await node.serves_others()
    each = (node.memory_bytes - before) / IDLE_CONNECTIONS
    for _, writer in wires:
        writer.transport.abort()
    assert each < IDLE_BYTES_MAX, f"{each:.0f} bytes each"


# Fuzzing.


def mutated(draw: random.Random, frame: bytes) -> bytes:
    """A frame with some bytes changed, cut out or put in; mostly with a length that is right."""
    body = bytearray(frame[4:])
    for _ in range(draw.randrange(1, 6)):
        at = draw.randrange(len(body) or 1)
        match draw.randrange(4):
            case 0:
                body[at : at + 1] = draw.randbytes(1)
            case 1:
                del body[at : at + draw.randrange(1, 20)]
            case 2:
                body[at:at] = draw.randbytes(draw.randrange(1, 20))
            case _:
                body[at : at + 4] = draw.choice([b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x00\x00\x00\x00", b'"'])
    size = len(body) if draw.random() < 0.9 else draw.randrange(-10, 1 << 20)
    return struct.pack(">i", size) + bytes(body)


def plausible(draw: random.Random, name: str, kind: object) -> str:
    """Something like what the field is for."""
    text = str(kind)
    if "int" in text:
        return str(draw.choice([0, 1, -1, 4, 32, 1 << 31, (1 << 63) - 1, draw.randrange(1 << 40)]))
    if "bool" in text:
        return draw.choice(["true", "false", "1", ""])
    return draw.choice(
        [TOPIC, "g", "", "%RETRY%g", "%DLQ%g", "x" * 300, "🧾", "a\x01b\x02", "DELAY\x011\x02", "*", "TAG"]
    )


BODIES = [
    b"",
    b"{}",
    b"[]",
    b'{"clientID":"c","consumerDataSet":[{"groupName":"g","subscriptionDataSet":[{"topic":"orders","subString":"*"}]}]}',
    b'{"consumerGroup":"g","clientId":"c","mqSet":[{"topic":"orders","brokerName":"b","queueId":0}]}',
    struct.pack(">iiiiih", 22, 0, 0, 0, 0, 0),
    b"x" * 100,
]


@pytest.mark.timeout(180)
async def test_mutated_requests_of_every_kind_never_hurt_anybody(node: Node) -> None:
    draw = random.Random(FUZZ_SEED)
    steady = await node.connect()
    assert (await steady.publish(TOPIC, b"a")).code == 0
    before = node.memory_bytes
    for operation in operations:
        for _ in range(6):
            peer = await node.connect()
            peer.serialization = draw.choice(list(Serialization))
            for _ in range(8):
                fields = {
                    field.encode_name: plausible(draw, field.encode_name, field.type)
                    for field in msgspec.structs.fields(operation.handler.header)
                    if draw.random() < 0.9
                }
                frame = encode_command(peer.command(operation.key, fields, draw.choice(BODIES)))
                peer.write(frame if draw.random() < 0.4 else mutated(draw, frame))
            with contextlib.suppress(OSError):
                await peer.drain()
                peer.finish()
            await peer.close()
        assert (await steady.publish(TOPIC, b"still")).code == 0
    await node.serves_others()
    assert node.memory_bytes - before < 128 * MIB


@pytest.mark.timeout(120)
async def test_requests_of_every_kind_are_answered_with_a_known_code_and_a_reason(node: Node) -> None:
    draw = random.Random(FUZZ_SEED + 1)
    peer = await node.connect()
    peer.answer = lambda _: None
    assert (await peer.publish(TOPIC, b"a")).code == 0
    for operation in operations:
        for _ in range(25):
            fields = {
                field.encode_name: plausible(draw, field.encode_name, field.type)
                for field in msgspec.structs.fields(operation.handler.header)
                if draw.random() < 0.95
            }
            fields["suspendTimeoutMillis"] = "0"
            answer = await peer.request(operation.key, fields, draw.choice(BODIES))
            assert answer.code in KNOWN_CODES, (operation.key, fields)
            assert answer.code == 0 or answer.remark, (operation.key, fields, answer)
            assert "mistake" not in (answer.remark or ""), (operation.key, fields)
    await node.serves_others()
