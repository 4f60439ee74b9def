"""Requests that wait end with their client and with the node, and there is room for so many only."""

import asyncio

import httpx
import pytest

from braidmq.node import Node
from braidmq.protocols.listener import Address
from braidmq.settings import HttpSettings
from http_support import client_of, figure, refusal, send, until
from inside_node import StartNode

POLLS = {
    "receive": ("POST", "/groups/g/receive", {"topic": "t", "wait_s": 30}),
    "pull": ("GET", "/topics/t/partitions/0/messages?wait_s=30", None),
    "checks": ("GET", "/producers/g/checks?wait_s=30", None),
}


def poll(client: httpx.AsyncClient, name: str) -> "asyncio.Task[httpx.Response]":
    method, path, body = POLLS[name]
    return asyncio.create_task(client.request(method, path, json=body))


async def wait_until_waiting(client: httpx.AsyncClient, count: int) -> None:
    async def is_so() -> bool:
        return await figure(client, "braid_http_waiting") == count

    await until(is_so)


@pytest.mark.parametrize("name", POLLS)
async def test_a_request_that_waits_ends_when_its_client_goes(client: httpx.AsyncClient, node: Node, name: str) -> None:
    await node.topics.create("t", partitions=1)
    async with client_of(node) as leaving:
        polling = poll(leaving, name)
        await wait_until_waiting(client, 1)
        polling.cancel()
    await wait_until_waiting(client, 0)


async def test_a_message_is_not_given_to_a_client_that_has_gone(client: httpx.AsyncClient, node: Node) -> None:
    topic = await node.topics.create("t", partitions=1)
    async with client_of(node) as leaving:
        polling = poll(leaving, "receive")
        await wait_until_waiting(client, 1)
        polling.cancel()
    await wait_until_waiting(client, 0)
    assert node.cursors.waiting("g", topic) == 0
    await send(client, "t", body="x")
    (message,) = (await client.post("/groups/g/receive", json={"topic": "t"})).json()["messages"]
    assert message["attempt"] == 1


@pytest.mark.parametrize("name", POLLS)
async def test_requests_that_wait_are_answered_with_nothing_when_the_node_stops(
    client: httpx.AsyncClient, node: Node, name: str
) -> None:
    await node.topics.create("t", partitions=1)
    polling = poll(client, name)
    async with client_of(node) as other:
        await wait_until_waiting(other, 1)
    async with asyncio.timeout(10):
        await node.stop()
        answer = await polling
    assert answer.status_code == 200
    assert [each for each in answer.json().values() if isinstance(each, list)] == [[]]


async def test_who_finds_no_room_is_told_to_come_again(start_node: StartNode) -> None:
    node = await start_node(http=HttpSettings(listen=Address("127.0.0.1", 0), waiting_max=1))
    await node.topics.create("t", partitions=1)
    async with client_of(node) as client:
        polling = poll(client, "receive")
        await wait_until_waiting(client, 1)
        for name in POLLS:
            answer = await poll(client, name)
            assert refusal(answer) == (429, "too_many_receivers")
            assert answer.json()["retriable"]
            assert int(answer.headers["retry-after"]) >= 1
        assert refusal(await client.get("/topics/t/tail")) == (429, "too_many_receivers")
        assert (await client.post("/groups/g/receive", json={"topic": "t"})).status_code == 200
        await send(client, "t", body="x")
        assert len((await polling).json()["messages"]) == 1


async def test_who_need_not_wait_needs_no_room(start_node: StartNode) -> None:
    node = await start_node(http=HttpSettings(listen=Address("127.0.0.1", 0), waiting_max=1))
    async with client_of(node) as client:
        await send(client, "t", body="x")
        await node.topics.create("empty")
        other = {"topic": "empty", "wait_s": 30}
        polling = asyncio.create_task(client.post("/groups/g/receive", json=other))
        await wait_until_waiting(client, 1)
        received = await client.post("/groups/g/receive", json={"topic": "t", "wait_s": 30})
        assert len(received.json()["messages"]) == 1
        await send(client, "empty", body="x")
        assert (await polling).status_code == 200
