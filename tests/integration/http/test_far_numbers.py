"""Numbers further out than anything there is are answered like any others."""

from typing import Any

import httpx
import pytest

from braidmq.node import Node
from http_support import send

FAR = [2**31, 2**47, 2**48, 2**62, 2**63 - 1, 2**63, 10**30]


@pytest.mark.parametrize("far", FAR)
async def test_far_numbers_break_nothing(client: httpx.AsyncClient, node: Node, far: int) -> None:
    await node.topics.create("t", partitions=1)
    await send(client, "t", body="x", keys=["k"])
    asks: list[tuple[str, str, dict[str, Any] | None]] = [
        ("GET", f"/timers?from_ms={far}", None),
        ("GET", f"/timers?until_ms={far}", None),
        ("GET", f"/topics/t/messages?from_ms={far}", None),
        ("GET", f"/topics/t/messages?until_ms={far}", None),
        ("GET", f"/topics/t/messages?key=k&from_ms={far}", None),
        ("GET", f"/topics/t/messages?key=k&until_ms={far}", None),
        ("GET", f"/topics/t/messages?key=k&cursor={far}-0", None),
        ("GET", f"/topics/t/messages?cursor=0-{far}", None),
        ("GET", f"/topics/t/messages?partition={far}", None),
        ("GET", f"/topics/t/messages?partition=0&offset={far}", None),
        ("GET", f"/topics/t/messages/0/{far}", None),
        ("GET", f"/topics/t/messages/0/-{far}", None),
        ("GET", f"/topics/t/messages/{far}/0", None),
        ("GET", f"/topics/t/partitions/0/messages?offset={far}", None),
        ("GET", f"/topics/t/partitions/-1/messages?offset={far}", None),
        ("GET", f"/dead-letters?from_ms={far}", None),
        ("GET", f"/dead-letters?until_ms={far}", None),
        ("POST", "/topics/t/messages", {"body": "x", "deliver_at_ms": far}),
        ("POST", "/topics/t/messages", {"body": "x", "delay_ms": far}),
        ("POST", "/topics/t/messages", {"body": "x", "partition": far}),
        ("POST", f"/topics/t/messages/0/{far}/resend", {}),
        ("POST", "/dead-letters/replay", {"group": "g", "places": [{"partition": far, "offset": far}]}),
        ("POST", "/dead-letters/delete", {"group": "g", "last": {"partition": 0, "offset": far}}),
        ("POST", "/dead-letters/delete?dry_run=true", {"group": "g", "last": {"partition": far, "offset": far}}),
    ]
    (given,) = (await client.post("/groups/g/receive", json={"topic": "t"})).json()["messages"]
    assert (await client.post("/groups/g/bury", json={"receipt": given["receipt"]})).status_code == 204
    answers = [
        (method, path, (await client.request(method, path, json=body)).status_code) for method, path, body in asks
    ]
    assert [each for each in answers if each[2] >= 500] == []
