"""How far groups have come, and how operators let them go on elsewhere."""

import pytest

from braidmq.log import GroupOffset
from braidmq.node import Node
from braidmq.protocols.rocketmq.codec import RequestCode, ResponseCode, decode_body
from braidmq.protocols.rocketmq.codec.bodies import (
    ConsumeStats,
    ConsumeStatsList,
    GroupList,
    MessageQueue,
    QueryConsumeTimeSpanBody,
    QueryCorrectionOffsetBody,
    QuerySubscriptionResponseBody,
    ResetOffsetBody,
    SubscriptionGroupConfig,
    TopicList,
)
from rocketmq_support import Connect, RawClient, topic_fields

RESET = RequestCode.INVOKE_BROKER_TO_RESET_OFFSET


def queue(queue_id: int, topic: str = "orders") -> MessageQueue:
    return MessageQueue(topic, "node-1", queue_id)


async def commit(client: RawClient, group: str, offset: int, queue_id: int = 0) -> None:
    fields = {"consumerGroup": group, "topic": "orders", "queueId": queue_id, "commitOffset": offset}
    await client.get(RequestCode.UPDATE_CONSUMER_OFFSET, fields)


@pytest.fixture
async def client(client: RawClient) -> RawClient:
    """With a topic of two queues, of which the first has three messages, and two groups."""
    await client.get(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields("orders", 2))
    for name in ("buyers", "sellers"):
        await client.get(
            RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, SubscriptionGroupConfig(group_name=name)
        )
    for place in range(3):
        await client.send("orders", b"%d" % place)
    return client


async def test_progress_shows_both_sides_of_the_lag_and_the_last_time(client: RawClient) -> None:
    await commit(client, "buyers", 2)
    for fields in ({"consumerGroup": "buyers"}, {"consumerGroup": "buyers", "topic": "orders"}):
        answer = await client.get(RequestCode.GET_CONSUME_STATS, fields)
        table = decode_body(ConsumeStats, answer.body).offset_table
        assert (table[queue(0)].broker_offset, table[queue(0)].consumer_offset) == (3, 2)
        assert table[queue(0)].last_timestamp > 1_600_000_000_000
        assert (table[queue(1)].broker_offset, table[queue(1)].consumer_offset) == (0, 0)
    empty = await client.get(RequestCode.GET_CONSUME_STATS, {"consumerGroup": "sellers"})
    assert decode_body(ConsumeStats, empty.body).offset_table == {}


async def test_progress_shows_what_members_were_given_and_have_not_acknowledged_yet(client: RawClient) -> None:
    async def progress() -> tuple[int, int]:
        answer = await client.get(RequestCode.GET_CONSUME_STATS, {"consumerGroup": "buyers", "topic": "orders"})
        told = decode_body(ConsumeStats, answer.body).offset_table[queue(0)]
        return told.consumer_offset, told.pull_offset

    assert await progress() == (0, 0)
    await client.pull("sellers", "orders", 0)
    assert await progress() == (0, 0), "another group's"
    await client.pull("buyers", "orders", 0)
    assert await progress() == (0, 3)
    await commit(client, "buyers", 2)
    assert await progress() == (2, 3)
    await client.pull("buyers", "orders", 3)
    assert await progress() == (2, 3), "a pull that finds nothing says nothing"
    await commit(client, "buyers", 3)
    await client.send("orders", b"3")
    assert await progress() == (3, 3)
    await commit(client, "buyers", 4)
    assert await progress() == (4, 4), "an operator may go on further than members were given"


async def test_progress_of_all_groups_is_told_at_once(client: RawClient) -> None:
    await commit(client, "buyers", 1)
    answer = await client.get(RequestCode.GET_BROKER_CONSUME_STATS, {"isOrder": False})
    body = decode_body(ConsumeStatsList, answer.body)
    assert body.total_diff == 2
    listed = {group: stats for each in body.consume_stats_list for group, stats in each.items()}
    assert listed["buyers"][0].offset_table[queue(0)].consumer_offset == 1
    assert listed["sellers"] == []
    ordered = await client.get(RequestCode.GET_BROKER_CONSUME_STATS, {"isOrder": True})
    assert decode_body(ConsumeStatsList, ordered.body).total_diff == 0


async def test_it_is_known_who_reads_what(client: RawClient, connect: Connect) -> None:
    await commit(client, "buyers", 1)
    await (await connect()).beat("one", group="sellers", topics={"orders": "A"})
    groups = await client.get(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, {"topic": "orders"})
    assert decode_body(GroupList, groups.body).group_list == ["buyers", "sellers"]
    topics = await client.get(RequestCode.QUERY_TOPICS_BY_CONSUMER, {"group": "buyers"})
    assert decode_body(TopicList, topics.body).topic_list == ["orders"]
    asked = {"group": "sellers", "topic": "orders"}
    answer = await client.get(RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER, asked)
    subscription = decode_body(QuerySubscriptionResponseBody, answer.body).subscription_data
    assert subscription is not None
    assert subscription.tags_set == ["A"]


