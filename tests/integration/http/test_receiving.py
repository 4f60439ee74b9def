"""Receiving over HTTP: a message is one receiver's for a while, and comes again unless it is acknowledged."""

import asyncio
import time
from typing import Any

import httpx
import pytest

from braidmq.model import Group
from braidmq.node import Node
from http_support import client_of, refusal, send, until
from inside_node import StartNode


async def receive(client: httpx.AsyncClient, group: str = "g", **ask: Any) -> list[dict[str, Any]]:
    answer = await client.post(f"/groups/{group}/receive", json={"topic": "t", **ask})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["messages"])


async def acknowledge(client: httpx.AsyncClient, *receipts: str, group: str = "g") -> list[str | None]:
    answer = await client.post(f"/groups/{group}/acknowledge", json={"receipts": list(receipts)})
    results = answer.json()["results"]
    assert [each["receipt"] for each in results] == list(receipts)
    return [each["error"] and each["error"]["code"] for each in results]


async def test_a_message_is_one_receivers_until_it_is_acknowledged(client: httpx.AsyncClient) -> None:
    sent = await send(client, "t", body="x", tag="a")
    (message,) = await receive(client)
    assert (message["body"], message["id"], message["attempt"]) == ("x", sent["id"], 1)
    assert message["invisible_until_ms"] > time.time() * 1000 + 50_000
    assert await receive(client) == []
    assert len(await receive(client, group="other")) == 1
    assert await acknowledge(client, message["receipt"]) == [None]
    assert await acknowledge(client, message["receipt"]) == ["handle_expired"]


async def test_a_message_that_is_not_acknowledged_comes_again(client: httpx.AsyncClient) -> None:
    await send(client, "t", body="x")
    (first,) = await receive(client, invisible_s=1)
    (second,) = await receive(client, wait_s=20)
    assert (second["id"], second["attempt"]) == (first["id"], 2)
    assert await acknowledge(client, first["receipt"], second["receipt"]) == ["handle_expired", None]


async def test_a_receiver_that_needs_more_time_goes_on_with_a_new_receipt(client: httpx.AsyncClient) -> None:
    await send(client, "t", body="x")
    (message,) = await receive(client, invisible_s=5)
    answer = await client.post("/groups/g/extend", json={"receipt": message["receipt"], "invisible_s": 100})
    new = answer.json()["receipt"]
    assert new != message["receipt"]
    assert await acknowledge(client, message["receipt"], new) == ["handle_expired", None]


async def test_a_message_that_was_rejected_comes_again_when_its_receiver_said(client: httpx.AsyncClient) -> None:
    await send(client, "t", body="x")
    (message,) = await receive(client)
    assert (await client.post("/groups/g/reject", json={"receipt": message["receipt"]})).status_code == 200
    (again,) = await receive(client, wait_s=20)
    assert again["attempt"] == 2
    await client.post("/groups/g/reject", json={"receipt": again["receipt"], "delay_s": 60})
    assert await receive(client) == []


async def test_a_message_that_was_given_up_is_a_dead_letter(client: httpx.AsyncClient) -> None:
    sent = await send(client, "t", body="x")
    (message,) = await receive(client)
    assert (await client.post("/groups/g/bury", json={"receipt": message["receipt"]})).status_code == 204
    (letter,) = (await client.get("/dead-letters", params={"group": "g"})).json()["items"]
    assert (letter["message"]["id"], letter["origin_topic"], letter["attempts"]) == (sent["id"], "t", 1)
    assert "given up by a consumer" in letter["cause"]


async def test_a_receiver_waits_for_messages_and_wants_only_some(client: httpx.AsyncClient, node: Node) -> None:
    topic = await node.topics.create("t")
    wanted = {"kind": "tag", "expression": "a || b"}
    waiting = asyncio.create_task(receive(client, wait_s=20, filter=wanted))

    async def waits() -> bool:
        return node.cursors.waiting("g", topic) == 1

    await until(waits)
    await send(client, "t", body="1", tag="c")
    await send(client, "t", body="2", tag="b")
    assert [each["body"] for each in await waiting] == ["2"]


