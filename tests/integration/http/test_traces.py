"""The lives of messages that came by HTTP."""

from typing import Any

import httpx

from braidmq.node import Node
from http_support import refusal, send, until


async def life(client: httpx.AsyncClient, id: str) -> list[dict[str, Any]]:
    answer = await client.get(f"/traces/{id}")
    return list(answer.json()["steps"]) if answer.status_code == 200 else []


async def until_kinds(client: httpx.AsyncClient, id: str, kinds: list[str]) -> list[dict[str, Any]]:
    """Notes are kept a moment after they were taken. More may come behind: that the group has moved on, say."""

    async def is_so() -> bool:
        return [each["kind"] for each in await life(client, id)][: len(kinds)] == kinds

    await until(is_so)
    return await life(client, id)


async def test_a_message_is_traced_from_its_sending_to_its_dead_letter(client: httpx.AsyncClient) -> None:
    sent = await send(client, "t", body="x", keys=["k"])
    (message,) = (await client.post("/groups/g/receive", json={"topic": "t"})).json()["messages"]
    await client.post("/groups/g/bury", json={"receipt": message["receipt"]})
    steps = await until_kinds(client, sent["id"], ["stored", "delivered", "stored", "dead_lettered"])
    assert (steps[0]["topic"], steps[0]["partition"], steps[0]["offset"]) == ("t", sent["partition"], sent["offset"])
    assert steps[1]["group"] == "g"
    assert steps[3]["topic"] == "%DLQ%g"


async def test_a_delayed_message_is_traced_before_it_is_in_its_topic(client: httpx.AsyncClient) -> None:
    sent = await send(client, "t", body="x", keys=["order-1"], delay_ms=3_600_000)
    await until_kinds(client, sent["id"], ["delayed"])
    (found,) = (await client.get("/traces", params={"topic": "t", "key": "order-1"})).json()["items"]
    assert (found["id"], found["keys"]) == (sent["id"], ["order-1"])
    await client.delete(f"/timers/{sent['timer']}")
    await until_kinds(client, sent["id"], ["delayed", "recalled"])


async def test_what_nobody_knows_has_no_trace(client: httpx.AsyncClient, node: Node) -> None:
    await node.topics.create("t")
    assert refusal(await client.get("/traces/none")) == (404, "unknown_message")
    assert refusal(await client.get("/traces/none", params={"topic": "none"})) == (404, "unknown_topic")
    assert (await client.get("/traces", params={"topic": "t", "key": "none"})).json() == {"items": []}


async def test_a_message_is_known_in_its_own_instance_alone(client: httpx.AsyncClient) -> None:
    await client.post("/instances", json={"name": "retail"})
    for instance in ("default", "retail"):
        await client.post("/topics", params={"instance": instance}, json={"name": "t", "partitions": 1})
    there = {"instance": "retail"}
    answer = await client.post("/topics/t/messages", params=there, json={"body": "x", "keys": ["k"]})
    (stored,) = answer.json()["results"]
    answer = await client.post(
        "/topics/t/messages", params=there, json={"body": "x", "keys": ["k"], "delay_ms": 600_000}
    )
    (delayed,) = answer.json()["results"]
    for sent, kind in ((stored, "stored"), (delayed, "delayed")):

        async def is_known(id: str = sent["id"], kind: str = kind) -> bool:
            answer = await client.get(f"/traces/{id}", params=there)
            return answer.status_code == 200 and answer.json()["steps"][0]["kind"] == kind

        await until(is_known)
        assert refusal(await client.get(f"/traces/{sent['id']}")) == (404, "unknown_message")
        assert refusal(await client.get(f"/traces/{sent['id']}", params={"topic": "t"})) == (404, "unknown_message")
    found = (await client.get("/traces", params={"topic": "t", "key": "k"} | there)).json()["items"]
    assert {each["id"] for each in found} == {stored["id"], delayed["id"]}
    assert (await client.get("/traces", params={"topic": "t", "key": "k"})).json() == {"items": []}


async def test_a_message_of_the_default_instance_is_unknown_elsewhere(client: httpx.AsyncClient) -> None:
    await client.post("/instances", json={"name": "retail"})
    sent = await send(client, "t", body="x")
    await until_kinds(client, sent["id"], ["stored"])
    assert refusal(await client.get(f"/traces/{sent['id']}", params={"instance": "retail"})) == (404, "unknown_message")
