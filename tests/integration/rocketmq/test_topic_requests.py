"""Topics, as RocketMQ's tools make, change, describe and delete them."""

from collections.abc import Awaitable, Callable

import pytest

from braidmq.model import DEFAULT_INSTANCE, Message, TopicKind
from braidmq.node import Node
from braidmq.protocols.rocketmq.codec import Command, RequestCode, ResponseCode, decode_body
from braidmq.protocols.rocketmq.codec.bodies import (
    CreateTopicListRequestBody,
    KVTable,
    MessageQueue,
    QueueData,
    SubscriptionGroupConfig,
    TopicConfig,
    TopicConfigSerializeWrapper,
    TopicList,
    TopicRouteData,
    TopicStatsTable,
)
from rocketmq_support import RawClient, topic_fields

StartNode = Callable[..., Awaitable[Node]]


async def route_of(client: RawClient, topic: str) -> QueueData:
    answer = await client.get(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
    return decode_body(TopicRouteData, answer.body).queue_datas[0]


async def config_of(client: RawClient, topic: str) -> TopicConfig:
    answer = await client.get(RequestCode.GET_TOPIC_CONFIG, {"topic": topic})
    return decode_body(TopicConfig, answer.body)


async def make(client: RawClient, topic: str, queues: int = 4, **more: object) -> Command:
    return await client.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields(topic, queues, **more))


async def test_a_topic_is_made_and_described_as_it_was_asked_for(client: RawClient) -> None:
    answer = await make(client, "orders", 3, order=True, attributes="+message.type=FIFO,+x=1")
    assert answer.code == ResponseCode.SUCCESS
    config = await config_of(client, "orders")
    assert (config.read_queue_nums, config.write_queue_nums, config.perm, config.order) == (3, 3, 6, True)
    assert config.attributes == {"message.type": "FIFO", "x": "1"}
    table = decode_body(TopicConfigSerializeWrapper, (await client.get(RequestCode.GET_ALL_TOPIC_CONFIG)).body)
    assert table.topic_config_table["orders"] == config


async def test_more_queues_make_partitions_and_fewer_are_only_shown(client: RawClient, node: Node) -> None:
    await make(client, "orders", 2)
    await make(client, "orders", 6)
    assert (await route_of(client, "orders")).read_queue_nums == 6
    await make(client, "orders", 4, writeQueueNums=3)
    route = await route_of(client, "orders")
    assert (route.read_queue_nums, route.write_queue_nums) == (4, 3)
    topic = node.catalog.topic(DEFAULT_INSTANCE, "orders")
    assert topic is not None
    assert len(topic.partition_numbers) == 6
    assert {node.publisher.choose(topic, Message.create(b"")) for _ in range(12)} == {0, 1, 2}
    await make(client, "orders", 6)
    assert (await route_of(client, "orders")).write_queue_nums == 6


async def test_a_topic_of_lite_topics_is_made_and_what_is_behind_them_is_not_listed(
    client: RawClient, node: Node
) -> None:
    await make(client, "devices", 1, attributes="+message.type=LITE,+lite.topic.expiration=30")
    assert (await config_of(client, "devices")).attributes == {"message.type": "LITE", "lite.topic.expiration": "30"}
    topic = node.catalog.topic(DEFAULT_INSTANCE, "devices")
    assert topic is not None
    assert (topic.kind, topic.settings["lite.topic.expiration"]) == (TopicKind.LITE, "30")
    await node.lite.send(topic, "d1", Message.create(b"a"))
    table = decode_body(TopicConfigSerializeWrapper, (await client.get(RequestCode.GET_ALL_TOPIC_CONFIG)).body)
    assert set(table.topic_config_table) == {"devices"}
    await make(client, "devices", 1, attributes="-lite.topic.expiration")
    assert (await config_of(client, "devices")).attributes == {"message.type": "LITE"}
    wrong = await make(client, "devices", 1, attributes="+lite.topic.expiration=0")
    assert "lite.topic.expiration" in (wrong.remark or "")