async def test_who_lost_the_answer_asks_again_with_the_same_word(client: httpx.AsyncClient) -> None:
    await send(client, "t", body="x")
    first = await receive(client, attempt_id="once")
    again = await receive(client, attempt_id="once")
    assert [each["receipt"] for each in again] == [each["receipt"] for each in first]


async def test_a_group_that_is_ordered_is_given_one_message_of_a_key_at_a_time(
    client: httpx.AsyncClient, node: Node
) -> None:
    await node.catalog.save_group(Group(name="g", ordered=True))
    for at in range(3):
        await send(client, "t", body=str(at), sharding_key="k")
    seen: list[str] = []
    while len(seen) < 3:
        batch = await receive(client, wait_s=20, count_max=1)
        assert await receive(client) == []
        seen += [each["body"] for each in batch]
        await acknowledge(client, *(each["receipt"] for each in batch))
    assert seen == ["0", "1", "2"]


async def test_receipts_outlive_the_node(start_node: StartNode) -> None:
    first = await start_node()
    async with client_of(first) as client:
        await send(client, "t", body="x")
        (message,) = await receive(client, invisible_s=600)
    await first.stop()
    async with client_of(await start_node()) as client:
        assert await receive(client) == []
        assert await acknowledge(client, message["receipt"]) == [None]


async def test_receipts_that_were_made_up_or_are_another_groups_are_refused(client: httpx.AsyncClient) -> None:
    await send(client, "t", body="x")
    (message,) = await receive(client)
    receipt = message["receipt"]
    forged = receipt[:-2] + ("AA" if receipt[-2:] != "AA" else "BB")
    assert await acknowledge(client, "nonsense", forged, "") == ["invalid_handle"] * 3
    assert await acknowledge(client, receipt, group="other") == ["invalid_handle"]
    for act in ("extend", "reject", "bury"):
        more = {"invisible_s": 10} if act == "extend" else {}
        assert refusal(await client.post(f"/groups/g/{act}", json={"receipt": forged, **more})) == (
            400,
            "invalid_handle",
        )
    assert await acknowledge(client, receipt) == [None]
    for act in ("extend", "reject", "bury"):
        more = {"invisible_s": 10} if act == "extend" else {}
        assert refusal(await client.post(f"/groups/g/{act}", json={"receipt": receipt, **more})) == (
            410,
            "handle_expired",
        )


@pytest.mark.parametrize(
    ("group", "ask", "status", "code"),
    [
        ("g", {"topic": "none"}, 404, "unknown_topic"),
        ("g", {"topic": "t", "filter": {"kind": "sql", "expression": "a ="}}, 422, "invalid_filter"),
        ("g", {"topic": "t", "filter": {"kind": "header", "expression": "a"}}, 422, "invalid_filter"),
        ("no dead letters", {"topic": "t"}, 400, "invalid_group"),
        ("g", {"topic": "t", "count_max": 0}, 400, "bad_request"),
        ("g", {"topic": "t", "wait_s": 31}, 400, "bad_request"),
        ("g", {"topic": "t", "unknown": 1}, 400, "bad_request"),
        ("forbidden", {"topic": "t"}, 403, "not_permitted"),
    ],
)
async def test_receivers_who_cannot_be_served_are_told_why(
    client: httpx.AsyncClient, node: Node, group: str, ask: dict[str, Any], status: int, code: str
) -> None:
    await node.topics.create("t")
    await node.catalog.save_group(Group(name="forbidden", settings={"consume": "off"}))
    assert refusal(await client.post(f"/groups/{group}/receive", json=ask)) == (status, code)


async def test_what_was_received_is_counted_as_http_for_the_group(client: httpx.AsyncClient, node: Node) -> None:
    await send(client, "t", body="x")
    await receive(client)
    usage = node.usage
    assert usage is not None
    counted = {key[:3]: cell.messages for key, cell in usage.take().items() if key[0] == "out"}
    assert counted == {("out", "http", "g"): 1}
