"""Sending over HTTP: what is answered is kept, each message has its own result, and bad input is told what to do."""

from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from braidmq.model import HTTP_HEADER, HTTP_MARK, TopicKind
from braidmq.node import Node
from braidmq.records import batches_in, read_records
from braidmq.settings import PublishSettings
from http_support import client_of, refusal, send
from inside_node import StartNode

DAY_MS = 86_400_000


async def test_a_message_is_where_the_answer_says(client: httpx.AsyncClient) -> None:
    sent = await send(client, "orders", body="h\u00e9", tag="paid", keys=["o-1", "o-2"], properties={"region": "north"})
    found = (await client.get(f"/topics/orders/messages/{sent['partition']}/{sent['offset']}")).json()
    assert (found["body"], found["tag"], found["keys"], found["key"]) == ("h\u00e9", "paid", ["o-1", "o-2"], "o-1")
    assert found["id"] == sent["id"]
    assert {"name": "region", "value": "north", "value_base64": None} in found["headers"]


async def test_a_message_has_the_mark_of_http_which_only_readers_by_kafka_see(
    client: httpx.AsyncClient, node: Node
) -> None:
    sent = await send(client, "orders", body="x", id="i", properties={"a": "b"})
    found = (await client.get(f"/topics/orders/messages/{sent['partition']}/{sent['offset']}")).json()
    assert found["protocol"] == "http"
    assert [each["name"] for each in found["headers"]] == ["UNIQ_KEY", "a"]
    answer = await client.post("/groups/g/receive", json={"topic": "orders", "wait_s": 5})
    assert [each["name"] for each in answer.json()["messages"][0]["headers"]] == ["UNIQ_KEY", "a"]
    topic = node.catalog.topic("default", "orders")
    assert topic is not None
    number = topic.partition_numbers[sent["partition"]]
    (batch,) = batches_in((await node.log.read(number, sent["offset"], 1 << 20)).data)
    (record,) = read_records(batch)
    assert record.headers[-1] == (HTTP_HEADER, HTTP_MARK)
    assert refusal(
        await client.post("/topics/orders/messages", json={"body": "x", "properties": {HTTP_HEADER: "1"}})
    ) == (
        422,
        "invalid_message",
    )


async def test_bytes_come_back_as_base64_and_text_does_when_asked(client: httpx.AsyncClient) -> None:
    sent = await send(client, "t", body_base64="/w==")
    found = (await client.get(f"/topics/t/messages/{sent['partition']}/{sent['offset']}")).json()
    assert (found["body"], found["body_base64"]) == (None, "/w==")
    sent = await send(client, "t", body="a")
    place = f"/topics/t/messages/{sent['partition']}/{sent['offset']}"
    assert (await client.get(place)).json()["body_base64"] is None
    assert (await client.get(place, params={"base64": "true"})).json()["body_base64"] == "YQ=="


async def test_what_was_answered_outlives_the_node(start_node: StartNode) -> None:
    first = await start_node()
    async with client_of(first) as client:
        sent = await send(client, "t", body="kept")
        delayed = await send(client, "t", body="later", delay_ms=DAY_MS)
        half = await send(client, "t", body="half", transaction={"group": "g"})
    await first.stop()
    async with client_of(await start_node()) as client:
        place = f"/topics/t/messages/{sent['partition']}/{sent['offset']}"
        assert (await client.get(place)).json()["body"] == "kept"
        assert (await client.get(f"/timers/{delayed['timer']}")).json()["message"]["body"] == "later"
        assert (await client.get(f"/halves/{half['half']}")).json()["message"]["body"] == "half"


async def test_messages_that_come_together_have_each_their_own_result(client: httpx.AsyncClient) -> None:
    messages = [{"body": "one"}, {"body": "two", "tag": "a|b"}, {"json": {"n": 3}, "delay_ms": DAY_MS}]
    results = (await client.post("/topics/t/messages", json={"messages": messages})).json()["results"]
    assert results[0]["offset"] == 0
    assert results[1]["error"]["code"] == "invalid_message"
    assert results[2]["timer"]
    kept = (await client.get("/topics/t/messages")).json()["items"]
    assert [each["body"] for each in kept] == ["one"]


async def test_messages_of_one_sharding_key_or_of_one_key_lie_in_one_partition(client: httpx.AsyncClient) -> None:
    by_sharding_key = [await send(client, "t", body="x", sharding_key="a") for _ in range(5)]
    by_key = [await send(client, "t", body="x", key="k") for _ in range(5)]
    assert len({each["partition"] for each in by_sharding_key}) == 1
    assert len({each["partition"] for each in by_key}) == 1


