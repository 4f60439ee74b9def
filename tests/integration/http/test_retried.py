"""What comes back to a group by its retry topic reaches those who receive the topic that it was sent to, whatever they
speak."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from braidmq.node import Node
from braidmq.protocols.rocketmq_grpc.codes import Code
from http_support import client_of, send, until
from inside_node import StartNode
from rocketmq_grpc_support import GrpcClient
from rocketmq_support import RawClient


@pytest.fixture
async def grpc(node: Node) -> AsyncIterator[GrpcClient]:
    client = GrpcClient(str(node.addresses["rocketmq_grpc"][0]))
    yield client
    await client.close()


async def receive(client: httpx.AsyncClient, topic: str = "t", **ask: Any) -> list[dict[str, Any]]:
    answer = await client.post("/groups/g/receive", json={"topic": topic, **ask})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["messages"])


async def bury(client: httpx.AsyncClient, *topics: str) -> None:
    for topic in topics:
        await send(client, topic, body=f"of {topic}", keys=[topic])
        (message,) = await receive(client, topic)
        assert (await client.post("/groups/g/bury", json={"receipt": message["receipt"]})).status_code == 204


async def replay(client: httpx.AsyncClient) -> None:
    answer = await client.post("/dead-letters/replay", json={"group": "g", "all": True, "to": "group"})
    assert [each["error"] for each in answer.json()["results"] if each["error"]] == []


async def test_a_replayed_dead_letter_comes_to_whoever_waits_for_its_topic(
    node: Node, client: httpx.AsyncClient
) -> None:
    await bury(client, "t")
    async with client_of(node) as receiver:
        waiting = asyncio.create_task(receive(receiver, wait_s=20))
        await until(lambda: _waits(node))
        await replay(client)
        (message,) = await waiting
    assert (message["topic"], message["body"], message["attempt"]) == ("%RETRY%g", "of t", 1)
    done = await client.post("/groups/g/acknowledge", json={"receipts": [message["receipt"]]})
    assert done.json()["results"][0]["error"] is None
    assert await receive(client) == []


async def test_each_topics_receivers_have_their_own_letters(client: httpx.AsyncClient) -> None:
    await bury(client, "t", "u", "t")
    await replay(client)
    assert [each["body"] for each in await receive(client, "u")] == ["of u"]
    assert [each["body"] for each in await receive(client, "t")] == ["of t", "of t"]
    assert await receive(client, "u") == []


async def test_who_wants_no_retries_has_none(client: httpx.AsyncClient) -> None:
    await bury(client, "t")
    await replay(client)
    assert await receive(client, with_retries=False) == []
    assert len(await receive(client, "%RETRY%g")) == 1


async def test_a_replayed_dead_letter_comes_to_grpc_clients_and_is_theirs_to_end(
    client: httpx.AsyncClient, grpc: GrpcClient
) -> None:
    await bury(client, "t")
    await replay(client)
    code, (message,) = await grpc.receive("t", "g", wait_ms=5_000)
    assert (code, message.topic.name, message.body) == (Code.OK, "t", b"of t")
    assert message.system_properties.delivery_attempt == 1
    ended = await grpc.acknowledge("t", "g", message.system_properties.receipt_handle)
    assert ended.status.code == Code.OK
    assert (await grpc.receive("t", "g"))[1] == []


async def test_attempts_go_on_where_a_member_sent_a_message_back(node: Node, client: httpx.AsyncClient) -> None:
    await send(client, "t", body="x")
    topic = node.catalog.topic("default", "t")
    assert topic is not None
    number = next(each for each in topic.partition_numbers if node.log.bounds(each).end)
    await node.retries.send_back("g", number, 0, delay_ms=0, attempts=3)
    (message,) = [each for each in await receive(client, wait_s=20) if each["topic"] == "%RETRY%g"]
    assert message["attempt"] == 4
    await client.post("/groups/g/bury", json={"receipt": message["receipt"]})
    (letter,) = (await client.get("/dead-letters", params={"group": "g"})).json()["items"]
    assert (letter["origin_topic"], letter["attempts"]) == ("t", 4)


async def test_members_that_pull_their_retry_topic_keep_it_to_themselves(
    client: httpx.AsyncClient, rocketmq: RawClient
) -> None:
    await bury(client, "t")
    await rocketmq.beat("puller-1", group="g", topics={"t": "*", "%RETRY%g": "*"})
    await replay(client)
    assert await receive(client) == []


async def test_what_was_with_a_receiver_comes_again_after_a_restart_to_receivers_of_its_topic(
    start_node: StartNode,
) -> None:
    node = await start_node()
    async with client_of(node) as client:
        await bury(client, "t", "u")
        await replay(client)
        assert len(await receive(client, invisible_s=1)) == 1
    await node.stop()
    async with client_of(await start_node()) as client:
        assert [each["body"] for each in await receive(client, "u", wait_s=20)] == ["of u"]
        (message,) = await receive(client, wait_s=20)
        assert (message["body"], message["attempt"]) == ("of t", 2)


async def _waits(node: Node) -> bool:
    topic = node.catalog.topic("default", "t")
    return topic is not None and node.cursors.waiting("g", topic) == 1