async def test_a_topic_changes_its_kind_and_keeps_what_is_not_spoken_of(client: RawClient, node: Node) -> None:
    await make(client, "orders", attributes="+message.type=DELAY,+x=1")
    await make(client, "orders", attributes="+y=2")
    assert (await config_of(client, "orders")).attributes == {"message.type": "DELAY", "x": "1", "y": "2"}
    await make(client, "orders", attributes="-message.type,-x")
    assert (await config_of(client, "orders")).attributes == {"y": "2"}
    topic = node.catalog.topic(DEFAULT_INSTANCE, "orders")
    assert topic is not None
    assert topic.kind is TopicKind.MIXED


async def test_a_topic_without_permission_is_neither_written_nor_read(client: RawClient) -> None:
    await make(client, "orders", 1, perm=4)
    assert (await route_of(client, "orders")).perm == 4
    assert (await client.send("orders", b"x")).code == ResponseCode.NO_PERMISSION
    await make(client, "orders", 1, perm=2)
    assert (await client.send("orders", b"x")).code == ResponseCode.SUCCESS
    refused = await client.pull("group", "orders", 0)
    assert refused.code == ResponseCode.NO_PERMISSION
    assert "orders" in (refused.remark or "")
    await make(client, "orders", 1, perm=6)
    assert (await client.pull("group", "orders", 0)).code == ResponseCode.SUCCESS


async def test_a_queue_that_is_not_shown_is_not_read(client: RawClient) -> None:
    await make(client, "orders", 4)
    await make(client, "orders", 4, readQueueNums=2)
    assert (await client.pull("group", "orders", 0, queue_id=3)).code == ResponseCode.INVALID_PARAMETER
    assert (await client.send("orders", b"x", queue_id=3)).code == ResponseCode.SUCCESS


@pytest.mark.parametrize(
    ("header", "named"),
    [
        (topic_fields("a b"), "a b"),
        (topic_fields(""), "0 characters"),
        (topic_fields("x" * 128), "128"),
        (topic_fields("TBW102"), "TBW102"),
        (topic_fields("DefaultCluster"), "DefaultCluster"),
        (topic_fields("orders", 0), "0"),
        (topic_fields("orders", 100_000), "100000"),
        (topic_fields("orders", attributes="+message.type=WRONG"), "WRONG"),
        (topic_fields("orders", attributes="message.type"), "message.type"),
    ],
)
async def test_what_cannot_be_made_is_refused_with_its_reason(
    client: RawClient, node: Node, header: dict[str, object], named: str
) -> None:
    answer = await client.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, header)
    assert answer.code == ResponseCode.INVALID_PARAMETER
    assert named in (answer.remark or "")
    assert node.catalog.topics() == []


async def test_several_topics_are_made_at_once(client: RawClient) -> None:
    body = CreateTopicListRequestBody(
        topic_config_list=[TopicConfig(topic_name=name, read_queue_nums=2, write_queue_nums=2) for name in ("a", "b")]
    )
    await client.get(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, None, body)
    names = decode_body(TopicList, (await client.get(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)).body)
    assert names.topic_list == ["a", "b"]
    body.topic_config_list = [TopicConfig(topic_name="c"), TopicConfig(topic_name="TBW102")]
    refused = await client.ask(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, None, body)
    assert refused.code == ResponseCode.INVALID_PARAMETER
    assert (await client.ask(RequestCode.GET_TOPIC_CONFIG, {"topic": "c"})).code == ResponseCode.TOPIC_NOT_EXIST


async def test_names_are_listed_by_cluster_and_apart_from_those_of_the_system(client: RawClient) -> None:
    await make(client, "orders")

    async def listed(code: RequestCode, **fields: str) -> list[str]:
        return decode_body(TopicList, (await client.get(code, fields)).body).topic_list

    assert await listed(RequestCode.GET_TOPICS_BY_CLUSTER, cluster="DefaultCluster") == ["orders"]
    assert await listed(RequestCode.GET_TOPICS_BY_CLUSTER, cluster="elsewhere") == []
    assert await listed(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS) == ["DefaultCluster", "node-1"]
    assert "RMQ_SYS_TRACE_TOPIC" in await listed(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER)


async def test_a_deleted_topic_is_gone_from_broker_and_name_server(client: RawClient) -> None:
    await make(client, "orders")
    for code in (RequestCode.DELETE_TOPIC_IN_BROKER, RequestCode.DELETE_TOPIC_IN_NAMESRV):
        await client.get(code, {"topic": "orders"})
    assert (await client.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "orders"})).code == (
        ResponseCode.TOPIC_NOT_EXIST
    )
    refused = await client.ask(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "TBW102"})
    assert refused.code == ResponseCode.INVALID_PARAMETER


