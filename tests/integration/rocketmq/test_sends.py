"""Sends of every kind over the wire: what is answered is there to be read, what is refused says why and is nowhere."""

import asyncio
import time
import zlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import cramjam
import pytest

from braidmq.model import TopicKind
from braidmq.node import Node
from braidmq.protocols.rocketmq.codec import (
    BatchedMessage,
    Command,
    RequestCode,
    ResponseCode,
    Serialization,
    StoredMessage,
    encode_command,
)
from braidmq.protocols.rocketmq.codec.ids import read_offset_id, split_physical_offset
from braidmq.protocols.rocketmq.codec.messages import TRANSACTION_PREPARED, decode_message
from braidmq.settings import HalvesSettings, PublishSettings, TopicsSettings
from inside_node import StartNode
from kafka_support import until
from rocketmq_peer import (
    COMMIT,
    ROLLBACK,
    Peer,
    another,
    ending,
    eventually,
    in_letters,
    properties_of,
    pulling,
    sending,
    unique_id,
)
from rocketmq_support import topic_fields

TOPIC = "orders"


@pytest.fixture
async def peer(node: Node) -> AsyncIterator[Peer]:
    peer = await another(node)
    yield peer
    await peer.close()


@pytest.mark.parametrize("oneway", [False, True])
async def test_who_has_said_all_gets_the_answers_and_then_the_connection_ends(
    node: Node, peer: Peer, oneway: bool
) -> None:
    assert (await peer.publish(TOPIC, b"a")).code == 0
    leaving = await another(node)
    leaving.begin(RequestCode.PULL_MESSAGE, pulling(TOPIC, queueId=1, wait_ms=60_000))
    if oneway:
        leaving.tell(RequestCode.SEND_MESSAGE, sending(TOPIC), b"b")
    else:
        answered = leaving.begin(RequestCode.SEND_MESSAGE, sending(TOPIC), b"b")
    leaving.finish()
    assert oneway or (await answered).code == 0
    assert await leaving.is_closed()
    assert [message.body for message in await peer.messages(TOPIC)] == [b"a", b"b"]
    await leaving.close()


async def only(peer: Peer, topic: str = TOPIC, queues: int = 4) -> StoredMessage:
    (message,) = await peer.all_messages(topic, queues)
    return message


# What is taken.


@pytest.mark.parametrize("serialization", list(Serialization))
@pytest.mark.parametrize("v2", [False, True])
async def test_a_message_comes_out_as_it_went_in(peer: Peer, serialization: Serialization, v2: bool) -> None:
    peer.serialization = serialization
    born_ms = time.time_ns() // 1_000_000 - 5
    said = {"TAGS": "pay", "KEYS": "k1 k2", "UNIQ_KEY": "ID1", "имя": "значение", "emoji": "🧾", "WAIT": "true"}
    answer = await peer.publish(
        TOPIC, "тело 🧾".encode(), v2=v2, properties=said, queue_id=2, flag=77, bornTimestamp=born_ms
    )
    assert (answer.code, answer.remark) == (0, None)
    assert answer.serialization is serialization
    assert answer.fields["queueId"] == "2"
    assert answer.fields["queueOffset"] == "0"
    assert answer.fields["transactionId"] == "ID1"
    assert answer.fields["MSG_REGION"] == "DefaultRegion"
    assert answer.fields["TRACE_ON"] == "true"
    (message,) = await peer.messages(TOPIC, queue_id=2)
    assert message.body == "тело 🧾".encode()
    assert (message.flag, message.born_ms, message.queue_id, message.queue_offset) == (77, born_ms, 2, 0)
    assert said.items() <= properties_of(message).items()
    assert message.offset_id == answer.fields["msgId"]


