"""Transactions over HTTP: a half counts when its producer commits it; producers that look are asked about it."""

import asyncio
from typing import Any

import httpx
from msgspec.structs import replace

from braidmq.model import NEVER_MS, Half, HalfState
from braidmq.node import Node
from http_support import client_of, refusal, send, until
from inside_node import StartNode


async def prepare(client: httpx.AsyncClient, body: str = "x", **transaction: Any) -> str:
    result = await send(client, "t", body=body, transaction={"group": "g", **transaction})
    return str(result["half"])


async def bodies(client: httpx.AsyncClient) -> list[str]:
    return [each["body"] for each in (await client.get("/topics/t/messages")).json()["items"]]


async def test_a_half_counts_when_it_is_committed_and_not_when_it_is_rolled_back(client: httpx.AsyncClient) -> None:
    first, second = await prepare(client, "one"), await prepare(client, "two")
    assert await bodies(client) == []
    ended = (await client.post(f"/halves/{first}/commit", json={"group": "g"})).json()
    assert (ended["committed"], ended["repeated"]) == (True, False)
    assert (await client.get(f"/topics/t/messages/{ended['partition']}/{ended['offset']}")).json()["body"] == "one"
    rolled_back = (await client.post(f"/halves/{second}/rollback", json={})).json()
    assert not rolled_back["committed"]
    assert await bodies(client) == ["one"]


async def test_an_end_is_said_once_and_the_same_again_changes_nothing(client: httpx.AsyncClient) -> None:
    half = await prepare(client)
    await client.post(f"/halves/{half}/commit", json={"group": "g"})
    assert (await client.post(f"/halves/{half}/commit", json={"group": "g"})).json()["repeated"]
    answer = await client.post(f"/halves/{half}/rollback", json={"group": "g"})
    assert refusal(answer) == (409, "half_ended_otherwise")
    assert await bodies(client) == ["x"]


async def test_only_its_own_producers_and_operators_end_a_half(client: httpx.AsyncClient) -> None:
    half = await prepare(client)
    assert refusal(await client.post(f"/halves/{half}/commit", json={"group": "h"})) == (404, "unknown_half")
    assert refusal(await client.post("/halves/nonsense/commit", json={})) == (400, "invalid_handle")
    assert refusal(await client.post(f"/halves/{'0' * 32}/commit", json={})) == (404, "unknown_half")
    assert refusal(await client.get(f"/halves/{'0' * 32}")) == (404, "unknown_half")
    assert (await client.post(f"/halves/{half}/commit", json={})).json()["committed"]


async def test_a_producer_that_waits_is_asked_about_its_halves_and_answers(client: httpx.AsyncClient) -> None:
    half = await prepare(client, "asked", immunity_s=0)
    answer = await client.get("/producers/g/checks", params={"wait_s": 30, "producer": "p1"})
    (check,) = answer.json()["checks"]
    assert (check["half"], check["message"]["body"], check["message"]["topic"]) == (half, "asked", "t")
    too_late = await client.post(f"/halves/{half}/commit", json={"group": "g"})
    assert refusal(too_late) == (409, "end_too_late")
    ended = await client.post(f"/halves/{half}/commit", json={"group": "g", "asked": True})
    assert ended.json()["committed"]
    assert await bodies(client) == ["asked"]


async def test_another_producer_of_the_group_is_asked_after_the_node_has_started_again(start_node: StartNode) -> None:
    first = await start_node()
    async with client_of(first) as client:
        half = await prepare(client)
    await first.stop()
    async with client_of(await start_node()) as client:
        answer = await client.get("/producers/g/checks", params={"wait_s": 30, "producer": "p2"})
        assert [each["half"] for each in answer.json()["checks"]] == [half]


async def test_producers_of_another_group_are_not_asked(client: httpx.AsyncClient) -> None:
    await prepare(client)
    other = asyncio.create_task(client.get("/producers/other/checks", params={"wait_s": 4}))
    mine = await client.get("/producers/g/checks", params={"wait_s": 30})
    assert len(mine.json()["checks"]) == 1
    assert (await other).json()["checks"] == []


async def test_halves_are_listed_by_group_and_state(client: httpx.AsyncClient, node: Node) -> None:
    handles = [await prepare(client, str(at)) for at in range(3)]
    await send(client, "other", body="x", transaction={"group": "h"})
    await client.get("/halves")
    listed = (await client.get("/halves", params={"group": "g", "limit": 2})).json()
    assert [each["handle"] for each in listed["items"]] == handles[:2]
    rest = (await client.get("/halves", params={"group": "g", "limit": 2, "cursor": listed["cursor"]})).json()
    assert ([each["handle"] for each in rest["items"]], rest["cursor"]) == (handles[2:], None)
    assert (await client.get("/halves", params={"state": "rolled_back"})).json()["items"] == []
    of_topic = (await client.get("/halves", params={"topic": "other"})).json()["items"]
    assert [(each["group"], each["state"]) for each in of_topic] == [("h", "prepared")]
    assert refusal(await client.get("/halves", params={"topic": "none"})) == (404, "unknown_topic")
    assert refusal(await client.get("/halves", params={"cursor": "none"})) == (400, "invalid_handle")


def _stranded(half: Half) -> Half:
    """As a half is whose topic was deleted before its commit could be carried out."""
    return replace(half, state=HalfState.COMMITTING, parked="unknown_topic: gone", wake_ms=NEVER_MS)


async def strand(node: Node, client: httpx.AsyncClient) -> str:
    half = await prepare(client, "stranded")
    row, _ = await node.halves.find(half)
    await node.halves._rows.revise([row.id], _stranded)
    return half


async def test_a_committed_message_whose_topic_is_gone_is_released_to_another_or_discarded(
    start_node: StartNode,
) -> None:
    node = await start_node()
    async with client_of(node) as client:
        await node.topics.create("rescue")
        half = await strand(node, client)
        listed = (await client.get("/halves", params={"parked": "true"})).json()["items"]
        assert [(each["handle"], each["parked"]) for each in listed] == [(half, "unknown_topic: gone")]
        assert (await client.post(f"/halves/{half}/release", json={"topic": "rescue"})).status_code == 204

        async def is_there() -> bool:
            return bool((await client.get("/topics/rescue/messages")).json()["items"])

        await until(is_there)
        other = await strand(node, client)
        assert (await client.post(f"/halves/{other}/discard")).status_code == 204
        assert refusal(await client.get(f"/halves/{other}")) == (404, "unknown_half")
        open_half = await prepare(client)
        assert refusal(await client.post(f"/halves/{open_half}/discard")) == (404, "unknown_half")