async def test_time_spans_tell_how_old_the_next_message_is(client: RawClient) -> None:
    await commit(client, "buyers", 1)
    answer = await client.get(RequestCode.QUERY_CONSUME_TIME_SPAN, {"topic": "orders", "group": "buyers"})
    first, second = decode_body(QueryConsumeTimeSpanBody, answer.body).consume_time_span_set
    assert first.message_queue == queue(0)
    assert first.min_time_stamp <= first.consume_time_stamp <= first.max_time_stamp
    assert 0 <= first.delay_time < 60_000
    assert (second.min_time_stamp, second.delay_time) == (-1, 0)


@pytest.mark.parametrize(
    ("asked", "offsets"),
    [
        ({"timestamp": 0}, {0: 0, 1: 0}),
        ({"timestamp": -1}, {0: 3, 1: 0}),
        ({"timestamp": 0, "queueId": 0, "offset": 2}, {0: 2}),
        ({"timestamp": -1, "queueId": 0, "offset": -1}, {0: 3}),
    ],
)
async def test_a_group_without_members_is_set_elsewhere(
    client: RawClient, node: Node, asked: dict[str, int], offsets: dict[int, int]
) -> None:
    await commit(client, "buyers", 1)
    answer = await client.get(RESET, {"topic": "orders", "group": "buyers", "isForce": True, **asked})
    assert decode_body(ResetOffsetBody, answer.body).offset_table == {queue(at): to for at, to in offsets.items()}
    number = node.topics.find("orders").partition_numbers[0]  # type: ignore[union-attr]  # it was made
    assert node.groups.offsets("buyers")[number].offset == offsets[0]


async def test_a_group_that_has_only_offsets_is_set_elsewhere(client: RawClient, node: Node) -> None:
    """As groups of Kafka's consumers are."""
    topic = node.topics.find("orders")
    assert topic is not None
    number = topic.partition_numbers[0]
    await node.groups.commit("kafka-readers", None, {number: GroupOffset(2)})
    await client.get(RESET, {"topic": "orders", "group": "kafka-readers", "timestamp": 0, "isForce": True})
    assert node.groups.offsets("kafka-readers")[number].offset == 0


async def test_members_are_told_of_a_reset_with_their_next_pull(client: RawClient, connect: Connect) -> None:
    member = await connect()
    await member.beat("one", group="buyers", topics={"orders": "*"})
    await commit(member, "buyers", 3)
    await client.get(RESET, {"topic": "orders", "group": "buyers", "timestamp": 0, "isForce": True})
    await commit(member, "buyers", 3)
    moved = await member.pull("buyers", "orders", 3)
    assert (moved.code, moved.fields["nextBeginOffset"]) == (ResponseCode.PULL_OFFSET_MOVED, "0")
    stats = await client.get(RequestCode.GET_CONSUME_STATS, {"consumerGroup": "buyers"})
    assert decode_body(ConsumeStats, stats.body).offset_table[queue(0)].consumer_offset == 0


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"topic": "nothing"}, ResponseCode.TOPIC_NOT_EXIST),
        ({"group": "nobody"}, ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST),
        ({"queueId": 0, "offset": 4}, ResponseCode.INVALID_PARAMETER),
        ({"queueId": 9}, ResponseCode.INVALID_PARAMETER),
    ],
)
async def test_a_reset_that_cannot_be_is_refused(client: RawClient, asked: dict[str, object], code: int) -> None:
    answer = await client.ask(RESET, {"topic": "orders", "group": "buyers", "timestamp": 0, **asked})
    assert answer.code == code


async def test_offsets_are_copied_from_group_to_group(client: RawClient) -> None:
    await commit(client, "buyers", 2)
    for fields in ({"topic": "orders"}, {}):
        copy = {"srcGroup": "buyers", "destGroup": "sellers", "offline": True, **fields}
        await client.get(RequestCode.CLONE_GROUP_OFFSET, copy)
        stats = await client.get(RequestCode.GET_CONSUME_STATS, {"consumerGroup": "sellers"})
        assert decode_body(ConsumeStats, stats.body).offset_table[queue(0)].consumer_offset == 2


async def test_corrections_name_the_least_of_all_groups(client: RawClient) -> None:
    await commit(client, "buyers", 1)
    await commit(client, "sellers", 2)
    fields = {"topic": "orders", "compareGroup": "sellers"}

    async def corrections(**more: str) -> dict[int, int]:
        answer = await client.get(RequestCode.QUERY_CORRECTION_OFFSET, {**fields, **more})
        return decode_body(QueryCorrectionOffsetBody, answer.body).correction_offsets

    assert await corrections() == {0: 1}
    assert await corrections(filterGroups="buyers") == {0: 2}
    assert await corrections(filterGroups="buyers", compareGroup="buyers") == {0: (1 << 63) - 1}
