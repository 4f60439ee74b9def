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
