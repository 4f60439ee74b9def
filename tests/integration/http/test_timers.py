"""Delayed messages over HTTP: they come at their time, and until then they are listed and can be cancelled."""

import time

import httpx
from msgspec.structs import replace

from braidmq.core.deferral import parse_handle
from braidmq.model import NEVER_MS
from braidmq.node import Node
from http_support import refusal, send, until

HOUR_MS = 3_600_000


async def test_a_delayed_message_comes_at_its_time_and_shows_when_it_was_born(client: httpx.AsyncClient) -> None:
    began_ms = time.time() * 1000
    sent = await send(client, "t", body="later", delay_ms=300, keys=["k"])
    assert sent["timer"]
    answer = await client.post("/groups/g/receive", json={"topic": "t", "wait_s": 20})
    (message,) = answer.json()["messages"]
    assert time.time() * 1000 - began_ms >= 300
    assert (message["body"], message["id"]) == ("later", sent["id"])
    assert began_ms - 1 <= message["born_ms"] < began_ms + 300


async def test_a_message_whose_time_has_come_already_goes_in_at_once(client: httpx.AsyncClient) -> None:
    sent = await send(client, "t", body="now", deliver_at_ms=1000)
    assert (sent["timer"], sent["offset"]) == (None, 0)


async def test_timers_are_listed_by_time_and_topic_page_by_page(client: httpx.AsyncClient) -> None:
    begin_ms = int(time.time() * 1000) + HOUR_MS
    handles = [(await send(client, "t", body="x", deliver_at_ms=begin_ms + at))["timer"] for at in range(5)]
    other = (await send(client, "other", body="x", deliver_at_ms=begin_ms))["timer"]
    listed = (await client.get("/timers", params={"topic": "t", "limit": 3})).json()
    assert [each["handle"] for each in listed["items"]] == handles[:3]
    rest = (await client.get("/timers", params={"topic": "t", "limit": 3, "cursor": listed["cursor"]})).json()
    assert ([each["handle"] for each in rest["items"]], rest["cursor"]) == (handles[3:], None)
    some = (await client.get("/timers", params={"from_ms": begin_ms + 1, "until_ms": begin_ms + 3})).json()
    assert [each["handle"] for each in some["items"]] == handles[1:3]
    of_other = (await client.get("/timers", params={"topic": "other"})).json()["items"]
    assert [(each["handle"], each["due_ms"]) for each in of_other] == [(other, begin_ms)]
    assert (await client.get("/timers", params={"parked": "true"})).json()["items"] == []


async def test_a_timer_is_shown_with_its_message_and_cancelled(client: httpx.AsyncClient) -> None:
    handle = (await send(client, "t", body="x", tag="a", delay_ms=HOUR_MS))["timer"]
    shown = (await client.get(f"/timers/{handle}")).json()
    assert (shown["message"]["body"], shown["message"]["tag"], shown["is_under_way"]) == ("x", "a", False)
    planned = (await client.delete(f"/timers/{handle}", params={"dry_run": "true"})).json()
    assert planned["handle"] == handle
    assert (await client.get(f"/timers/{handle}")).status_code == 200
    assert (await client.delete(f"/timers/{handle}")).json()["handle"] == handle
    assert refusal(await client.delete(f"/timers/{handle}")) == (404, "unknown_timer")
    assert refusal(await client.get(f"/timers/{handle}")) == (404, "unknown_timer")


async def test_what_is_no_timer_is_refused(client: httpx.AsyncClient) -> None:
    assert refusal(await client.get("/timers/nonsense")) == (400, "invalid_handle")
    assert refusal(await client.delete(f"/timers/{'0' * 32}")) == (409, "too_late_to_recall")
    assert refusal(await client.get("/timers", params={"topic": "none"})) == (404, "unknown_topic")


async def test_a_parked_message_is_released_to_a_topic(client: httpx.AsyncClient, node: Node) -> None:
    await node.topics.create("rescue")
    handle = (await send(client, "t", body="x", delay_ms=HOUR_MS))["timer"]
    assert refusal(await client.post(f"/timers/{handle}/release", json={"topic": "rescue"})) == (404, "unknown_timer")
    await node.timers._rows.revise(
        [parse_handle(handle)], lambda timer: replace(timer, parked="unknown_topic: gone", wake_ms=NEVER_MS)
    )
    (parked,) = (await client.get("/timers", params={"parked": "true"})).json()["items"]
    assert parked["parked"] == "unknown_topic: gone"
    assert refusal(await client.post(f"/timers/{handle}/release", json={"topic": "none"})) == (404, "unknown_topic")
    assert (await client.post(f"/timers/{handle}/release", json={"topic": "rescue"})).status_code == 204

    async def is_there() -> bool:
        return bool((await client.get("/topics/rescue/messages")).json()["items"])

    await until(is_there)


async def test_what_waits_is_listed_in_its_own_instance(client: httpx.AsyncClient) -> None:
    assert (await client.post("/instances", json={"name": "retail"})).is_success
    retail = {"instance": "retail"}
    for params in ({}, retail):
        for waiting in ({"delay_ms": HOUR_MS}, {"transaction": {"group": "payers", "immunity_s": 3600}}):
            answer = await client.post("/topics/t/messages", params=params, json={"body": "later", **waiting})
            assert answer.is_success, answer.text
    for path in ("/timers", "/halves"):
        for params, instance in (({}, "default"), (retail, "retail")):
            assert [each["instance"] for each in (await client.get(path, params=params)).json()["items"]] == [instance]