async def test_the_offset_id_says_where_the_message_is(node: Node, peer: Peer) -> None:
    await peer.publish(TOPIC, b"a", queue_id=1)
    answer = await peer.publish(TOPIC, b"b", queue_id=1)
    place = read_offset_id(answer.fields["msgId"])
    topic = node.topics.find(TOPIC)
    assert topic is not None
    assert split_physical_offset(place.physical_offset) == (topic.partition_numbers[1], 1)
    assert (place.host.address, place.host.port) == tuple(node.addresses["rocketmq"][0])


async def together(peer: Peer, *sends: tuple[str, int, bytes, str]) -> list[Command]:
    """The answers to sends that reach the server in one piece: topic, queue, body and properties of each."""
    waiting: list[asyncio.Future[Command]] = []
    written: list[bytes] = []
    for topic, queue_id, body, properties in sends:
        header = in_letters(sending(topic, queueId=queue_id, properties=properties))
        command = peer.command(RequestCode.SEND_MESSAGE_V2, header, body)
        waiting.append(peer.expect(command.opaque))
        written.append(encode_command(command))
    peer.write(b"".join(written))
    async with asyncio.timeout(10):
        return await asyncio.gather(*waiting)


async def test_sends_that_come_in_one_piece_are_stored_in_order_and_answered_each(peer: Peer) -> None:
    await peer.publish(TOPIC, b"first", queue_id=1)
    sends = [(TOPIC, number % 3, b"%d" % number, f"UNIQ_KEY\x01ID{number}\x02") for number in range(30)]
    answers = await together(peer, *sends)
    assert [(answer.code, answer.fields["transactionId"]) for answer in answers] == [(0, f"ID{n}") for n in range(30)]
    for queue_id in range(3):
        told = [answer for answer in answers if answer.fields["queueId"] == str(queue_id)]
        stored = (await peer.messages(TOPIC, queue_id=queue_id))[queue_id == 1 :]
        assert [message.body for message in stored] == [b"%d" % number for number in range(queue_id, 30, 3)]
        assert [message.offset_id for message in stored] == [answer.fields["msgId"] for answer in told]
        assert [str(message.queue_offset) for message in stored] == [answer.fields["queueOffset"] for answer in told]


async def test_between_plain_sends_any_others_keep_their_place(peer: Peer) -> None:
    await peer.publish(TOPIC, b"first", queue_id=0)
    plain, without_id = "UNIQ_KEY\x01A\x02", "TAGS\x01t\x02"
    answers = await together(
        peer,
        (TOPIC, 0, b"1", plain),
        (TOPIC, 0, b"2", without_id),
        (TOPIC, 0, b"3", plain),
        ("made-by-this", 0, b"4", plain),
        (TOPIC, 9, b"5", plain),
        (TOPIC, 0, b"6", plain),
    )
    assert [answer.code == 0 for answer in answers] == [True, True, True, True, False, True]
    assert "queueId[9] is illegal" in (answers[4].remark or "")
    assert [each.body for each in await peer.messages(TOPIC, queue_id=0)] == [b"first", b"1", b"2", b"3", b"6"]
    assert [each.body for each in await peer.messages("made-by-this", queue_id=0)] == [b"4"]


async def test_what_is_refused_of_sends_in_one_piece_is_refused_alone(node: Node, peer: Peer) -> None:
    topic = await node.topics.create("small", partitions=1, settings={"max.message.bytes": "600"})
    sends = [(topic.name, 0, b"x" * size, f"UNIQ_KEY\x01ID{size}\x02") for size in (10, 700, 20, 900, 30)]
    answers = await together(peer, *sends)
    assert [answer.code for answer in answers] == [0, ResponseCode.MESSAGE_ILLEGAL, 0, ResponseCode.MESSAGE_ILLEGAL, 0]
    assert [len(each.body) for each in await peer.messages(topic.name, queue_id=0)] == [10, 20, 30]
    peer.finish()
    assert await peer.is_closed(), "nothing is under way"


