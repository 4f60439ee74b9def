"""Popping: messages one by one, acknowledged one by one, by requests as clients write them."""

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from braidmq.model import Group
from braidmq.node import Node
from braidmq.protocols.rocketmq.codec import Command, RequestCode, ResponseCode, decode_body
from braidmq.protocols.rocketmq.codec.bodies import MessageRequestMode, QueryAssignmentResponseBody
from braidmq.protocols.rocketmq.codec.messages import decode_messages, read_properties
from rocketmq_peer import Peer, another

TOPIC = "orders"
GROUP = "poppers"


@pytest.fixture(autouse=True)
async def topic(node: Node) -> None:
    await node.topics.create(TOPIC, partitions=2)
    await node.catalog.save_group(Group(name=GROUP, attempts_max=1))


@pytest.fixture
async def peer(node: Node) -> AsyncIterator[Peer]:
    peer = await another(node)
    yield peer
    await peer.close()


def popping(**more: Any) -> dict[str, Any]:
    now_ms = time.time_ns() // 1_000_000
    return {
        "consumerGroup": GROUP, "topic": TOPIC, "queueId": -1, "maxMsgNums": 32, "invisibleTime": 60_000, "pollTime": 0,
        "bornTime": now_ms, "initMode": 0, "expType": "TAG", "exp": "*", "order": "false",
    } | more  # fmt: skip


class Popped:
    """One message as a client sees it."""

    def __init__(self, message: Any) -> None:
        self.message = message
        self.body = message.body
        self.properties = read_properties(message.properties)
        self.handle = self.properties["POP_CK"]


async def pop(peer: Peer, **more: Any) -> list[Popped]:
    answer = await peer.request(RequestCode.POP_MESSAGE, popping(**more))
    if answer.code == ResponseCode.POLLING_TIMEOUT:
        return []
    assert answer.code == 0, answer.remark
    return [Popped(each) for each in decode_messages(answer.body)]


def naming(handle: str, **more: Any) -> dict[str, Any]:
    """As clients name a message: by its handle, and by fields that they take from it."""
    fields = handle.split(" ")
    return {
        "consumerGroup": GROUP, "topic": TOPIC, "queueId": fields[6], "extraInfo": handle, "offset": fields[7],
    } | more  # fmt: skip


async def ack(peer: Peer, handle: str) -> Command:
    return await peer.request(RequestCode.ACK_MESSAGE, naming(handle))


async def test_a_popped_message_is_hidden_until_it_is_acknowledged(peer: Peer) -> None:
    await peer.publish(TOPIC, b"a", queueId=0)
    (popped,) = await pop(peer)
    assert (popped.body, popped.message.reconsume_times, popped.message.queue_id) == (b"a", 0, 0)
    assert popped.properties["1ST_POP_TIME"]
    assert len(popped.handle.split(" ")) == 8
    assert await pop(peer) == []
    assert (await ack(peer, popped.handle)).code == 0
    assert (await ack(peer, popped.handle)).code == ResponseCode.NO_MESSAGE


async def test_a_message_that_is_not_acknowledged_comes_again_with_its_count(peer: Peer) -> None:
    await peer.publish(TOPIC, b"a")
    (first,) = await pop(peer, invisibleTime=50)
    began = time.monotonic()
    (second,) = await pop(peer, pollTime=10_000)
    assert time.monotonic() - began < 1
    assert second.message.reconsume_times == 1
    assert (await ack(peer, first.handle)).code == ResponseCode.NO_MESSAGE
    assert (await ack(peer, second.handle)).code == 0


async def test_after_its_last_attempt_it_is_a_dead_letter(node: Node, peer: Peer) -> None:
    await peer.publish(TOPIC, b"a")
    for _ in range(2):
        assert len(await pop(peer, invisibleTime=20, pollTime=5000)) == 1
    assert await pop(peer, pollTime=300) == []
    dead = node.topics.find(f"%DLQ%{GROUP}")
    assert dead is not None
    found = await peer.read(f"%DLQ%{GROUP}", 0)
    (message,) = decode_messages(found.body)
    assert message.body == b"a"
    assert read_properties(message.properties)["DLQ_ORIGIN_TOPIC"] == TOPIC