async def test_statistics_tell_bounds_and_the_last_time(client: RawClient) -> None:
    await make(client, "orders", 2)
    sent = await client.send("orders", b"one", queue_id=1)
    await client.send("orders", b"two", queue_id=1)
    assert sent.code == ResponseCode.SUCCESS
    answer = await client.get(RequestCode.GET_TOPIC_STATS_INFO, {"topic": "orders"})
    table = decode_body(TopicStatsTable, answer.body).offset_table
    empty, full = (table[MessageQueue("orders", "node-1", queue)] for queue in (0, 1))
    assert (empty.min_offset, empty.max_offset, empty.last_update_timestamp) == (0, 0, 0)
    assert (full.min_offset, full.max_offset) == (0, 2)
    assert full.last_update_timestamp > 1_600_000_000_000
    unknown = await client.ask(RequestCode.GET_TOPIC_STATS_INFO, {"topic": "nothing"})
    assert unknown.code == ResponseCode.TOPIC_NOT_EXIST


async def test_values_are_kept_by_namespace_and_key(client: RawClient) -> None:
    place = {"namespace": "ORDER_TOPIC_CONFIG", "key": "orders/a"}
    missing = await client.ask(RequestCode.GET_KV_CONFIG, place)
    assert missing.code == ResponseCode.QUERY_NOT_FOUND
    await client.get(RequestCode.PUT_KV_CONFIG, {**place, "value": "node-1:4"})
    assert (await client.get(RequestCode.GET_KV_CONFIG, place)).fields["value"] == "node-1:4"
    listed = await client.get(RequestCode.GET_KVLIST_BY_NAMESPACE, {"namespace": "ORDER_TOPIC_CONFIG"})
    assert decode_body(KVTable, listed.body).table == {"orders/a": "node-1:4"}
    await client.get(RequestCode.DELETE_KV_CONFIG, place)
    for code in (RequestCode.GET_KV_CONFIG, RequestCode.GET_KVLIST_BY_NAMESPACE):
        assert (await client.ask(code, place)).code == ResponseCode.QUERY_NOT_FOUND


async def test_an_operator_sends_producers_elsewhere_and_back(client: RawClient) -> None:
    await make(client, "orders")
    broker = {"brokerName": "node-1"}
    wiped = await client.get(RequestCode.WIPE_WRITE_PERM_OF_BROKER, broker)
    assert wiped.fields["wipeTopicCount"] == "1"
    assert (await route_of(client, "orders")).perm == 4
    other = await client.get(RequestCode.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "elsewhere"})
    assert other.fields["wipeTopicCount"] == "0"
    added = await client.get(RequestCode.ADD_WRITE_PERM_OF_BROKER, broker)
    assert added.fields["addTopicCount"] == "1"
    assert (await route_of(client, "orders")).perm == 6


async def test_what_tools_have_said_outlives_the_node(start_node: StartNode) -> None:
    node = await start_node()
    client = await RawClient.connect(*node.addresses["rocketmq"][0])
    await make(client, "orders", 4, writeQueueNums=2, perm=4, attributes="+message.type=FIFO,+x=1")
    await client.get(RequestCode.PUT_KV_CONFIG, {"namespace": "n", "key": "k", "value": "v"})
    await client.get(RequestCode.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "node-1"})
    group = SubscriptionGroupConfig(group_name="buyers", consume_enable=False, retry_max_times=3)
    await client.get(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, group)
    before = await config_of(client, "orders")
    await client.close()
    await node.stop()
    again = await start_node()
    client = await RawClient.connect(*again.addresses["rocketmq"][0])
    assert await config_of(client, "orders") == before
    assert (await route_of(client, "orders")).perm == 4
    assert (await client.get(RequestCode.GET_KV_CONFIG, {"namespace": "n", "key": "k"})).fields["value"] == "v"
    await make(client, "orders", 4, perm=6)
    assert (await route_of(client, "orders")).perm == 4
    answer = await client.get(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": "buyers"})
    assert decode_body(SubscriptionGroupConfig, answer.body) == group
    await client.close()