@pytest.mark.parametrize("properties", ["", "a\x01b", "XUNIQ_KEY\x01no id\x02"])
async def test_a_message_without_an_id_is_given_one(peer: Peer, properties: str) -> None:
    answer = await peer.publish(TOPIC, b"a", properties=properties)
    message = await only(peer)
    assert len(unique_id(message)) == 32
    assert unique_id(message) == answer.fields["transactionId"]


async def test_without_a_queue_messages_take_turns_and_a_sharding_key_keeps_its_queue(peer: Peer) -> None:
    queues = [int((await peer.publish(TOPIC, b"a", queue_id=-1)).fields["queueId"]) for _ in range(8)]
    assert sorted(queues) == [0, 0, 1, 1, 2, 2, 3, 3]
    chosen = {
        (await peer.publish(TOPIC, b"a", queue_id=-1, properties={"__SHARDINGKEY": "k"})).fields["queueId"]
        for _ in range(5)
    }
    assert len(chosen) == 1


async def test_a_batch_is_stored_side_by_side_each_with_its_own_id(peer: Peer) -> None:
    await peer.publish(TOPIC, b"before", queue_id=3)
    batch = [
        BatchedMessage(body=b"%d" % number, properties=f"TAGS\x01t{number}\x02", flag=number) for number in range(5)
    ]
    answer = await peer.publish_batch(TOPIC, batch, queue_id=3)
    assert answer.code == 0
    assert answer.fields["queueOffset"] == "1"
    ids = answer.fields["msgId"].split(",")
    stored = (await peer.messages(TOPIC, queue_id=3))[1:]
    assert [message.offset_id for message in stored] == ids
    assert [message.body for message in stored] == [b"0", b"1", b"2", b"3", b"4"]
    assert [properties_of(message)["TAGS"] for message in stored] == ["t0", "t1", "t2", "t3", "t4"]
    assert [message.flag for message in stored] == [0, 1, 2, 3, 4]
    assert len({unique_id(message) for message in stored}) == 5


async def test_a_one_way_message_is_stored_and_never_answered(peer: Peer) -> None:
    peer.tell(RequestCode.SEND_MESSAGE_V2, in_letters(sending(TOPIC)), b"one way")
    peer.tell(RequestCode.SEND_MESSAGE_V2, in_letters(sending(TOPIC, queue_id=99)), b"refused")
    await peer.publish(TOPIC, b"with answer", queue_id=1)
    assert (await peer.read(TOPIC, wait_ms=5000)).code == 0
    assert [message.body for message in await peer.messages(TOPIC)] == [b"one way"]
    assert peer.heard == []


async def test_a_last_word_of_a_client_that_leaves_counts(node: Node, peer: Peer) -> None:
    await peer.publish(TOPIC, b"first")
    leaving = await another(node)
    for _ in range(100):
        leaving.tell(RequestCode.SEND_MESSAGE_V2, in_letters(sending(TOPIC)), b"last")
    await leaving.drain()
    await leaving.close()

    async def is_all_there() -> bool:
        return len(await peer.messages(TOPIC)) == 101

    await eventually(is_all_there)


@pytest.mark.parametrize(
    ("bits", "pack"),
    [
        (0x0, zlib.compress),
        (0x300, zlib.compress),
        (0x100, lambda body: bytes(cramjam.lz4.compress(body))),
        (0x200, lambda body: bytes(cramjam.zstd.compress(body))),
    ],
    ids=["old zlib", "zlib", "lz4", "zstd"],
)
async def test_a_compressed_body_is_opened(peer: Peer, bits: int, pack: Callable[[bytes], bytes]) -> None:
    body = b"a body that repeats itself. " * 500
    answer = await peer.publish(TOPIC, pack(body), sysFlag=0x1 | bits)
    assert answer.code == 0
    message = await only(peer)
    assert message.body == body
    assert message.sys_flag & 0x701 == 0


