"""Pulls, offsets, groups and locks over the wire: who reads what, how far, and who hears of it."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from braidmq.core import locks
from braidmq.model import DEFAULT_INSTANCE, Group
from braidmq.node import Node
from braidmq.protocols.rocketmq.codec import Command, RequestCode, ResponseCode, decode_body
from braidmq.protocols.rocketmq.codec.bodies import (
    CheckClientRequestBody,
    GetConsumerListByGroupResponseBody,
    MessageQueue,
    SubscriptionData,
)
from braidmq.protocols.rocketmq.codec.messages import decode_messages
from braidmq.settings import GroupsSettings, RocketMQSettings
from inside_node import FREE, StartNode
from kafka_support import until
from rocketmq_peer import Peer, another, eventually, properties_of, pulling, sending, unique_id

TOPIC = "orders"
GROUP = "readers"
QUEUES = [MessageQueue(TOPIC, "node-1", queue) for queue in range(4)]


@pytest.fixture
async def peer(node: Node) -> AsyncIterator[Peer]:
    peer = await another(node)
    yield peer
    await peer.close()


async def fill(peer: Peer, count: int, tag: str = "", topic: str = TOPIC) -> None:
    for number in range(count):
        await peer.publish(topic, b"%d" % number, properties={"TAGS": tag} if tag else {})


def bodies(answer: Command) -> list[bytes]:
    return [message.body for message in decode_messages(answer.body)]


def begins(answer: Command) -> tuple[int, int, int]:
    """Where to go on, and what there is."""
    return (
        int(answer.fields["nextBeginOffset"]),
        int(answer.fields["minOffset"]),
        int(answer.fields["maxOffset"]),
    )


# Pulling.


@pytest.mark.parametrize("code", [RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE])
async def test_a_pull_brings_what_is_there_and_says_where_to_go_on(peer: Peer, code: RequestCode) -> None:
    await fill(peer, 5)
    answer = await peer.request(code, pulling(TOPIC, 1, maxMsgNums=3))
    assert (answer.code, bodies(answer), begins(answer)) == (0, [b"1", b"2", b"3"], (4, 0, 5))
    assert answer.fields["suggestWhichBrokerId"] == "0"
    assert [message.queue_offset for message in decode_messages(answer.body)] == [1, 2, 3]


async def test_at_the_end_there_is_nothing_and_the_fields_say_so(peer: Peer) -> None:
    await fill(peer, 2)
    answer = await peer.read(TOPIC, 2)
    assert (answer.code, answer.body, begins(answer)) == (ResponseCode.PULL_NOT_FOUND, b"", (2, 0, 2))


@pytest.mark.parametrize(("offset", "next_offset"), [(-1, 1), (0, 1), (4, 3), (1 << 62, 3)])
async def test_outside_of_what_is_kept_a_reader_is_sent_to_the_nearest_end(
    node: Node, peer: Peer, offset: int, next_offset: int
) -> None:
    await fill(peer, 3)
    topic = node.topics.find(TOPIC)
    assert topic is not None
    await node.log.delete_records(topic.partition_numbers[0], 1)
    answer = await peer.read(TOPIC, offset)
    assert (answer.code, begins(answer)) == (ResponseCode.PULL_OFFSET_MOVED, (next_offset, 1, 3))


async def test_an_answer_holds_no_more_than_was_asked_for(peer: Peer) -> None:
    for _ in range(5):
        await peer.publish(TOPIC, bytes(100_000))
    assert len(bodies(await peer.read(TOPIC, maxMsgBytes=250_000))) == 2
    assert len(bodies(await peer.read(TOPIC, maxMsgBytes=1))) == 1
    assert len(bodies(await peer.read(TOPIC))) == 2, "256 KiB unless said otherwise"
    assert len(bodies(await peer.read(TOPIC, maxMsgNums=0))) == 1
    assert len(bodies(await peer.read(TOPIC, maxMsgNums=-5))) == 1


async def test_a_filter_chooses_and_what_is_passed_over_is_not_asked_for_again(peer: Peer) -> None:
    await fill(peer, 3, "a")
    await fill(peer, 2, "b")
    chosen = await peer.read(TOPIC, subscription="b || c")
    assert (chosen.code, bodies(chosen), begins(chosen)) == (0, [b"0", b"1"], (5, 0, 5))
    none = await peer.read(TOPIC, subscription="c")
    assert (none.code, begins(none)) == (ResponseCode.PULL_RETRY_IMMEDIATELY, (5, 0, 5))


async def test_a_filter_that_cannot_be_read_is_refused_before_a_consumer_starts(peer: Peer) -> None:
    await fill(peer, 1)
    many = " || ".join(f"t{number}" for number in range(200))
    assert (await peer.read(TOPIC, subscription=many)).code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
    asked = CheckClientRequestBody(group=GROUP, subscription_data=SubscriptionData(topic=TOPIC, sub_string=many))
    answer = await peer.ask(RequestCode.CHECK_CLIENT_CONFIG, None, asked)
    assert answer.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
    assert "200" in (answer.remark or "")


async def test_a_waiting_pull_ends_with_the_first_message_that_is_wanted(node: Node, peer: Peer) -> None:
    await fill(peer, 1)
    reader = await another(node)
    waiting = reader.begin(RequestCode.PULL_MESSAGE, pulling(TOPIC, 1, wait_ms=10_000, subscription="b"))
    await fill(peer, 2, "a")
    assert not waiting.done()
    assert (await reader.read(TOPIC)).code == 0, "others on the same connection go on"
    await fill(peer, 1, "b")
    async with asyncio.timeout(5):
        answer = await waiting
    assert (answer.code, bodies(answer), begins(answer)[0]) == (0, [b"0"], 4)
    await reader.close()


async def test_a_pull_that_waited_in_vain_learns_how_far_it_came(peer: Peer) -> None:
    await fill(peer, 1)
    began = time.monotonic()
    empty = await peer.read(TOPIC, 1, wait_ms=200)
    assert (empty.code, begins(empty)) == (ResponseCode.PULL_NOT_FOUND, (1, 0, 1))
    assert time.monotonic() - began >= 0.19
    waiting = peer.begin(RequestCode.PULL_MESSAGE, pulling(TOPIC, 1, wait_ms=300, subscription="b"))
    await fill(peer, 2, "a")
    passed = await waiting
    assert (passed.code, begins(passed)[0]) == (ResponseCode.PULL_RETRY_IMMEDIATELY, 3)


async def test_a_pull_that_waits_ends_with_its_topic(node: Node, peer: Peer) -> None:
    await fill(peer, 1)
    waiting = peer.begin(RequestCode.PULL_MESSAGE, pulling(TOPIC, 1, wait_ms=10_000))
    await fill(peer, 1, topic="others")
    topic = node.topics.find(TOPIC)
    assert topic is not None
    await node.topics.delete(topic)
    async with asyncio.timeout(5):
        answer = await waiting
    assert answer.code in (ResponseCode.TOPIC_NOT_EXIST, ResponseCode.INVALID_PARAMETER)


async def test_waits_of_a_client_that_left_are_not_kept(node: Node, peer: Peer) -> None:
    await fill(peer, 1)
    reader = await another(node)
    for _ in range(50):
        reader.begin(RequestCode.PULL_MESSAGE, pulling(TOPIC, 1, wait_ms=60_000))
    assert (await reader.read(TOPIC)).code == 0
    reader.abort()
    topic = node.topics.find(TOPIC)
    assert topic is not None
    partition = node.log._engine.partitions[topic.partition_numbers[0]]
    await until(lambda: not partition.watchers, 5)
    await reader.close()


async def test_what_a_group_wants_is_known_from_its_heartbeats(peer: Peer) -> None:
    await fill(peer, 2, "a")
    await fill(peer, 1, "b")
    said = pulling(TOPIC, sysFlag=0, subscription="")
    assert (await peer.request(RequestCode.PULL_MESSAGE, said)).code == ResponseCode.SUBSCRIPTION_NOT_EXIST
    await peer.beat("me", group=GROUP, topics={TOPIC: "b"})
    answer = await peer.request(RequestCode.PULL_MESSAGE, said)
    assert bodies(answer) == [b"0"]
    future = str(time.time_ns() // 1_000_000 + 60_000)
    newer = await peer.request(RequestCode.PULL_MESSAGE, said | {"subVersion": future})
    assert newer.code == ResponseCode.SUBSCRIPTION_NOT_LATEST


async def test_each_member_gets_what_it_asked_for_and_the_difference_is_seen(node: Node, peer: Peer) -> None:
    await fill(peer, 1, "a")
    await fill(peer, 2, "b")
    other = await another(node)
    await peer.beat("me", group=GROUP, topics={TOPIC: "a"})
    await other.beat("other", group=GROUP, topics={TOPIC: "b"})
    said = pulling(TOPIC, sysFlag=0, subscription="")
    assert len(bodies(await peer.request(RequestCode.PULL_MESSAGE, said))) == 1
    assert len(bodies(await other.request(RequestCode.PULL_MESSAGE, said))) == 2
    assert [each.topic for each in node.members.differences(GROUP)] == [TOPIC]
    await other.close()


@pytest.mark.parametrize("change", [{"topic": "nowhere"}, {"queueId": 4}, {"queueId": -1}])
async def test_what_does_not_exist_cannot_be_pulled(peer: Peer, change: dict[str, object]) -> None:
    await fill(peer, 1)
    answer = await peer.request(RequestCode.PULL_MESSAGE, pulling(TOPIC) | change)
    assert answer.code == (ResponseCode.TOPIC_NOT_EXIST if "topic" in change else ResponseCode.INVALID_PARAMETER)


async def test_many_pulls_on_one_connection_are_answered_each_in_its_time(peer: Peer) -> None:
    await fill(peer, 100)
    answers = await asyncio.gather(*(peer.read(TOPIC, offset, maxMsgNums=1) for offset in range(100)))
    assert [bodies(answer) for answer in answers] == [[b"%d" % number] for number in range(100)]


# Offsets.


def place(**more: object) -> dict[str, object]:
    return {"consumerGroup": GROUP, "topic": TOPIC, "queueId": 0, **more}


async def offset_of(peer: Peer, **more: object) -> Command:
    return await peer.request(RequestCode.QUERY_CONSUMER_OFFSET, place(**more))


async def test_how_far_a_group_has_come_is_kept_over_a_restart(start_node: StartNode) -> None:
    node = await start_node()
    peer = await another(node)
    await fill(peer, 5)
    assert (await peer.request(RequestCode.UPDATE_CONSUMER_OFFSET, place(commitOffset=3))).code == 0
    await peer.close()
    await node.stop()
    node = await start_node()
    peer = await another(node)
    assert (await offset_of(peer)).fields["offset"] == "3"
    await peer.close()


async def test_a_pull_may_say_how_far_its_group_has_come(peer: Peer) -> None:
    await fill(peer, 5)
    await peer.read(TOPIC, 4, sysFlag=4 | 1, commitOffset=4)
    assert (await offset_of(peer)).fields["offset"] == "4"
    await peer.read(TOPIC, 4, sysFlag=4, commitOffset=2)
    assert (await offset_of(peer)).fields["offset"] == "4", "without the flag it says nothing"


async def test_a_pull_that_was_overtaken_by_a_commit_moves_no_group_back(peer: Peer) -> None:
    for number in range(5):
        await peer.publish(TOPIC, b"%d" % number, queueId=0)
    assert (await peer.request(RequestCode.UPDATE_CONSUMER_OFFSET, place(commitOffset=4))).code == 0
    await peer.read(TOPIC, 4, sysFlag=4 | 1, commitOffset=2)
    assert (await peer.request(RequestCode.QUERY_CONSUMER_OFFSET, place())).fields["offset"] == "4"
    assert (await peer.request(RequestCode.UPDATE_CONSUMER_OFFSET, place(commitOffset=1))).code == 0
    assert (await peer.request(RequestCode.QUERY_CONSUMER_OFFSET, place())).fields["offset"] == "1"


async def test_a_one_way_commit_is_kept(peer: Peer) -> None:
    await fill(peer, 5)
    peer.tell(RequestCode.UPDATE_CONSUMER_OFFSET, place(commitOffset=2))

    async def is_kept() -> bool:
        return (await offset_of(peer)).fields["offset"] == "2"

    await eventually(is_kept)


async def test_a_new_group_begins_at_the_start_of_a_young_queue(start_node: StartNode) -> None:
    node = await start_node()
    peer = await another(node)
    await fill(peer, 2)
    assert (await offset_of(peer)).fields["offset"] == "0"
    assert (await offset_of(peer, setZeroIfNotFound=False)).code == ResponseCode.QUERY_NOT_FOUND
    topic = node.topics.find(TOPIC)
    assert topic is not None
    await node.log.delete_records(topic.partition_numbers[0], 1)
    assert (await offset_of(peer)).code == ResponseCode.QUERY_NOT_FOUND, "its first message is gone"
    await peer.close()


async def test_a_new_group_may_be_left_to_its_own_choice(start_node: StartNode) -> None:
    node = await start_node(rocketmq=RocketMQSettings(listen=FREE, new_group_from_start="off"))
    peer = await another(node)
    await fill(peer, 2)
    assert (await offset_of(peer)).code == ResponseCode.QUERY_NOT_FOUND
    await peer.close()


async def test_a_queue_tells_its_first_and_its_next_offset_and_offsets_by_time(peer: Peer) -> None:
    before_ms = time.time_ns() // 1_000_000
    for number in range(3):
        await peer.publish(TOPIC, b"a", bornTimestamp=before_ms + 100 * number)
    queue: dict[str, object] = {"topic": TOPIC, "queueId": 0}
    assert (await peer.request(RequestCode.GET_MAX_OFFSET, queue)).fields["offset"] == "3"
    assert (await peer.request(RequestCode.GET_MIN_OFFSET, queue)).fields["offset"] == "0"
    earliest = await peer.request(RequestCode.GET_EARLIEST_MSG_STORETIME, queue)
    assert int(earliest.fields["timestamp"]) >= before_ms

    async def at(time_ms: int, boundary: str) -> str:
        asked = queue | {"timestamp": time_ms, "boundaryType": boundary}
        return (await peer.request(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, asked)).fields["offset"]

    assert [await at(before_ms + ms, "LOWER") for ms in (-1, 0, 1, 100, 200, 201)] == ["0", "0", "1", "1", "2", "3"]
    assert [await at(before_ms + ms, "UPPER") for ms in (-1, 0, 100, 150, 200, 300)] == ["0", "0", "1", "1", "2", "2"]


@pytest.mark.parametrize("change", [{"commitOffset": -1}, {"topic": "nowhere"}, {"queueId": 9}, {"consumerGroup": ""}])
async def test_a_commit_that_cannot_be_is_refused(peer: Peer, change: dict[str, object]) -> None:
    await fill(peer, 1)
    answer = await peer.request(RequestCode.UPDATE_CONSUMER_OFFSET, place(commitOffset=1) | change)
    assert answer.code != 0
    assert answer.remark
    assert "mistake" not in answer.remark


# Groups.


async def members(peer: Peer, group: str = GROUP) -> list[str]:
    answer = await peer.get(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group})
    return decode_body(GetConsumerListByGroupResponseBody, answer.body).consumer_id_list


async def test_members_see_one_another_and_hear_of_changes(node: Node, peer: Peer) -> None:
    await peer.beat("a", group=GROUP, topics={TOPIC: "*"})
    other = await another(node)
    await other.beat("b", group=GROUP, topics={TOPIC: "*"})
    assert await members(peer) == await members(other) == ["a", "b"]
    await until(lambda: len(peer.heard) == 2)
    assert {command.fields["consumerGroup"] for command in peer.heard} == {GROUP}
    assert {command.code for command in peer.heard} == {RequestCode.NOTIFY_CONSUMER_IDS_CHANGED}
    other.abort()
    await until(lambda: len(peer.heard) == 3)
    assert await members(peer) == ["a"]
    await peer.get(RequestCode.UNREGISTER_CLIENT, {"clientID": "a", "consumerGroup": GROUP})
    gone = await peer.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": GROUP})
    assert gone.code == ResponseCode.SYSTEM_ERROR
    await other.close()


async def test_a_client_that_leaves_while_its_group_is_made_is_no_member(
    node: Node, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_go_on, saved = asyncio.Event(), asyncio.Event(), asyncio.Event()
    real = node.catalog.save_group

    async def slowly(group: Group) -> None:
        begun.set()
        await may_go_on.wait()
        await real(group)
        saved.set()

    monkeypatch.setattr(node.catalog, "save_group", slowly)
    leaving = await another(node)
    beat = asyncio.create_task(leaving.beat("ghost", producers=["p"], group=GROUP, topics={TOPIC: "*"}))
    await begun.wait()
    leaving.reset()
    await until(lambda: not node.members.producers("p"))
    may_go_on.set()
    await saved.wait()
    await until(lambda: node.topics.find(f"%RETRY%{GROUP}") is not None)
    await fill(peer, 3)
    assert node.members.consumer_groups() == []
    beat.cancel()
    await leaving.close()


async def test_a_client_that_changes_its_name_leaves_no_ghost(node: Node, peer: Peer) -> None:
    await peer.beat("old name", group=GROUP, topics={TOPIC: "*"})
    await peer.beat("new name", group=GROUP, topics={TOPIC: "*"})
    assert await members(peer) == ["new name"]


async def test_a_heartbeat_makes_the_group_and_the_topic_of_its_retries(node: Node, peer: Peer) -> None:
    await peer.beat("a", group=GROUP, topics={TOPIC: "*"})
    assert node.catalog.group(DEFAULT_INSTANCE, GROUP) is not None
    route = await peer.route(f"%RETRY%{GROUP}")
    assert route.queue_datas[0].read_queue_nums == 1


# Locks.


async def test_a_queue_is_locked_by_one_member_at_a_time(node: Node, peer: Peer) -> None:
    await fill(peer, 1)
    assert await peer.lock(GROUP, "a", *QUEUES[:3]) == [0, 1, 2]
    assert await peer.lock(GROUP, "b", *QUEUES) == [3]
    assert await peer.lock("others", "b", *QUEUES) == [0, 1, 2, 3]
    await peer.unlock(GROUP, "b", QUEUES[0])
    assert await peer.lock(GROUP, "b", QUEUES[0]) == [], "only its holder gives a queue back"
    await peer.unlock(GROUP, "a", QUEUES[0])
    assert await peer.lock(GROUP, "b", QUEUES[0]) == [0]
    unknown = MessageQueue("nowhere", "node-1", 0), MessageQueue(TOPIC, "node-1", 99)
    assert await peer.lock(GROUP, "a", *unknown) == []


async def test_queues_of_a_member_that_died_are_free_when_its_lease_ends(start_node: StartNode) -> None:
    node = await start_node(groups=GroupsSettings(lock_lease_s=1))
    peer, dying = await another(node), await another(node)
    await fill(peer, 1)
    await dying.beat("dying", group=GROUP, topics={TOPIC: "*"})
    assert await dying.lock(GROUP, "dying", *QUEUES) == [0, 1, 2, 3]
    dying.abort()
    assert await peer.lock(GROUP, "me", *QUEUES) == []

    async def is_free() -> bool:
        return await peer.lock(GROUP, "me", *QUEUES) == [0, 1, 2, 3]

    await eventually(is_free, 5)
    await dying.close()
    await peer.close()


async def test_a_member_whose_connection_ends_keeps_its_queues_only_as_long_as_it_may_trust_them(
    node: Node, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "TRUSTED_MS", 300)
    dying = await another(node)
    await fill(peer, 1)
    await dying.beat("dying", group=GROUP, topics={TOPIC: "*"})
    assert await dying.lock(GROUP, "dying", *QUEUES) == [0, 1, 2, 3]
    dying.abort()

    async def is_free() -> bool:
        return await peer.lock(GROUP, "me", *QUEUES) == [0, 1, 2, 3]

    await eventually(is_free, 5)
    await dying.close()


async def test_who_lost_a_queue_cannot_say_how_far_the_group_has_come(node: Node, peer: Peer) -> None:
    await fill(peer, 5)
    holder = await another(node)
    await peer.beat("late", group=GROUP, topics={TOPIC: "*"})
    await holder.beat("holder", group=GROUP, topics={TOPIC: "*"})
    assert await holder.lock(GROUP, "holder", QUEUES[0]) == [0]
    assert (await holder.request(RequestCode.UPDATE_CONSUMER_OFFSET, place(commitOffset=4))).code == 0
    refused = await peer.request(RequestCode.UPDATE_CONSUMER_OFFSET, place(commitOffset=1))
    assert (refused.code, refused.remark) == (
        ResponseCode.ILLEGAL_OPERATION,
        f"member holder of group {GROUP} works on queue 0 of {TOPIC}: only what it says counts",
    )
    peer.tell(RequestCode.UPDATE_CONSUMER_OFFSET, place(commitOffset=1))
    await peer.read(TOPIC, 1, sysFlag=4 | 1, commitOffset=5)
    assert (await offset_of(peer)).fields["offset"] == "4"
    await holder.close()


async def test_who_lost_a_queue_to_another_that_is_gone_does_not_move_the_group_back(
    start_node: StartNode,
) -> None:
    node = await start_node(groups=GroupsSettings(lock_lease_s=1))
    late, holder = await another(node), await another(node)
    await fill(late, 5)
    await late.beat("late", group=GROUP, topics={TOPIC: "*"})
    await holder.beat("holder", group=GROUP, topics={TOPIC: "*"})
    assert await late.lock(GROUP, "late", QUEUES[0]) == [0]

    async def has_passed_on() -> bool:
        return await holder.lock(GROUP, "holder", QUEUES[0]) == [0]

    await eventually(has_passed_on, 5)
    assert (await holder.request(RequestCode.UPDATE_CONSUMER_OFFSET, place(commitOffset=4))).code == 0
    await holder.unlock(GROUP, "holder", QUEUES[0])
    refused = await late.request(RequestCode.UPDATE_CONSUMER_OFFSET, place(commitOffset=1))
    assert refused.code == ResponseCode.ILLEGAL_OPERATION
    assert (await offset_of(late)).fields["offset"] == "4"
    assert (await holder.request(RequestCode.UPDATE_CONSUMER_OFFSET, place(commitOffset=5))).code == 0
    assert await late.lock(GROUP, "late", QUEUES[0]) == [0]
    assert (await late.request(RequestCode.UPDATE_CONSUMER_OFFSET, place(commitOffset=3))).code == 0
    await late.close()
    await holder.close()


async def test_a_member_is_known_on_the_connection_on_which_it_asks_for_its_locks(node: Node, peer: Peer) -> None:
    """Clients that use the second port say there what they lock and how far they are, and nowhere else who they are."""
    await fill(peer, 5)
    late, holder = await another(node), await another(node)
    assert await late.lock(GROUP, "late", QUEUES[0]) == [0]
    await late.unlock(GROUP, "late", QUEUES[0])
    assert await holder.lock(GROUP, "holder", QUEUES[0]) == [0]
    assert (await holder.request(RequestCode.UPDATE_CONSUMER_OFFSET, place(commitOffset=4))).code == 0
    refused = await late.request(RequestCode.UPDATE_CONSUMER_OFFSET, place(commitOffset=1))
    assert refused.code == ResponseCode.ILLEGAL_OPERATION
    assert (await offset_of(peer)).fields["offset"] == "4"
    assert (await peer.request(RequestCode.UPDATE_CONSUMER_OFFSET, place(commitOffset=2))).code == 0, "of an operator"
    await late.close()
    await holder.close()


# Sending back.


def back(offset: int, **more: object) -> dict[str, object]:
    return {"offset": offset, "group": GROUP, "delayLevel": 1, "originMsgId": "ORIGIN", "originTopic": TOPIC, **more}


async def test_a_message_that_is_sent_back_comes_again_with_its_story(peer: Peer) -> None:
    await peer.beat("me", group=GROUP, topics={TOPIC: "*", f"%RETRY%{GROUP}": "*"})
    await peer.publish(TOPIC, b"hard", properties={"UNIQ_KEY": "ID1", "TAGS": "t"})
    (message,) = await peer.messages(TOPIC)
    assert (await peer.request(RequestCode.CONSUMER_SEND_MSG_BACK, back(message.physical_offset))).code == 0
    retried = await peer.read(f"%RETRY%{GROUP}", wait_ms=8000)
    (again,) = decode_messages(retried.body)
    assert (again.body, unique_id(again), again.reconsume_times) == (b"hard", "ID1", 1)
    told = {"RETRY_TOPIC": TOPIC, "ORIGIN_MESSAGE_ID": message.offset_id, "TAGS": "t"}
    assert told.items() <= properties_of(again).items()


async def test_a_message_that_was_tried_often_enough_is_a_dead_letter(peer: Peer) -> None:
    await peer.beat("me", group=GROUP, topics={TOPIC: "*"})
    await peer.publish(TOPIC, b"hopeless", properties={"UNIQ_KEY": "ID1"})
    await peer.publish(TOPIC, b"unwanted", properties={"UNIQ_KEY": "ID2"})
    first, second = await peer.messages(TOPIC)
    spent = back(first.physical_offset, maxReconsumeTimes=0)
    given_up = back(second.physical_offset, delayLevel=-1)
    for header in (spent, given_up):
        assert (await peer.request(RequestCode.CONSUMER_SEND_MSG_BACK, header)).code == 0
    dead = await peer.messages(f"%DLQ%{GROUP}")
    assert [(message.body, unique_id(message)) for message in dead] == [(b"hopeless", "ID1"), (b"unwanted", "ID2")]
    assert all(properties_of(message)["DLQ_ORIGIN_TOPIC"] == TOPIC for message in dead)


@pytest.mark.parametrize("offset", [-1, 0, 12345, (1 << 63) - 1, (500 << 40) + 1])
async def test_what_is_no_message_cannot_be_sent_back(peer: Peer, offset: int) -> None:
    await peer.beat("me", group=GROUP, topics={TOPIC: "*"})
    answer = await peer.request(RequestCode.CONSUMER_SEND_MSG_BACK, back(offset))
    assert answer.code != 0
    assert answer.remark
    assert "mistake" not in answer.remark


async def test_a_consumer_may_bring_a_message_back_itself(peer: Peer) -> None:
    await peer.beat("me", group=GROUP, topics={TOPIC: "*"})
    properties = {"RETRY_TOPIC": TOPIC, "DELAY": "1", "UNIQ_KEY": "ID1"}
    header = sending(f"%RETRY%{GROUP}", properties=properties, reconsumeTimes=1, maxReconsumeTimes=16)
    assert (await peer.request(RequestCode.SEND_MESSAGE, header, b"again")).code == 0
    retried = await peer.read(f"%RETRY%{GROUP}", wait_ms=8000)
    (again,) = decode_messages(retried.body)
    assert (again.body, again.reconsume_times, unique_id(again)) == (b"again", 1, "ID1")
