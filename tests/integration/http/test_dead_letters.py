"""Dead letters over HTTP: listed with cause and age, replayed with a result for each, deleted and exported."""

import csv
import io
import json
from typing import Any

import httpx
import pytest

from braidmq.model import Group
from braidmq.node import Node
from http_support import refusal, send


async def bury(client: httpx.AsyncClient, count: int = 1, *, group: str = "g", topic: str = "t") -> list[str]:
    """So many messages of the topic, brought to the group's dead letters; their bodies."""
    bodies = [f"{topic}{at}" for at in range(count)]
    for body in bodies:
        await send(client, topic, body=body, keys=[body])
    left = count
    while left:
        received = await client.post(f"/groups/{group}/receive", json={"topic": topic, "wait_s": 20})
        for message in received.json()["messages"]:
            answer = await client.post(f"/groups/{group}/bury", json={"receipt": message["receipt"]})
            assert answer.status_code == 204, answer.text
            left -= 1
    return bodies


async def listed(client: httpx.AsyncClient, **params: Any) -> list[dict[str, Any]]:
    """All of a list, page by page."""
    items: list[dict[str, Any]] = []
    cursor: str | None = None
    for _ in range(100):
        more = {} if cursor is None else {"cursor": cursor}
        answer = await client.get("/dead-letters", params=params | more)
        assert answer.status_code == 200, answer.text
        items += answer.json()["items"]
        cursor = answer.json()["cursor"]
        if cursor is None:
            return items
    raise AssertionError("the list has no end")


async def replay(client: httpx.AsyncClient, *, dry_run: bool = False, **ask: Any) -> dict[str, Any]:
    params = {"dry_run": "true"} if dry_run else {}
    answer = await client.post("/dead-letters/replay", json={"group": "g", **ask}, params=params)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def test_dead_letters_of_one_group_and_of_all_are_listed_page_by_page(client: httpx.AsyncClient) -> None:
    bodies = await bury(client, 5)
    await bury(client, 2, group="h", topic="u")
    found = await listed(client, group="g", limit=2)
    assert sorted(each["message"]["body"] for each in found) == bodies
    assert {(each["group"], each["origin_topic"], each["attempts"]) for each in found} == {("g", "t", 1)}
    assert all(0 <= each["age_ms"] < 60_000 for each in found)
    everywhere = await listed(client, limit=2)
    assert [each["group"] for each in everywhere] == ["g"] * 5 + ["h"] * 2
    assert [each["message"]["body"] for each in await listed(client, topic="u")] == ["u0", "u1"]
    assert [each["message"]["body"] for each in await listed(client, key="t3")] == ["t3"]
    assert await listed(client, from_ms=found[-1]["died_ms"] + 60_000) == []


async def test_the_cause_is_what_is_known_of_it(client: httpx.AsyncClient, node: Node) -> None:
    await node.catalog.save_group(Group(name="g", attempts_max=1))
    await send(client, "t", body="x")
    for _ in range(2):
        (given,) = (await client.post("/groups/g/receive", json={"topic": "t", "wait_s": 20})).json()["messages"]
        await client.post("/groups/g/reject", json={"receipt": given["receipt"]})
    assert (await client.post("/groups/g/receive", json={"topic": "t", "wait_s": 1})).json()["messages"] == []
    (letter,) = await listed(client, group="g")
    assert letter["cause"] == "delivered 2 times in vain, which is all that its group allows"


async def test_dead_letters_are_replayed_to_their_group_or_topic_with_a_result_for_each(
    client: httpx.AsyncClient,
) -> None:
    await bury(client, 3)
    letters = await listed(client, group="g")
    places = [each["place"] for each in letters[:2]]
    missing = {"partition": 0, "offset": 99}
    planned = await replay(client, places=[*places, missing], dry_run=True)
    assert planned["dry_run"]
    assert [each["topic"] for each in planned["results"]] == ["%RETRY%g", "%RETRY%g", None]
    assert [each["offset"] for each in planned["results"]] == [None] * 3
    done = await replay(client, places=[*places, missing])
    assert [each["error"] and each["error"]["code"] for each in done["results"]] == [None, None, "unknown_message"]
    assert [each["place"] for each in done["results"]] == [*places, missing]
    again = await client.post("/groups/g/receive", json={"topic": "%RETRY%g", "wait_s": 20})
    wanted = {each["message"]["id"] for each in letters[:2]}
    assert {each["id"] for each in again.json()["messages"]} <= wanted
    before = len((await client.get("/topics/t/messages")).json()["items"])
    results = (await replay(client, all=True, to="topic", filter={"key": "t2"}))["results"]
    assert [(each["topic"], each["error"]) for each in results] == [("t", None)]
    assert len((await client.get("/topics/t/messages")).json()["items"]) == before + 1
    assert len(await listed(client, group="g")) == 3