async def test_the_time_of_a_message_is_changed_and_its_handle_with_it(peer: Peer) -> None:
    await peer.publish(TOPIC, b"a", queueId=1)
    (popped,) = await pop(peer)
    changed = await peer.request(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, naming(popped.handle, invisibleTime=30_000))
    assert changed.code == 0
    fields = popped.handle.split(" ")
    handle = " ".join(
        [fields[7], changed.fields["popTime"], changed.fields["invisibleTime"], changed.fields["reviveQid"], "0",
         fields[5], fields[6], fields[7]]
    )  # fmt: skip
    assert (await ack(peer, popped.handle)).code == ResponseCode.NO_MESSAGE
    assert (await ack(peer, handle)).code == 0


async def test_a_message_that_is_given_up_for_a_while_comes_when_it_was_asked_to(peer: Peer) -> None:
    await peer.publish(TOPIC, b"a")
    (popped,) = await pop(peer)
    await peer.request(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, naming(popped.handle, invisibleTime=200))
    began = time.monotonic()
    (again,) = await pop(peer, pollTime=10_000)
    assert 0.1 < time.monotonic() - began < 2
    assert again.message.reconsume_times == 1


async def test_many_are_acknowledged_at_once(peer: Peer) -> None:
    for at in range(3):
        await peer.publish(TOPIC, b"%d" % at, queueId=0)
    popped = await pop(peer)
    assert len(popped) == 3
    acks = []
    for each in popped:
        fields = each.handle.split(" ")
        acks.append(
            {"c": GROUP, "t": TOPIC, "r": "0", "so": int(fields[0]), "q": int(fields[6]), "rq": int(fields[3]),
             "pt": int(fields[1]), "it": int(fields[2]), "b": base64.b64encode(b"\x01").decode()}
        )  # fmt: skip
    body = json.dumps({"brokerName": "node-1", "acks": acks}).encode()
    assert (await peer.request(RequestCode.BATCH_ACK_MESSAGE, {}, body)).code == 0
    for each in popped:
        assert (await ack(peer, each.handle)).code == ResponseCode.NO_MESSAGE


@pytest.mark.parametrize(
    "handle", ["", "a b c", "0 0 0 0 0 b x y", "0 1 2 3 0 node-1 0 0", "0 1 2 -3 0 node-1 0 0", "9" * 99]
)
async def test_handles_of_no_message_are_refused(peer: Peer, handle: str) -> None:
    await peer.publish(TOPIC, b"a", queueId=0)
    await pop(peer)
    named = {"consumerGroup": GROUP, "topic": TOPIC, "queueId": 0, "extraInfo": handle, "offset": 0}
    answer = await peer.request(RequestCode.ACK_MESSAGE, named)
    assert answer.code in (ResponseCode.NO_MESSAGE, ResponseCode.ILLEGAL_OPERATION)


async def test_tags_choose_and_what_they_leave_out_is_done(peer: Peer) -> None:
    for tag in ("A", "B"):
        await peer.publish(TOPIC, tag.encode(), properties={"TAGS": tag})
    assert [each.body for each in await pop(peer, exp="B")] == [b"B"]
    assert await pop(peer, exp="A") == []


async def test_a_waiting_pop_is_ended_by_a_message(node: Node, peer: Peer) -> None:
    waiter = await another(node)
    waiting = waiter.begin(RequestCode.POP_MESSAGE, popping(pollTime=10_000))
    await asyncio.sleep(0.05)
    info = await peer.request(RequestCode.POLLING_INFO, {"consumerGroup": GROUP, "topic": TOPIC, "queueId": -1})
    assert info.fields["pollingNum"] == "1"
    await peer.publish(TOPIC, b"a")
    async with asyncio.timeout(5):
        assert (await waiting).code == 0
    await waiter.close()


async def test_what_was_popped_by_a_client_that_died_waiting_is_for_others_at_once(node: Node, peer: Peer) -> None:
    waiter = await another(node)
    waiter.begin(RequestCode.POP_MESSAGE, popping(pollTime=10_000))
    await asyncio.sleep(0.05)
    waiter.reset()
    await asyncio.sleep(0.05)
    await peer.publish(TOPIC, b"a")
    (popped,) = await pop(peer, pollTime=5000)
    assert popped.message.reconsume_times == 0


