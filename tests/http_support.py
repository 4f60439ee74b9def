"""What tests of the HTTP interface share."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from braidmq.node import Node


def client_of(node: Node) -> httpx.AsyncClient:
    """A client of a node inside the test's own process."""
    return httpx.AsyncClient(base_url=f"http://{node.addresses['http'][0]}/api/v1", timeout=30)


async def send(client: httpx.AsyncClient, topic: str, **message: Any) -> dict[str, Any]:
    """Sends one message, which is taken; its result."""
    answer = await client.post(f"/topics/{topic}/messages", json=message)
    assert answer.status_code == 200, answer.text
    (result,) = answer.json()["results"]
    return dict(result)


def refusal(answer: httpx.Response) -> tuple[int, str]:
    """The status and the code of a problem."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.status_code, answer.json()["code"]


async def until(condition: Callable[[], Awaitable[bool]], limit_s: float = 20.0) -> None:
    """Waits for what the node's own tasks make true."""
    async with asyncio.timeout(limit_s):
        while not await condition():  # noqa: ASYNC110 - the condition is no event of ours
            await asyncio.sleep(0.01)


async def figure(client: httpx.AsyncClient, name: str) -> float:
    """One of the node's figures, without labels."""
    text = (await client.get(str(client.base_url).removesuffix("/api/v1/") + "/metrics")).text
    return next(float(line.split()[-1]) for line in text.splitlines() if line.startswith(f"{name} "))
