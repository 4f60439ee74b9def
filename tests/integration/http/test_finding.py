"""Finding and pulling messages: answers say how far they looked, and where to go on."""

import asyncio
import time
from typing import Any

import httpx
import pytest

from braidmq.core.desk import _index_search, _scan
from braidmq.model import Message
from braidmq.node import Node
from braidmq.settings import QuerySettings
from http_support import client_of
from inside_node import StartNode


async def fill(node: Node, topic: str, count: int, *, partitions: int = 2) -> None:
    made = await node.topics.create(topic, partitions=partitions)
    for at in range(count):
        message = Message.create(
            b"%d" % at,
            keys=["even" if at % 2 == 0 else "odd", f"k{at}"],
            id=f"id{at}",
            tag=f"t{at % 3}",
            born_ms=1000 + at,
        )
        await node.publisher.published(made, (message,), partition=at % partitions)


def bodies(answer: dict[str, Any]) -> list[str]:
    return [each["body"] for each in answer["items"]]


async def every_page(client: httpx.AsyncClient, path: str, **params: Any) -> tuple[list[str], list[dict[str, Any]]]:
    found, scans, cursor = [], [], None
    while True:
        answer = (await client.get(path, params=params | ({} if cursor is None else {"cursor": cursor}))).json()
        found += bodies(answer)
        scans.append(answer["scanned"])
        cursor = answer["cursor"]
        if cursor is None:
            return found, scans
        assert len(scans) < 100


async def test_messages_are_found_by_id_and_key_in_one_topic_and_in_all(client: httpx.AsyncClient, node: Node) -> None:
    await fill(node, "a", 6)
    await fill(node, "b", 3)
    answer = (await client.get("/topics/a/messages", params={"id": "id4"})).json()
    assert bodies(answer) == ["4"]
    assert answer["scanned"]["complete"]
    assert bodies((await client.get("/topics/a/messages", params={"key": "k3"})).json()) == ["3"]
    everywhere = (await client.get("/messages", params={"id": "id1"})).json()
    assert [(each["topic"], each["body"]) for each in everywhere["items"]] == [("a", "1"), ("b", "1")]
    assert everywhere["scanned"]["complete"]


async def test_a_search_over_all_topics_goes_on_where_it_stopped(client: httpx.AsyncClient, node: Node) -> None:
    for name in ("a", "b", "c"):
        await fill(node, name, 2)
    found, scans = await every_page(client, "/messages", id="id1", limit=1)
    assert found == ["1", "1", "1"]
    assert [each["complete"] for each in scans] == [False, False, True]


async def test_a_search_over_all_topics_passes_nothing_over(client: httpx.AsyncClient, node: Node) -> None:
    for name in ("a", "b"):
        await fill(node, name, 10)
    for limit in (1, 2, 3, 7):
        found, scans = await every_page(client, "/messages", key="even", limit=limit)
        assert found == ["8", "6", "4", "2", "0"] * 2
        assert [each["complete"] for each in scans] == [False] * (len(scans) - 1) + [True]


async def test_a_search_that_finds_little_says_how_far_it_came(
    client: httpx.AsyncClient, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_scan, "SCAN_MESSAGES", 4)
    monkeypatch.setattr(_scan, "PIECE_MESSAGES", 2)
    monkeypatch.setattr(_index_search, "TOPICS_MAX", 1)
    await fill(node, "t", 20)
    await fill(node, "u", 1)
    found, scans = await every_page(client, "/topics/t/messages", filter="none")
    assert found == []
    assert [(each["messages"], each["complete"]) for each in scans[:2]] == [(4, False), (4, False)]
    assert sum(each["messages"] for each in scans) == 20
    found, scans = await every_page(client, "/messages", id="id0")
    assert (found, [each["complete"] for each in scans]) == (["0", "0"], [False, True])


async def test_messages_of_a_key_are_paged_the_newest_first(client: httpx.AsyncClient, node: Node) -> None:
    await fill(node, "t", 20)
    found, scans = await every_page(client, "/topics/t/messages", key="even", limit=3)
    assert found == [str(at) for at in range(18, -1, -2)]
    assert [each["complete"] for each in scans[-2:]] == [False, True]


async def test_messages_of_the_same_moment_are_each_shown_once(client: httpx.AsyncClient, node: Node) -> None:
    topic = await node.topics.create("t", partitions=2)
    for at in range(7):
        message = Message.create(b"%d" % at, keys=["k"], born_ms=5)
        await node.publisher.published(topic, (message,), partition=at % 2)
    found, _ = await every_page(client, "/topics/t/messages", key="k", limit=2)
    assert sorted(found) == [str(at) for at in range(7)]


