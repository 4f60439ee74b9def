"""Those who receive over HTTP are members of their group, and known among the connections, while they keep asking."""

import asyncio

import httpx

from braidmq.node import Node
from braidmq.protocols.rocketmq.codec import RequestCode
from braidmq.sdk import AsyncConsumer
from http_support import client_of, send, until
from rocketmq_support import RawClient

NAMED = {"braid-client-id": "till-7", "user-agent": "tills/2.1"}


async def members(client: httpx.AsyncClient, group: str = "g") -> list[dict[str, object]]:
    answer = await client.get(f"/groups/{group}/members")
    return list(answer.json()) if answer.status_code == 200 else []


async def test_who_waits_for_messages_is_a_member_with_its_name_and_address(
    node: Node, client: httpx.AsyncClient
) -> None:
    await send(client, "t", body="x")
    async with client_of(node) as receiver:
        ask = {"topic": "t", "filter": {"expression": "paid"}, "wait_s": 20}
        waiting = asyncio.create_task(receiver.post("/groups/g/receive", json=ask, headers=NAMED))
        await until(lambda: _is_there(client, "till-7"))
        (member,) = await members(client)
        assert (member["client_id"], member["protocol"], member["topics"]) == ("till-7", "http", ["t"])
        assert (member["version"], str(member["address"]).rpartition(":")[0]) == ("tills/2.1", "127.0.0.1")
        connections = (await client.get("/connections", params={"search": "till-7"})).json()["items"]
        assert [(each["address"], each["groups"], each["topics"]) for each in connections] == [
            (member["address"], ["g"], ["t"])
        ]
        group = (await client.get("/groups/g")).json()
        assert (group["members"], group["protocols"], group["state"]) == (1, ["http"], "stable")
        await send(client, "t", body="y", tag="paid")
        assert len((await waiting).json()["messages"]) == 1


async def test_who_gives_no_name_is_known_by_its_address(client: httpx.AsyncClient) -> None:
    await send(client, "t", body="x")
    await client.post("/groups/g/receive", json={"topic": "t"})
    (member,) = await members(client)
    assert member["client_id"] == member["address"]


async def test_a_client_that_reads_two_topics_is_one_member(client: httpx.AsyncClient) -> None:
    for topic in ("t", "u"):
        await send(client, topic, body="x")
        await client.post("/groups/g/receive", json={"topic": topic}, headers=NAMED)
    (member,) = await members(client)
    assert member["topics"] == ["t", "u"]


async def test_rocketmq_members_do_not_leave_queues_to_those_who_receive_over_http(
    client: httpx.AsyncClient, rocketmq: RawClient
) -> None:
    await send(client, "t", body="x")
    await client.post("/groups/g/receive", json={"topic": "t"}, headers=NAMED)
    await rocketmq.beat("puller-1", group="g", topics={"t": "*"})
    answer = await rocketmq.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "g"})
    assert b"puller-1" in answer.body
    assert b"till-7" not in answer.body
    assert {each["protocol"] for each in await members(client)} == {"http", "rocketmq"}


async def test_the_consumer_of_the_sdk_is_a_member_under_the_name_it_is_given(
    node: Node, client: httpx.AsyncClient
) -> None:
    await send(client, "t", body="x")
    url = f"http://{node.addresses['http'][0]}"
    async with AsyncConsumer(url, group="g", topics="t", client_id="biller-1") as consumer:
        message = await consumer.next(20)
        assert message is not None
        assert [each["client_id"] for each in await members(client)] == ["biller-1"]
        await message.ack()


async def _is_there(client: httpx.AsyncClient, name: str) -> bool:
    return name in [each["client_id"] for each in await members(client)]
