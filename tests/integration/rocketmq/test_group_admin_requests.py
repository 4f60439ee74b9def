"""Consumer groups, as RocketMQ's tools make, change, describe and delete them."""

import msgspec
import pytest

from braidmq.model import DEFAULT_INSTANCE
from braidmq.model.group_settings import retry_steps_ms
from braidmq.node import Node
from braidmq.protocols.rocketmq.codec import RequestCode, ResponseCode, decode_body
from braidmq.protocols.rocketmq.codec.bodies import (
    CustomizedRetryPolicy,
    ExponentialRetryPolicy,
    GroupForbidden,
    GroupRetryPolicy,
    MessageModel,
    SubscriptionGroupConfig,
    SubscriptionGroupList,
    SubscriptionGroupWrapper,
)
from rocketmq_support import RawClient, topic_fields

UPDATE = RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP


async def config_of(client: RawClient, group: str) -> SubscriptionGroupConfig:
    answer = await client.get(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": group})
    return decode_body(SubscriptionGroupConfig, answer.body)


async def test_a_group_is_made_and_described_as_it_was_asked_for(client: RawClient, node: Node) -> None:
    asked = SubscriptionGroupConfig(
        group_name="buyers",
        consume_message_orderly=True,
        retry_max_times=3,
        retry_queue_nums=2,
        consume_timeout_minute=7,
        attributes={"+x": "1"},
    )
    await client.get(UPDATE, None, asked)
    asked.attributes = {"x": "1"}
    assert await config_of(client, "buyers") == asked
    wrapper = await client.get(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG)
    assert decode_body(SubscriptionGroupWrapper, wrapper.body).subscription_group_table == {"buyers": asked}
    group = node.catalog.group(DEFAULT_INSTANCE, "buyers")
    assert group is not None
    assert (group.attempts_max, group.ordered) == (3, True)
    retry = node.catalog.topic(DEFAULT_INSTANCE, "%RETRY%buyers")
    assert retry is not None
    assert len(retry.partition_numbers) == 2


async def test_attributes_about_lite_topics_are_settings_of_the_group(client: RawClient, node: Node) -> None:
    said = {"+lite.sub.model": "Exclusive", "+lite.bind.topic": "devices", "+x": "1"}
    await client.get(UPDATE, None, SubscriptionGroupConfig(group_name="buyers", attributes=said))
    group = node.catalog.group(DEFAULT_INSTANCE, "buyers")
    assert group is not None
    assert group.settings["lite.sub.model"] == "Exclusive"
    await node.catalog.save_group(
        msgspec.structs.replace(group, settings={**group.settings, "lite.sub.model": "Shared"})
    )
    assert (await config_of(client, "buyers")).attributes == {
        "lite.sub.model": "Shared",
        "lite.bind.topic": "devices",
        "x": "1",
    }
    await client.get(UPDATE, None, SubscriptionGroupConfig(group_name="buyers", attributes={"-lite.bind.topic": ""}))
    assert (await config_of(client, "buyers")).attributes == {"lite.sub.model": "Shared", "x": "1"}
    wrong = SubscriptionGroupConfig(group_name="buyers", attributes={"+lite.sub.model": "Mine"})
    assert "Exclusive" in ((await client.ask(UPDATE, None, wrong)).remark or "")


@pytest.mark.parametrize(
    ("policy", "steps_ms"),
    [
        (
            GroupRetryPolicy(
                type="EXPONENTIAL",
                exponential_retry_policy=ExponentialRetryPolicy(initial=1000, max=5000, multiplier=2),
            ),
            (1000, 2000, 4000, 5000),
        ),
        (
            GroupRetryPolicy(customized_retry_policy=CustomizedRetryPolicy(next=[1000, 5000, 10_000, 30_000])),
            (10_000, 30_000),
        ),
    ],
)
async def test_a_policy_of_retry_becomes_the_steps_of_the_group(
    client: RawClient, node: Node, policy: GroupRetryPolicy, steps_ms: tuple[int, ...]
) -> None:
    await client.get(UPDATE, None, SubscriptionGroupConfig(group_name="buyers", group_retry_policy=policy))
    group = node.catalog.group(DEFAULT_INSTANCE, "buyers")
    assert group is not None
    assert retry_steps_ms(group.settings) == steps_ms
    assert (await config_of(client, "buyers")).group_retry_policy == policy


async def test_a_group_that_may_not_consume_is_refused_until_it_may(client: RawClient) -> None:
    await client.get(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields("orders", 1))
    await client.get(UPDATE, None, SubscriptionGroupConfig(group_name="buyers", consume_enable=False))
    refused = await client.pull("buyers", "orders", 0)
    assert refused.code == ResponseCode.NO_PERMISSION
    assert "buyers" in (refused.remark or "")
    await client.get(UPDATE, None, SubscriptionGroupConfig(group_name="buyers"))
    assert (await client.pull("buyers", "orders", 0)).code == ResponseCode.PULL_NOT_FOUND


async def test_broadcasting_can_be_forbidden(client: RawClient) -> None:
    await client.get(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields("orders", 1))
    await client.get(UPDATE, None, SubscriptionGroupConfig(group_name="buyers", consume_broadcast_enable=False))
    await client.beat("one", group="buyers", topics={"orders": "*"}, model=MessageModel.BROADCASTING)
    assert (await client.pull("buyers", "orders", 0)).code == ResponseCode.NO_PERMISSION
    await client.beat("one", group="buyers", topics={"orders": "*"})
    assert (await client.pull("buyers", "orders", 0)).code == ResponseCode.PULL_NOT_FOUND


async def test_a_group_can_be_kept_from_one_topic(client: RawClient) -> None:
    for topic in ("orders", "bills"):
        await client.get(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields(topic, 1))
    await client.get(UPDATE, None, SubscriptionGroupConfig(group_name="buyers"))
    place = {"group": "buyers", "topic": "orders"}

    async def readable(**more: object) -> bool | None:
        answer = await client.get(RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, {**place, **more})
        return decode_body(GroupForbidden, answer.body).readable

    assert await readable() is True
    assert await readable(readable=False) is False
    assert (await client.pull("buyers", "orders", 0)).code == ResponseCode.NO_PERMISSION
    assert (await client.pull("buyers", "bills", 0)).code == ResponseCode.PULL_NOT_FOUND
    wrapper = await client.get(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG)
    assert decode_body(SubscriptionGroupWrapper, wrapper.body).forbidden_table == {"buyers": {"orders": 4}}
    assert await readable(readable=True) is True
    assert (await client.pull("buyers", "orders", 0)).code == ResponseCode.PULL_NOT_FOUND


async def test_a_deleted_group_keeps_its_offsets_unless_they_are_to_go(client: RawClient, node: Node) -> None:
    await client.get(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields("orders", 1))
    commit = {"consumerGroup": "buyers", "topic": "orders", "queueId": 0, "commitOffset": 0}
    body = SubscriptionGroupList(
        group_config_list=[SubscriptionGroupConfig(group_name=name) for name in ("buyers", "sellers")]
    )
    await client.get(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, None, body)
    await client.get(RequestCode.UPDATE_CONSUMER_OFFSET, commit)
    await client.get(RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": "buyers"})
    assert node.groups.offsets("buyers")
    unknown = await client.ask(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": "buyers"})
    assert unknown.code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    await client.get(RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": "buyers", "cleanOffset": True})
    assert not node.groups.offsets("buyers")
    assert (await config_of(client, "sellers")).group_name == "sellers"


@pytest.mark.parametrize(
    "config",
    [
        SubscriptionGroupConfig(group_name=""),
        SubscriptionGroupConfig(group_name="x" * 121),
        SubscriptionGroupConfig(group_name="buyers", retry_max_times=0),
        SubscriptionGroupConfig(group_name="buyers", attributes={"x": "1"}),
    ],
)
async def test_what_no_group_can_be_is_refused(client: RawClient, node: Node, config: SubscriptionGroupConfig) -> None:
    assert (await client.ask(UPDATE, None, config)).code == ResponseCode.INVALID_PARAMETER
    assert node.catalog.groups() == []
