"""Archived messages and reports, over HTTP, from tables without Spark."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from braidmq.node import Node
from braidmq.settings import ArchiveSettings
from inside_node import StartNode

pytest.importorskip("duckdb", reason="the extra [pipeline] is not installed")

from archive_support import TIME, Archived, row

TIME_MS = int(TIME.timestamp() * 1000)


@pytest.fixture
async def archive_node(start_node: StartNode, tmp_path: Path) -> Node:
    archive = Archived(tmp_path / "tables" / "archive")
    rows = [row("orders", 0, offset) for offset in range(10)]
    rows.append(
        row(
            "orders", 1, 0, value=b"\xff\x00", key=b"k", headers=[("h", b"\xfe"), ("__http", b"\x01")], message_id="odd"
        )
    )
    rows.append(row("orders", 2, 0, value=b"elsewhere", message_id="orders-0-3", instance="retail"))
    twice = [{"name": "a", "value": b"1"}, {"name": "b", "value": None}, {"name": "a", "value": b"2"}]
    rows.append(row("orders", 1, 1, repeated_headers=twice, message_id="twice"))
    await asyncio.to_thread(archive.add, rows)
    return await start_node(archive=ArchiveSettings(folder=str(tmp_path / "tables")))


@pytest.fixture
async def asked(archive_node: Node) -> Any:
    async with httpx.AsyncClient(base_url=f"http://{archive_node.addresses['http'][0]}/api/v1", timeout=60) as api:
        yield api


async def test_messages_of_long_ago_are_found(asked: httpx.AsyncClient) -> None:
    answer = await asked.get("/archive/messages", params={"id": "orders-0-3"})
    assert answer.status_code == 200, answer.text
    (found,) = answer.json()["items"]
    assert (found["topic"], found["offset"], found["body"], found["body_base64"]) == ("orders", 3, "orders 0 3", None)
    assert found["stored_ms"] == TIME_MS + 3_000
    assert found["headers"] == [{"name": "a", "value": "1", "value_base64": None}]
    page = (await asked.get("/archive/messages", params={"topic": "orders", "limit": 4})).json()
    assert (len(page["items"]), page["more"]) == (4, True)
    some: dict[str, str | int] = {"topic": "orders", "from_ms": TIME_MS + 2_000, "until_ms": TIME_MS + 4_000}
    assert [each["offset"] for each in (await asked.get("/archive/messages", params=some)).json()["items"]] == [2, 3]
    assert (await asked.get("/archive/messages", params={"id": "nobody"})).json() == {"items": [], "more": False}


async def test_an_instance_sees_its_own_messages_of_long_ago_alone(asked: httpx.AsyncClient) -> None:
    for instance, body in (("default", "orders 0 3"), ("retail", "elsewhere")):
        for ask in ({"id": "orders-0-3"}, {"key": "k3"}, {"topic": "orders"}):
            found = (await asked.get("/archive/messages", params=ask | {"instance": instance})).json()["items"]
            assert {each["instance"] for each in found} <= {instance}, ask
        (found,) = (await asked.get("/archive/messages", params={"id": "orders-0-3", "instance": instance})).json()[
            "items"
        ]
        assert found["body"] == body
    assert (await asked.get("/archive/messages", params={"id": "orders-0-3", "instance": "none"})).json()["items"] == []


async def test_what_is_no_text_comes_as_base64(asked: httpx.AsyncClient) -> None:
    (odd,) = (await asked.get("/archive/messages", params={"id": "odd"})).json()["items"]
    assert (odd["body"], odd["body_base64"], odd["key"]) == (None, "/wA=", "k")
    assert odd["headers"] == [{"name": "h", "value": None, "value_base64": "/g=="}]


async def test_headers_that_repeat_are_all_told(asked: httpx.AsyncClient) -> None:
    (twice,) = (await asked.get("/archive/messages", params={"id": "twice"})).json()["items"]
    assert [(each["name"], each["value"]) for each in twice["headers"]] == [("a", "1"), ("b", None), ("a", "2")]


async def test_a_worker_that_was_killed_is_started_again(archive_node: Node, asked: httpx.AsyncClient) -> None:
    await asked.get("/archive/messages", params={"id": "odd"})
    worker = archive_node.desk._pipeline._worker
    assert worker is not None
    worker.kill()
    await worker.wait()
    assert len((await asked.get("/archive/messages", params={"id": "odd"})).json()["items"]) == 1


async def test_a_question_without_anything_to_look_for_is_refused(asked: httpx.AsyncClient) -> None:
    answer = await asked.get("/archive/messages")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


async def test_reports_are_listed_and_made(asked: httpx.AsyncClient) -> None:
    names = [each["name"] for each in (await asked.get("/reports")).json()["items"]]
    assert names == ["usage-hour", "usage-day", "usage-week", "usage-month"]
    until_ms = TIME_MS + int(timedelta(days=1).total_seconds() * 1000)
    report = await asked.get("/reports/usage-day", params={"until_ms": until_ms})
    assert report.status_code == 200, report.text
    assert {"totals", "topics", "groups", "storage", "courses"} <= set(report.json())
    assert (await asked.get("/reports/weather")).json()["code"] == "unknown_report"
    backwards = await asked.get("/reports/usage-day", params={"from_ms": 2, "until_ms": 1})
    assert backwards.status_code == 400


async def test_without_tables_everybody_is_told_how_to_get_them(api: httpx.AsyncClient) -> None:
    for path in ("/archive/messages?id=x", "/reports", "/reports/usage-day"):
        answer = await api.get(path)
        assert (answer.status_code, answer.json()["code"]) == (409, "archive_off")
        assert "archive.folder" in answer.json()["fix"]