async def test_a_replay_of_all_goes_on_where_it_stopped_and_has_an_end(client: httpx.AsyncClient) -> None:
    await bury(client, 5)
    replayed: list[str] = []
    cursor: str | None = None
    for _ in range(10):
        page = await replay(client, all=True, limit=2, cursor=cursor)
        replayed += [each["message_id"] for each in page["results"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert len(replayed) == len(set(replayed)) == 5


async def test_a_letter_whose_topic_is_gone_is_refused_and_stays(client: httpx.AsyncClient, node: Node) -> None:
    await bury(client)
    topic = node.topics.find("t")
    assert topic is not None
    await node.topics.delete(topic)
    for dry_run in (True, False):
        (result,) = (await replay(client, all=True, to="topic", dry_run=dry_run))["results"]
        assert result["error"]["code"] == "unknown_topic"
    assert len(await listed(client, group="g")) == 1


async def test_dead_letters_are_deleted_up_to_one_or_all_and_not_when_it_is_only_tried(
    client: httpx.AsyncClient,
) -> None:
    await bury(client, 4)
    letters = await listed(client, group="g")
    ask = {"group": "g", "last": letters[1]["place"]}
    tried = await client.post("/dead-letters/delete", json=ask, params={"dry_run": "true"})
    assert tried.json() == {"deleted": 2, "dry_run": True}
    assert len(await listed(client, group="g")) == 4
    assert (await client.post("/dead-letters/delete", json=ask)).json() == {"deleted": 2, "dry_run": False}
    left = await listed(client, group="g")
    assert [each["place"] for each in left] == [each["place"] for each in letters[2:]]
    everything = {"group": "g", "all": True}
    assert (await client.post("/dead-letters/delete", json=everything)).json()["deleted"] == 2
    assert await listed(client, group="g") == []


async def test_exports_hold_every_dead_letter_once(client: httpx.AsyncClient) -> None:
    bodies = await bury(client, 3)
    await bury(client, 1, group="h", topic="u")

    async def export(form: str, **params: str) -> httpx.Response:
        answer = await client.get("/dead-letters/export", params={"format": form, **params})
        assert f'filename="dead-letters.{form}"' in answer.headers["content-disposition"]
        return answer

    whole = (await export("json")).json()
    assert sorted(each["message"]["body"] for each in whole) == [*bodies, "u0"]
    lines = [json.loads(line) for line in (await export("ndjson", group="g")).text.splitlines()]
    assert sorted(each["message"]["body"] for each in lines) == bodies
    rows = list(csv.DictReader(io.StringIO((await export("csv", group="g")).text)))
    assert sorted(row["body"] for row in rows) == bodies
    assert {(row["group"], row["origin_topic"]) for row in rows} == {("g", "t")}
    await client.post("/dead-letters/delete", json={"group": "g", "all": True})
    assert (await export("json", group="g")).json() == []


@pytest.mark.parametrize(
    ("path", "ask"),
    [
        ("replay", {"group": "nobody", "all": True}),
        ("delete", {"group": "nobody", "all": True}),
    ],
)
async def test_groups_that_nobody_knows_are_not_found(
    client: httpx.AsyncClient, path: str, ask: dict[str, Any]
) -> None:
    assert refusal(await client.post(f"/dead-letters/{path}", json=ask)) == (404, "unknown_group")
    assert refusal(await client.get("/dead-letters", params={"group": "nobody"})) == (404, "unknown_group")
    assert refusal(await client.get("/dead-letters/export", params={"group": "nobody"})) == (404, "unknown_group")


@pytest.mark.parametrize(
    ("path", "ask"),
    [
        ("replay", {"group": "g"}),
        ("replay", {"group": "g", "all": True, "places": [{"partition": 0, "offset": 0}]}),
        ("replay", {"group": "g", "places": [{"partition": 0, "offset": 0}], "filter": {"topic": "t"}}),
        ("replay", {"group": "g", "all": True, "cursor": "nonsense"}),
        ("delete", {"group": "g"}),
        ("delete", {"group": "g", "all": True, "last": {"partition": 0, "offset": 0}}),
    ],
)
async def test_what_cannot_be_asked_of_dead_letters_is_refused(
    client: httpx.AsyncClient, node: Node, path: str, ask: dict[str, Any]
) -> None:
    await node.catalog.save_group(Group(name="g"))
    assert refusal(await client.post(f"/dead-letters/{path}", json=ask)) == (400, "invalid_request")


async def test_a_group_without_dead_letters_has_none(client: httpx.AsyncClient, node: Node) -> None:
    await node.catalog.save_group(Group(name="g"))
    assert await listed(client, group="g") == []
    assert (await replay(client, all=True))["results"] == []
    (missing,) = (await replay(client, places=[{"partition": 0, "offset": 0}]))["results"]
    assert missing["error"]["code"] == "unknown_message"
    assert (await client.post("/dead-letters/delete", json={"group": "g", "all": True})).json()["deleted"] == 0
    assert refusal(await client.get("/dead-letters", params={"cursor": "bm8"})) == (400, "invalid_request")


async def test_groups_are_listed_by_how_many_they_gave_up_and_letters_by_their_age(client: httpx.AsyncClient) -> None:
    await bury(client, 2)
    await bury(client, 3, group="h", topic="u")
    groups = (await client.get("/dead-letters/groups")).json()["items"]
    assert groups == [{"group": "h", "letters": 3}, {"group": "g", "letters": 2}]
    ages = (await client.get("/dead-letters/ages", params={"group": "h"})).json()
    assert [each["letters"] for each in ages["items"]] == [3, 0, 0, 0, 0]
    everywhere = (await client.get("/dead-letters/ages")).json()
    assert (everywhere["items"][0], everywhere["complete"]) == ({"from_age_ms": 0, "letters": 5}, True)
    assert refusal(await client.get("/dead-letters/ages", params={"group": "nobody"})) == (404, "unknown_group")


async def test_one_dead_letter_is_shown_by_its_place(client: httpx.AsyncClient) -> None:
    await bury(client, 2)
    wanted = (await listed(client, group="g"))[1]
    place = wanted["place"]
    shown = (await client.get(f"/dead-letters/g/{place['partition']}/{place['offset']}")).json()
    assert (shown["message"], shown["cause"]) == (wanted["message"], wanted["cause"])
    assert refusal(await client.get("/dead-letters/g/0/99")) == (404, "unknown_message")
    assert refusal(await client.get("/dead-letters/nobody/0/0")) == (404, "unknown_group")
