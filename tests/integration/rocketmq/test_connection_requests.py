"""Who is connected, and what they say when tools ask them through the broker."""

import time

import pytest

from braidmq.node import Node
from braidmq.protocols.rocketmq.codec import Command, RequestCode, ResponseCode, decode_body, encode_body
from braidmq.protocols.rocketmq.codec.bodies import (
    ConsumerConnection,
    ConsumerRunningInfo,
    ConsumeType,
    GetConsumerStatusBody,
    MessageModel,
    MessageQueue,
    ProducerConnection,
    ProducerTableInfo,
)
from braidmq.protocols.rocketmq.codec.messages import decode_messages
from braidmq.protocols.rocketmq.handlers import connections
from rocketmq_support import Connect, RawClient, topic_fields

RUNNING = RequestCode.GET_CONSUMER_RUNNING_INFO


async def test_consumers_are_listed_with_what_they_want(client: RawClient, connect: Connect) -> None:
    consumer = await connect()
    offline = await client.ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": "buyers"})
    assert offline.code == ResponseCode.CONSUMER_NOT_ONLINE
    await consumer.beat("one", group="buyers", topics={"orders": "A || B", "%RETRY%buyers": "*"})
    answer = await client.get(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": "buyers"})
    body = decode_body(ConsumerConnection, answer.body)
    assert [each.client_id for each in body.connection_set] == ["one"]
    assert body.connection_set[0].client_addr.startswith("127.0.0.1:")
    assert (body.consume_type, body.message_model) == (ConsumeType.CONSUME_PASSIVELY, MessageModel.CLUSTERING)
    assert sorted(body.subscription_table["orders"].tags_set) == ["A", "B"]
    assert body.subscription_table["%RETRY%buyers"].sub_string == "*"
    assert answer.remark is None


async def test_members_that_want_different_things_are_told_of(client: RawClient, connect: Connect) -> None:
    for name, expression in (("one", "A"), ("two", "B")):
        await (await connect()).beat(name, group="buyers", topics={"orders": expression})
    answer = await client.get(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": "buyers"})
    assert answer.remark == "members do not want the same, and lose messages: orders: tag A (one), tag B (two)"


async def test_producers_are_listed_by_group(client: RawClient, connect: Connect) -> None:
    producer = await connect()
    unknown = await client.ask(RequestCode.GET_PRODUCER_CONNECTION_LIST, {"producerGroup": "makers"})
    assert unknown.code == ResponseCode.SYSTEM_ERROR
    await producer.beat("one", producers=["makers"])
    answer = await client.get(RequestCode.GET_PRODUCER_CONNECTION_LIST, {"producerGroup": "makers"})
    assert [each.client_id for each in decode_body(ProducerConnection, answer.body).connection_set] == ["one"]
    table = decode_body(ProducerTableInfo, (await client.get(RequestCode.GET_ALL_PRODUCER_INFO)).body).data
    assert [each.client_id for each in table["makers"]] == ["one"]
    assert table["makers"][0].last_update_timestamp > (time.time() - 60) * 1000


async def test_a_consumer_tells_a_tool_how_it_runs(client: RawClient, connect: Connect) -> None:
    consumer = await connect()
    await consumer.beat("one", group="buyers", topics={"orders": "*"})
    told = ConsumerRunningInfo(properties={"PROP_CLIENT_VERSION": "V5"}, jstack="stack")
    consumer.answer = lambda _: Command(code=ResponseCode.SUCCESS, body=encode_body(told))
    fields = {"consumerGroup": "buyers", "clientId": "one", "jstackEnable": True}
    answer = await client.get(RUNNING, fields)
    assert decode_body(ConsumerRunningInfo, answer.body) == told
    asked = next(each for each in consumer.heard if each.code == RUNNING)
    assert asked.fields["jstackEnable"] == "true"
    absent = await client.ask(RUNNING, {**fields, "clientId": "two"})
    assert absent.code == ResponseCode.SYSTEM_ERROR
    assert "not online" in (absent.remark or "")


async def test_a_consumer_that_is_silent_is_told_of(
    client: RawClient, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    consumer = await connect()
    await consumer.beat("one", group="buyers", topics={"orders": "*"})
    fields = {"consumerGroup": "buyers", "clientId": "one"}
    monkeypatch.setattr(connections, "ASK_TIMEOUT_S", 0.05)
    silent = await client.ask(RUNNING, fields)
    assert silent.code == ResponseCode.CONSUME_MSG_TIMEOUT


async def test_a_consumer_works_on_one_message_when_asked(client: RawClient, connect: Connect) -> None:
    await client.get(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields("orders", 1))
    sent = await client.send("orders", b"again")
    consumer = await connect()
    await consumer.beat("one", group="buyers", topics={"orders": "*"})
    consumer.answer = lambda _: Command(code=ResponseCode.SUCCESS, body=b'{"consumeResult":"CR_SUCCESS"}')
    fields = {"consumerGroup": "buyers", "clientId": "one", "msgId": sent.fields["msgId"], "topic": "orders"}
    answer = await client.get(RequestCode.CONSUME_MESSAGE_DIRECTLY, fields)
    assert b"CR_SUCCESS" in answer.body
    asked = next(each for each in consumer.heard if each.code == RequestCode.CONSUME_MESSAGE_DIRECTLY)
    assert asked.fields["brokerName"] == "node-1"
    assert [message.body for message in decode_messages(asked.body)] == [b"again"]
    unknown = await client.ask(RequestCode.CONSUME_MESSAGE_DIRECTLY, {**fields, "msgId": "7F" * 16})
    assert unknown.code != ResponseCode.SUCCESS


async def test_how_far_members_are_is_asked_of_each(client: RawClient, connect: Connect, node: Node) -> None:
    queue = MessageQueue("orders", "node-1", 0)
    for place, name in enumerate(("one", "two")):
        member = await connect()
        await member.beat(name, group="buyers", topics={"orders": "*"})
        body = encode_body(GetConsumerStatusBody(message_queue_table={queue: place}))
        member.answer = lambda _, body=body: Command(code=ResponseCode.SUCCESS, body=body)  # type: ignore[misc]
    code = RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS
    answer = await client.get(code, {"topic": "orders", "group": "buyers"})
    assert decode_body(GetConsumerStatusBody, answer.body).consumer_table == {"one": {queue: 0}, "two": {queue: 1}}
    one = await client.get(code, {"topic": "orders", "group": "buyers", "clientAddr": "two"})
    assert decode_body(GetConsumerStatusBody, one.body).consumer_table == {"two": {queue: 1}}
    silent = await connect()
    await silent.beat("three", group="buyers", topics={"orders": "*"})
    silent.answer = lambda _: Command(code=ResponseCode.SYSTEM_ERROR, remark="no")
    some = await client.get(code, {"topic": "orders", "group": "buyers"})
    assert sorted(decode_body(GetConsumerStatusBody, some.body).consumer_table) == ["one", "two"]
    assert some.remark == "these did not say: three"
    nobody = await client.ask(code, {"topic": "orders", "group": "nobody"})
    assert nobody.code == ResponseCode.SYSTEM_ERROR
    assert node.members.consumers("nobody") == []