async def test_messages_are_counted_as_those_of_http(client: httpx.AsyncClient, node: Node) -> None:
    await send(client, "t", body="x")
    usage = node.usage
    assert usage is not None
    counted = {(key[0], key[1]): cell.messages for key, cell in usage.take().items() if key[1] == "http"}
    assert counted == {("in", "http"): 1}


async def assert_refused(
    client: httpx.AsyncClient, topic: str, message: Mapping[str, Any], status: int, code: str, hint: str
) -> None:
    answer = await client.post(f"/topics/{topic}/messages", json=message)
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (status, code), problem
    assert hint in problem["detail"]
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("message", "status", "code", "hint"),
    [
        ({}, 422, "invalid_message", "exactly one of body"),
        ({"body_base64": "no base64!"}, 422, "invalid_message", "is not base64"),
        ({"body": "x", "delay_ms": 41 * DAY_MS}, 422, "delay_too_long", "timers.delay_max_s"),
        ({"body": "x", "partition": 99}, 404, "unknown_partition", "partitions, not 99"),
        ({"messages": []}, 400, "invalid_request", "1 to 1024"),
        ({"messages": [{"body": "x"}], "tag": "a"}, 400, "invalid_request", "in each of the messages"),
        ({"body": "x", "transaction": {"group": ""}}, 400, "invalid_name", "1 to 255 characters"),
        ({"body": "x" * 70_000, "delay_ms": 1000}, 413, "message_too_large", "messages that wait"),
    ],
)
async def test_what_cannot_be_taken_is_refused_with_a_stable_code(
    client: httpx.AsyncClient, message: dict[str, Any], status: int, code: str, hint: str
) -> None:
    await assert_refused(client, "t", message, status, code, hint)
    assert (await client.get("/topics/t/messages")).json().get("items", []) == []


async def test_a_body_that_is_too_large_is_refused(start_node: StartNode) -> None:
    node = await start_node(publish=PublishSettings(body_bytes_max=100_000))
    async with client_of(node) as client:
        await assert_refused(client, "t", {"body": "x" * 100_001}, 413, "message_too_large", "100001 bytes")
        assert (await client.post("/topics/t/messages", content=b"x" * (9 << 20))).status_code == 413


@pytest.mark.parametrize(
    ("kind", "message", "code"),
    [
        (TopicKind.FIFO, {"body": "x"}, "invalid_message"),
        (TopicKind.NORMAL, {"body": "x", "sharding_key": "s"}, "wrong_message_kind"),
        (TopicKind.NORMAL, {"body": "x", "delay_ms": 1000}, "wrong_message_kind"),
        (TopicKind.DELAY, {"body": "x"}, "wrong_message_kind"),
        (TopicKind.NORMAL, {"body": "x", "transaction": {"group": "g"}}, "wrong_message_kind"),
    ],
)
async def test_a_topic_takes_only_messages_of_its_kind(
    client: httpx.AsyncClient, node: Node, kind: TopicKind, message: dict[str, Any], code: str
) -> None:
    await node.topics.create("kinds", kind=kind)
    await assert_refused(client, "kinds", message, 422, code, "kinds")


async def test_a_topic_that_is_not_to_be_written_takes_nothing(client: httpx.AsyncClient, node: Node) -> None:
    await node.topics.create("closed", settings={"braid.allows": "read"})
    await assert_refused(client, "closed", {"body": "x"}, 403, "not_permitted", "closed")


async def test_a_message_is_sent_again_with_its_id_to_its_topic_another_one_or_a_group(
    client: httpx.AsyncClient,
) -> None:
    await send(client, "other", body="first")
    sent = await send(client, "t", body="x", keys=["k"])
    again = f"/topics/t/messages/{sent['partition']}/{sent['offset']}/resend"
    copy = (await client.post(again, json={})).json()
    assert copy["id"] == sent["id"]
    assert len((await client.get("/topics/t/messages", params={"id": sent["id"]})).json()["items"]) == 2
    await client.post(again, json={"topic": "other"})
    assert (await client.get("/topics/other/messages", params={"id": sent["id"]})).json()["items"][0]["body"] == "x"
    assert (await client.post(again, json={"group": "g"})).status_code == 200
    received = await client.post("/groups/g/receive", json={"topic": "%RETRY%g", "wait_s": 20})
    assert [each["body"] for each in received.json()["messages"]] == ["x"]
    both = await client.post(again, json={"group": "g", "topic": "t"})
    assert (both.status_code, both.json()["code"]) == (400, "invalid_request")
    gone = await client.post("/topics/t/messages/0/99/resend", json={})
    assert (gone.status_code, gone.json()["code"]) == (404, "unknown_message")
