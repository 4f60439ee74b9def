"""Looking for messages by key, by unique id and by place."""

import time

import pytest

from braidmq.model import TAG_HEADER
from braidmq.protocols.rocketmq.codec import RequestCode, ResponseCode, StoredMessage, decode_body
from braidmq.protocols.rocketmq.codec.bodies import QueryConsumeQueueResponseBody
from braidmq.protocols.rocketmq.codec.ids import read_offset_id
from braidmq.protocols.rocketmq.codec.messages import decode_messages
from rocketmq_support import Connect, RawClient, topic_fields


@pytest.fixture
async def client(client: RawClient) -> RawClient:
    await client.get(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields("orders", 2))
    return client


async def search(client: RawClient, key: str, *, unique: bool = False, **more: object) -> list[StoredMessage]:
    fields = {
        "topic": "orders",
        "key": key,
        "maxNum": 32,
        "beginTimestamp": 0,
        "endTimestamp": int(time.time() * 1000) + 60_000,
        "_UNIQUE_KEY_QUERY": unique,
        **more,
    }
    answer = await client.ask(RequestCode.QUERY_MESSAGE, fields)
    if answer.code == ResponseCode.QUERY_NOT_FOUND:
        return []
    assert answer.code == ResponseCode.SUCCESS, answer.remark
    assert int(answer.fields["indexLastUpdateTimestamp"]) >= 0
    return decode_messages(answer.body)


async def test_messages_are_found_by_any_of_their_keys_and_within_a_time(client: RawClient) -> None:
    await client.send("orders", b"one", queue_id=1, properties={"KEYS": "k1 k2"})
    await client.send("orders", b"two", properties={"KEYS": "k2"})
    assert {message.body for message in await search(client, "k2")} == {b"one", b"two"}
    found = await search(client, "k1")
    assert [(message.body, message.queue_id, message.queue_offset) for message in found] == [(b"one", 1, 0)]
    assert "CLUSTER\x01DefaultCluster" in found[0].properties
    assert await search(client, "k2", endTimestamp=1) == []
    assert await search(client, "k3") == []
    assert len(await search(client, "k2", maxNum=1)) == 1


async def test_a_message_is_found_by_its_unique_id(client: RawClient) -> None:
    sent = await client.send("orders", b"one")
    found = await search(client, sent.fields["transactionId"], unique=True)
    assert [message.body for message in found] == [b"one"]


async def test_searching_an_unknown_topic_says_so(client: RawClient) -> None:
    fields = {"topic": "nothing", "key": "k", "maxNum": 1, "beginTimestamp": 0, "endTimestamp": 1}
    assert (await client.ask(RequestCode.QUERY_MESSAGE, fields)).code == ResponseCode.TOPIC_NOT_EXIST


async def test_a_message_is_found_by_its_place(client: RawClient) -> None:
    await client.send("orders", b"zero")
    sent = await client.send("orders", b"one")
    place = read_offset_id(sent.fields["msgId"]).physical_offset
    answer = await client.get(RequestCode.VIEW_MESSAGE_BY_ID, {"offset": place})
    assert [(message.body, message.physical_offset) for message in decode_messages(answer.body)] == [(b"one", place)]


@pytest.mark.parametrize("place", [-1, 0, (1 << 62) + 5, (1 << 63) - 1])
async def test_a_place_without_a_message_says_so(client: RawClient, place: int) -> None:
    answer = await client.ask(RequestCode.VIEW_MESSAGE_BY_ID, {"offset": place})
    assert answer.code not in (ResponseCode.SUCCESS, ResponseCode.REQUEST_CODE_NOT_SUPPORTED)
    assert answer.remark
    assert "mistake" not in answer.remark


async def test_the_entries_of_a_queue_are_listed_with_what_a_group_would_get(
    client: RawClient, connect: Connect
) -> None:
    sent = [await client.send("orders", b"x", properties={TAG_HEADER: tag}) for tag in ("TagA", "TagB")]
    await (await connect()).beat("one", group="buyers", topics={"orders": "TagB"})
    fields = {"topic": "orders", "queueId": 0, "index": 0, "count": 10, "consumerGroup": "buyers"}
    body = decode_body(QueryConsumeQueueResponseBody, (await client.get(RequestCode.QUERY_CONSUME_QUEUE, fields)).body)
    assert (body.min_queue_index, body.max_queue_index) == (0, 2)
    assert [entry.eval for entry in body.queue_data] == [False, True]
    assert [entry.tags_code for entry in body.queue_data] == [2598919, 2598920]
    places = [read_offset_id(each.fields["msgId"]).physical_offset for each in sent]
    assert [entry.physic_offset for entry in body.queue_data] == places
    beyond = await client.get(RequestCode.QUERY_CONSUME_QUEUE, {**fields, "index": 9, "consumerGroup": "nobody"})
    assert "Index 9" in (beyond.remark or "")
    assert "not online" in (decode_body(QueryConsumeQueueResponseBody, beyond.body).filter_data or "")