async def test_four_mebibytes_are_taken_and_one_byte_more_is_not(peer: Peer) -> None:
    limit = 4 << 20
    assert (await peer.publish(TOPIC, bytes(limit))).code == 0
    refused = await peer.publish(TOPIC, bytes(limit + 1))
    assert refused.code == ResponseCode.MESSAGE_ILLEGAL
    assert str(limit) in (refused.remark or "")
    assert len((await only(peer)).body) == limit


async def test_many_senders_at_once_all_get_their_own_places(node: Node) -> None:
    peers = [await another(node) for _ in range(20)]
    await peers[0].publish(TOPIC, b"first")
    answers = await asyncio.gather(*(peer.publish(TOPIC, b"%d" % n) for n, peer in enumerate(peers) for _ in range(20)))
    assert sorted(int(answer.fields["queueOffset"]) for answer in answers) == list(range(1, 401))
    stored = {message.queue_offset: message.body for message in await peers[0].messages(TOPIC)}
    assert all(stored[int(answer.fields["queueOffset"])] == b"%d" % (n // 20) for n, answer in enumerate(answers))
    for peer in peers:
        await peer.close()


async def test_a_compressed_body_may_be_as_large_as_the_settings_say(start_node: StartNode) -> None:
    node = await start_node(publish=PublishSettings(body_bytes_max=6 << 20))
    await node.topics.create(TOPIC, partitions=4, settings={"max.message.bytes": str(8 << 20)})
    peer = await another(node)
    body = bytes(5 << 20)
    assert (await peer.publish(TOPIC, zlib.compress(body), sysFlag=0x1)).code == 0
    assert (await only(peer)).body == body
    refused = await peer.publish(TOPIC, zlib.compress(bytes((6 << 20) + 1)), sysFlag=0x1)
    assert refused.code == ResponseCode.MESSAGE_ILLEGAL
    await peer.close()


# What is refused.


@pytest.mark.parametrize("kind", ["now", "later", "half"])
@pytest.mark.parametrize("v2", [False, True])
async def test_no_message_is_taken_for_a_queue_that_nobody_reads(peer: Peer, v2: bool, kind: str) -> None:
    """A producer may not have heard yet that the topic has fewer queues now."""
    await peer.get(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields(TOPIC, 4))
    await peer.get(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields(TOPIC, 2))
    kinds: dict[str, dict[str, Any]] = {
        "now": {},
        "later": {"properties": {"TIMER_DELAY_MS": "1"}},
        "half": {"properties": {"TRAN_MSG": "true", "PGROUP": "payers"}, "sysFlag": TRANSACTION_PREPARED},
    }
    more = kinds[kind]
    refused = await peer.publish(TOPIC, b"lost", v2=v2, queue_id=2, **more)
    assert refused.code == ResponseCode.INVALID_PARAMETER
    assert "2 queues" in (refused.remark or "")
    assert (await peer.publish(TOPIC, b"kept", v2=v2, queue_id=1)).code == 0
    await peer.get(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields(TOPIC, 4))
    assert [message.body for message in await peer.all_messages(TOPIC, 4)] == [b"kept"]


async def test_a_refused_message_is_nowhere(node: Node, peer: Peer) -> None:
    await peer.publish(TOPIC, b"there")
    refusals = [
        await peer.publish(TOPIC, b"no such queue", queue_id=4),
        await peer.publish(TOPIC, b"broken", sysFlag=1),
        await peer.publish(TOPIC, b"unknown codec", sysFlag=1 | 0x700),
        await peer.publish(TOPIC, b"too many properties", properties={"a": "x" * 40_000}),
        await peer.publish(TOPIC, b"never born", bornTimestamp=(1 << 63) - 1),
        await peer.publish(TOPIC, b"no number", properties={"DELAY": "soon"}),
        await peer.publish(TOPIC, b"too late", properties={"TIMER_DELAY_SEC": str(41 * 86_400)}),
        await peer.publish(TOPIC, bytes(65 << 10), properties={"DELAY": "1"}),
        await peer.publish_batch(TOPIC, []),
        await peer.publish_batch(TOPIC, [BatchedMessage(body=b"a", properties="DELAY\x011\x02")]),
        await peer.request(RequestCode.SEND_BATCH_MESSAGE, in_letters(sending(TOPIC)), b"no batch"),
    ]
    assert [answer.code for answer in refusals] == [29] + [13] * 10
    assert all(answer.remark for answer in refusals)
    assert [message.body for message in await peer.all_messages(TOPIC, 4)] == [b"there"]
    assert not await node.timers.page()


@pytest.mark.parametrize("properties", [{}, {"DELAY": "1"}, {"TRAN_MSG": "true"}])
@pytest.mark.parametrize("topic", ["SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "OFFSET_MOVED_EVENT"])
async def test_the_brokers_own_topics_are_forbidden(peer: Peer, topic: str, properties: dict[str, str]) -> None:
    answer = await peer.publish(topic, b"a", properties=properties)
    assert answer.code == ResponseCode.NO_PERMISSION
    assert topic in (answer.remark or "")


@pytest.mark.parametrize("topic", ["", "two words", "a/b", "заказы", "x" * 128, "..", "%RETRY%" + "x" * 249])
async def test_an_illegal_name_is_refused_with_its_reason(peer: Peer, topic: str) -> None:
    answer = await peer.publish(topic, b"a")
    assert answer.code in (ResponseCode.INVALID_PARAMETER, ResponseCode.SYSTEM_ERROR)
    assert answer.remark
    assert "mistake" not in answer.remark


async def test_topics_are_not_made_by_being_used_where_that_is_off(start_node: StartNode) -> None:
    node = await start_node(topics=TopicsSettings(auto_create="off"))
    peer = await another(node)
    answer = await peer.publish(TOPIC, b"a")
    assert answer.code == ResponseCode.TOPIC_NOT_EXIST
    assert (await peer.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "TBW102"})).code == 17
    await node.topics.create(TOPIC, partitions=1)
    assert (await peer.publish(TOPIC, b"a")).code == 0
    await peer.close()


async def test_a_topic_takes_only_messages_of_its_kind(node: Node, peer: Peer) -> None:
    for kind in TopicKind:
        await node.topics.create(kind.value, partitions=1, kind=kind)
    kinds = {
        "NORMAL": {},
        "FIFO": {"__SHARDINGKEY": "k"},
        "DELAY": {"DELAY": "1"},
        "TRANSACTION": {"TRAN_MSG": "true", "PGROUP": "g"},
    }
    for kind in TopicKind:
        for name, properties in kinds.items():
            answer = await peer.publish(kind.value, b"a", properties=properties, queue_id=-1)
            is_lowest = kind is TopicKind.PRIORITY and name == "NORMAL"  # a message that says no priority
            is_taken = kind is TopicKind.MIXED or kind.value.upper() == name or is_lowest
            assert answer.code == (0 if is_taken else ResponseCode.MESSAGE_ILLEGAL), (kind, name, answer.remark)


# Delayed.


@pytest.mark.parametrize("properties", [{"TIMER_DELAY_MS": "300"}, {"TIMER_DELIVER_MS": "300"}, {"DELAY": "1"}])
async def test_a_delayed_message_comes_at_its_time_with_its_id(peer: Peer, properties: dict[str, str]) -> None:
    began_ms = time.time_ns() // 1_000_000
    if "TIMER_DELIVER_MS" in properties:
        properties = {"TIMER_DELIVER_MS": str(began_ms + 300)}
    due_ms = began_ms + (1000 if "DELAY" in properties else 300)
    answer = await peer.publish(TOPIC, b"later", properties=properties | {"UNIQ_KEY": "ID1"}, queue_id=1)
    assert answer.code == 0
    assert await peer.messages(TOPIC, queue_id=1) == []
    found = await peer.read(TOPIC, 0, queueId=1, wait_ms=5000)
    assert found.code == 0
    assert time.time_ns() // 1_000_000 >= due_ms
    (message,) = await peer.messages(TOPIC, queue_id=1)
    assert (unique_id(message), message.body) == ("ID1", b"later")
    assert began_ms <= message.born_ms < due_ms <= message.store_ms


async def test_a_time_that_is_over_means_now(peer: Peer) -> None:
    answer = await peer.publish(TOPIC, b"a", properties={"TIMER_DELIVER_MS": "1000"})
    assert answer.code == 0
    assert (await only(peer)).offset_id == answer.fields["msgId"]


async def test_a_delayed_message_is_recalled_by_its_handle_once(node: Node, peer: Peer) -> None:
    answer = await peer.publish(TOPIC, b"never", properties={"TIMER_DELAY_SEC": "60", "UNIQ_KEY": "ID1"})
    recall = {"producerGroup": "g", "topic": TOPIC, "recallHandle": answer.fields["recallHandle"]}
    recalled = await peer.request(RequestCode.RECALL_MESSAGE, recall)
    assert (recalled.code, recalled.fields["msgId"]) == (0, "ID1")
    assert not await node.timers.page()
    again = await peer.request(RequestCode.RECALL_MESSAGE, recall)
    assert again.code == ResponseCode.ILLEGAL_OPERATION
    await peer.publish("others", b"a")
    for change in ({"recallHandle": "nonsense"}, {"recallHandle": ""}, {"topic": "others"}):
        assert (await peer.request(RequestCode.RECALL_MESSAGE, recall | change)).code == 604
    assert (await peer.request(RequestCode.RECALL_MESSAGE, recall | {"topic": "nowhere"})).code == 17


# Halves.


async def test_a_half_is_seen_when_it_is_committed_and_never_when_it_is_rolled_back(peer: Peer) -> None:
    committed, rolled_back = await peer.prepare(TOPIC, b"yes", UNIQ_KEY="ID1"), await peer.prepare(TOPIC, b"no")
    assert await peer.all_messages(TOPIC, 4) == []
    assert (await peer.end(committed, COMMIT)).code == 0
    assert (await peer.end(rolled_back, ROLLBACK)).code == 0
    message = await only(peer)
    assert (message.body, unique_id(message)) == (b"yes", "ID1")
    properties = properties_of(message)
    assert {"TRAN_MSG": "true", "PGROUP": "payers", "REAL_TOPIC": TOPIC}.items() <= properties.items()
    assert message.sys_flag & 0xC == 0x8


async def test_an_end_that_is_said_again_changes_nothing_and_another_end_is_refused(peer: Peer) -> None:
    half = await peer.prepare(TOPIC, b"a")
    assert [(await peer.end(half, COMMIT)).code for _ in range(3)] == [0, 0, 0]
    refused = await peer.end(half, ROLLBACK)
    assert refused.code != 0
    assert "committed" in (refused.remark or "")
    await only(peer)


async def test_an_end_of_another_group_or_of_nothing_is_refused(peer: Peer) -> None:
    half = await peer.prepare(TOPIC, b"a")
    assert (await peer.end(half, COMMIT, group="thieves")).code != 0
    for change in ({"commitLogOffset": 1}, {"tranStateTableOffset": -5}, {"commitLogOffset": (1 << 63) - 1}):
        answer = await peer.request(RequestCode.END_TRANSACTION, ending(half.fields, COMMIT) | change)
        assert answer.code != 0
        assert answer.remark
    assert await peer.all_messages(TOPIC, 4) == []


async def test_a_producer_that_died_is_replaced_by_another_of_its_group(start_node: StartNode) -> None:
    node = await start_node(halves=HalvesSettings(immunity_s=1, check_interval_s=1))
    first, second = await another(node), await another(node)
    await first.beat("first", producers=["payers"])
    half = await first.prepare(TOPIC, b"a", UNIQ_KEY="ID1")
    assert half.code == 0
    first.abort()
    await second.beat("second", producers=["payers"])
    await until(lambda: bool(second.heard), 10)
    question = second.heard[0]
    assert question.code == RequestCode.CHECK_TRANSACTION_STATE
    assert question.fields["transactionId"] == "ID1"
    asked = decode_message(question.body)
    assert (asked.body, asked.topic) == (b"a", TOPIC)
    assert properties_of(asked)["TRANSACTION_CHECK_TIMES"] == "1"
    second.tell(RequestCode.END_TRANSACTION, ending(question.fields, COMMIT, asked=True))
    found = await second.read(TOPIC, 0, queueId=asked.queue_id, wait_ms=5000)
    assert found.code == 0
    await first.close()
    await second.close()


async def test_a_half_that_is_too_old_for_its_producers_word_says_so(peer: Peer) -> None:
    half = await peer.prepare(TOPIC, b"a", CHECK_IMMUNITY_TIME_IN_SECONDS="0")
    await asyncio.sleep(0.02)
    assert (await peer.end(half, COMMIT)).code == ResponseCode.ILLEGAL_OPERATION
    assert (await peer.end(half, COMMIT, asked=True)).code == 0
    await only(peer)


# Requests and replies.


async def test_a_reply_goes_to_the_producer_that_waits_for_it(node: Node, peer: Peer) -> None:
    asker = await another(node)
    await asker.beat("asker", producers=["askers"])
    asker.answer = lambda _: Command(code=0)
    properties = {"REPLY_TO_CLIENT": "asker", "CORRELATION_ID": "c1", "MSG_TYPE": "reply"}
    answer = await peer.request(
        RequestCode.SEND_REPLY_MESSAGE_V2,
        in_letters(sending("DefaultCluster_REPLY_TOPIC", properties=properties)),
        b"the reply",
    )
    assert answer.code == 0
    (pushed,) = asker.heard
    assert pushed.body == b"the reply"
    assert "CORRELATION_ID\x01c1\x02" in pushed.fields["properties"]
    await asker.close()
    await until(lambda: node.members.producer_named("asker") is None)
    gone = await peer.request(
        RequestCode.SEND_REPLY_MESSAGE, sending("DefaultCluster_REPLY_TOPIC", properties=properties), b"too late"
    )
    assert gone.code == ResponseCode.SYSTEM_ERROR
    assert "asker" in (gone.remark or "")


async def test_a_producer_that_asks_is_known_before_its_first_heartbeat(node: Node, peer: Peer) -> None:
    asker = await another(node)
    asker.answer = lambda _: Command(code=0)
    asking = {"REPLY_TO_CLIENT": "asker", "CORRELATION_ID": "c1"}
    await asker.publish(TOPIC, b"the question", properties=asking)
    properties = {"REPLY_TO_CLIENT": "asker", "CORRELATION_ID": "c1", "MSG_TYPE": "reply"}
    answer = await peer.request(
        RequestCode.SEND_REPLY_MESSAGE, sending("DefaultCluster_REPLY_TOPIC", properties=properties), b"the reply"
    )
    assert answer.code == 0
    assert [each.body for each in asker.heard] == [b"the reply"]
    await asker.close()
    await until(lambda: node.members.producer_named("asker") is None)


async def test_a_message_that_was_sent_wakes_who_waits_for_it(node: Node, peer: Peer) -> None:
    await peer.publish(TOPIC, b"first")
    reader = await another(node)
    waiting = reader.begin(RequestCode.PULL_MESSAGE, pulling(TOPIC, 1, wait_ms=10_000))
    await peer.publish(TOPIC, b"second")
    async with asyncio.timeout(5):
        assert (await waiting).code == 0
    await reader.close()