async def test_peeking_takes_nothing(peer: Peer) -> None:
    await peer.publish(TOPIC, b"a")
    asked = {"consumerGroup": GROUP, "topic": TOPIC, "queueId": -1, "maxMsgNums": 10}
    for _ in range(2):
        answer = await peer.request(RequestCode.PEEK_MESSAGE, asked)
        assert [each.body for each in decode_messages(answer.body)] == [b"a"]
    assert len(await pop(peer)) == 1
    assert (await peer.request(RequestCode.PEEK_MESSAGE, asked)).code == ResponseCode.PULL_NOT_FOUND


async def test_a_notification_tells_that_there_is_something(node: Node, peer: Peer) -> None:
    asked = {"consumerGroup": GROUP, "topic": TOPIC, "queueId": -1, "pollTime": 100, "bornTime": 0}
    assert (await peer.request(RequestCode.NOTIFICATION, asked)).fields["hasMsg"] == "false"
    waiter = await another(node)
    waiting = waiter.begin(RequestCode.NOTIFICATION, asked | {"pollTime": 10_000})
    await peer.publish(TOPIC, b"a")
    async with asyncio.timeout(5):
        assert (await waiting).fields["hasMsg"] == "true"
    await waiter.close()


async def test_in_order_a_sharding_key_is_out_once(peer: Peer) -> None:
    for at in range(2):
        await peer.publish(TOPIC, b"k%d" % at, queueId=0, properties={"__SHARDINGKEY": "k"})
    await peer.publish(TOPIC, b"other", queueId=0, properties={"__SHARDINGKEY": "o"})
    (first,) = await pop(peer, order="true", maxMsgNums=1)
    assert [each.body for each in await pop(peer, order="true")] == [b"other"]
    await ack(peer, first.handle)
    assert [each.body for each in await pop(peer, order="true")] == [b"k1"]


async def test_asking_again_in_order_gives_the_same_batch(peer: Peer) -> None:
    await peer.publish(TOPIC, b"a", properties={"__SHARDINGKEY": "k"})
    (first,) = await pop(peer, order="true", attemptId="one")
    (again,) = await pop(peer, order="true", attemptId="one")
    assert again.message.queue_offset == first.message.queue_offset
    assert await pop(peer, order="true", attemptId="two") == []


async def assigned(peer: Peer, client: str, strategy: str = "AVG") -> list[tuple[int, MessageRequestMode]] | None:
    body = json.dumps(
        {"topic": TOPIC, "consumerGroup": GROUP, "clientId": client, "strategyName": strategy,
         "messageModel": "CLUSTERING"}
    ).encode()  # fmt: skip
    answer = await peer.request(RequestCode.QUERY_ASSIGNMENT, {}, body)
    assert answer.code == 0
    found = decode_body(QueryAssignmentResponseBody, answer.body).message_queue_assignments
    if found is None:
        return None
    return [(each.message_queue.queue_id, each.mode) for each in found if each.message_queue is not None]


async def test_members_that_pull_divide_the_queues_and_those_that_pop_share_them(node: Node, peer: Peer) -> None:
    other = await another(node)
    assert await assigned(peer, "c1") is None
    await peer.beat("c1", group=GROUP, topics={TOPIC: "*"})
    await other.beat("c2", group=GROUP, topics={TOPIC: "*"})
    pull = MessageRequestMode.PULL
    assert await assigned(peer, "c1") == [(0, pull)]
    assert await assigned(peer, "c2") == [(1, pull)]
    assert await assigned(peer, "c2", "AVG_BY_CIRCLE") == [(1, pull)]
    mode = json.dumps({"topic": TOPIC, "consumerGroup": GROUP, "mode": "POP", "popShareQueueNum": 0}).encode()
    assert (await peer.request(RequestCode.SET_MESSAGE_REQUEST_MODE, {}, mode)).code == 0
    assert await assigned(peer, "c1") == await assigned(peer, "c2") == [(-1, MessageRequestMode.POP)]
    await other.close()