async def test_messages_of_a_time_are_paged_and_the_answers_count_what_was_looked_through(
    client: httpx.AsyncClient, node: Node
) -> None:
    await fill(node, "t", 20)
    found, scans = await every_page(client, "/topics/t/messages", from_ms=1004, until_ms=1013, limit=3)
    assert sorted(map(int, found)) == list(range(4, 14))
    assert sum(each["messages"] for each in scans) == 10
    assert [each["complete"] for each in scans] == [False] * (len(scans) - 1) + [True]


async def test_messages_follow_an_offset_and_pass_a_filter(client: httpx.AsyncClient, node: Node) -> None:
    await fill(node, "t", 20)
    found, _ = await every_page(client, "/topics/t/messages", partition=1, offset=7, limit=2)
    assert found == ["15", "17", "19"]
    found, scans = await every_page(client, "/topics/t/messages", filter="t0 || t1", limit=4)
    assert sorted(map(int, found)) == [at for at in range(20) if at % 3 != 2]
    assert sum(each["messages"] for each in scans) == 20
    by_sql = {"filter": "TAGS = 't2'", "filter_kind": "sql"}
    found, _ = await every_page(client, "/topics/t/messages", **by_sql)
    assert sorted(map(int, found)) == [at for at in range(20) if at % 3 == 2]


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("id=a&key=b", 400, "invalid_request"),
        ("cursor=nonsense", 400, "invalid_request"),
        ("key=a&cursor=nonsense", 400, "invalid_request"),
        ("partition=9", 404, "unknown_partition"),
        ("cursor=9-0", 404, "unknown_partition"),
        ("filter=((&filter_kind=sql", 422, "invalid_filter"),
        ("filter=a&filter_kind=header", 422, "invalid_filter"),
        ("limit=1001", 400, "bad_request"),
    ],
)
async def test_searches_that_cannot_be_are_refused(
    client: httpx.AsyncClient, node: Node, query: str, status: int, code: str
) -> None:
    await node.topics.create("t", partitions=2)
    answer = await client.get(f"/topics/t/messages?{query}")
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text


async def test_topics_and_messages_that_are_not_there_are_not_found(client: httpx.AsyncClient, node: Node) -> None:
    await node.topics.create("t", partitions=1)
    for path, code in (
        ("/topics/none/messages", "unknown_topic"),
        ("/topics/none/tail", "unknown_topic"),
        ("/topics/t/messages?instance=other", "unknown_topic"),
        ("/topics/t/messages/0/7", "unknown_message"),
        ("/topics/t/messages/7/0", "unknown_partition"),
        ("/topics/t/partitions/7/messages", "unknown_partition"),
    ):
        answer = await client.get(path)
        assert (answer.status_code, answer.json()["code"]) == (404, code), path


async def test_without_an_index_searches_by_id_say_so(start_node: StartNode) -> None:
    node = await start_node(query=QuerySettings(index="off"))
    await node.topics.create("t")
    async with client_of(node) as client:
        answer = await client.get("/topics/t/messages", params={"id": "7"})
        assert (answer.status_code, answer.json()["code"]) == (409, "index_off")


async def test_a_pull_says_where_to_go_on(client: httpx.AsyncClient, node: Node) -> None:
    await fill(node, "t", 5, partitions=1)
    pulled = (await client.get("/topics/t/partitions/0/messages", params={"offset": 1, "limit": 2})).json()
    assert (bodies(pulled), pulled["next_offset"], pulled["stable_offset"]) == (["1", "2"], 3, 5)
    pulled = (await client.get("/topics/t/partitions/0/messages", params={"filter": "t1", "limit": 9})).json()
    assert (bodies(pulled), pulled["next_offset"]) == (["1", "4"], 5)
    beyond = await client.get("/topics/t/partitions/0/messages", params={"offset": 9})
    assert (beyond.status_code, beyond.json()["code"]) == (422, "offset_out_of_range")


async def test_a_pull_waits_for_the_first_message_that_is_wanted(client: httpx.AsyncClient, node: Node) -> None:
    topic = await node.topics.create("t", partitions=1)
    params: dict[str, Any] = {"offset": 0, "wait_s": 20, "filter": "wanted"}
    began = time.monotonic()
    pulling = asyncio.create_task(client.get("/topics/t/partitions/0/messages", params=params))
    await node.publisher.published(topic, (Message.create(b"1", tag="other"),))
    await node.publisher.published(topic, (Message.create(b"2", tag="wanted"),))
    assert bodies((await pulling).json()) == ["2"]
    assert time.monotonic() - began < 15


async def test_a_pull_that_waits_in_vain_says_how_far_it_looked(client: httpx.AsyncClient, node: Node) -> None:
    await fill(node, "t", 3, partitions=1)
    params: dict[str, Any] = {"offset": 0, "wait_s": 0.05, "filter": "none"}
    pulled = (await client.get("/topics/t/partitions/0/messages", params=params)).json()
    assert (pulled["items"], pulled["next_offset"]) == ([], 3)
