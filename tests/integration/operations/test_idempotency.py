"""A POST with a key is carried out once."""

import asyncio
from typing import Any

import httpx
import pytest

from braidmq.core.answers import BODY_BYTES_MAX, KeptAnswer
from braidmq.model.errors import AnswerNotKept
from braidmq.node import Node

RULE = {"name": "lag", "kind": "lag", "threshold": 5}
KEY = {"Idempotency-Key": "k-1"}


async def make(api: httpx.AsyncClient, rule: dict[str, Any] = RULE, key: str = "k-1") -> httpx.Response:
    return await api.post("/alarms/rules", json=rule, headers={"Idempotency-Key": key})


async def test_the_same_request_gets_the_first_answer_again(api: httpx.AsyncClient) -> None:
    first, second = await make(api), await make(api)
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()
    assert "idempotency-replayed" not in first.headers
    assert second.headers["idempotency-replayed"] == "true"
    assert (await api.post("/alarms/rules", json=RULE)).status_code == 409, "without the key it is another request"
    entries = (await api.get("/audit")).json()["items"]
    assert [each["outcome"] for each in entries] == ["already_exists", "done"], "what is replayed changes nothing"
    assert [each["name"] for each in entries] == ["lag", "lag"]


async def test_another_request_with_the_key_is_refused(api: httpx.AsyncClient) -> None:
    await make(api)
    answer = await make(api, RULE | {"threshold": 6})
    assert (answer.status_code, answer.json()["code"]) == (409, "idempotency_key_reused")
    elsewhere = await api.post("/alarms/silences", json={"reason": "x", "until_ms": 1}, headers=KEY)
    assert elsewhere.json()["code"] == "idempotency_key_reused"


async def test_an_error_frees_the_key(api: httpx.AsyncClient) -> None:
    assert (await make(api, RULE | {"kind": "weather"})).status_code == 400
    assert (await make(api)).status_code == 201


async def test_of_many_at_once_one_is_carried_out(api: httpx.AsyncClient) -> None:
    statuses = [each.status_code for each in await asyncio.gather(*(make(api) for _ in range(20)))]
    assert set(statuses) <= {201, 409}
    assert [each["outcome"] for each in (await api.get("/audit")).json()["items"]] == ["done"]


async def test_who_asks_while_the_first_is_under_way_is_told_so(node: Node, api: httpx.AsyncClient) -> None:
    body = httpx.Request("POST", "http://x", json=RULE).content
    from braidmq.protocols.http._changes import _digest

    scope: Any = {"method": "POST", "path": "/api/v1/alarms/rules", "query_string": b""}
    assert await node.desk.answers.claim("k-1", _digest(scope, body)) is None
    answer = await make(api)
    assert (answer.status_code, answer.json()["code"], answer.json()["retriable"]) == (409, "request_in_progress", True)
    await node.desk.answers.release("k-1")
    assert (await make(api)).status_code == 201


async def test_an_answer_that_was_too_large_is_not_made_up(node: Node) -> None:
    large = KeptAnswer(digest=b"d", status=200, body=b"x" * (BODY_BYTES_MAX + 1))
    await node.desk.answers.keep("k", large)
    with pytest.raises(AnswerNotKept):
        await node.desk.answers.claim("k", b"d")


async def test_a_key_that_is_none_is_refused(api: httpx.AsyncClient) -> None:
    assert (await make(api, key="x" * 256)).json()["code"] == "invalid_request"
    assert (await make(api, key="")).json()["code"] == "invalid_request"
