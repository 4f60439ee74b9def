"""Parked half messages, as the console has an operator release or discard them."""

from collections.abc import AsyncIterator

import httpx
import pytest
from msgspec.structs import replace

from braidmq.model import NEVER_MS, Half, HalfState
from braidmq.node import Node
from http_support import refusal, send, until


@pytest.fixture
async def console(node: Node) -> AsyncIterator[httpx.AsyncClient]:
    """A browser's session, as far as forms need one."""
    async with httpx.AsyncClient(base_url=f"http://{node.addresses['http'][0]}/console", timeout=30) as session:
        assert (await session.get("/login", params={"token": node.console_token})).status_code == 303
        await session.get("/transactions")
        session.headers["x-csrftoken"] = session.cookies["braid_csrf"]
        yield session


def _stranded(half: Half) -> Half:
    """As a half is whose topic was deleted before its commit could be carried out."""
    return replace(half, state=HalfState.COMMITTING, parked="unknown_topic: gone", wake_ms=NEVER_MS)


async def strand(node: Node, client: httpx.AsyncClient) -> str:
    half = str((await send(client, "t", body="orphan", transaction={"group": "g"}))["half"])
    row, _ = await node.halves.find(half)
    await node.halves._rows.revise([row.id], _stranded)
    return half


async def test_a_parked_message_is_released_to_another_topic(
    node: Node, client: httpx.AsyncClient, console: httpx.AsyncClient
) -> None:
    await node.topics.create("rescue")
    half = await strand(node, client)
    assert half in (await console.get("/transactions", params={"parked": "true"})).text
    assert "unknown_topic: gone" in (await console.get(f"/transactions/{half}/detail")).text
    refused = await console.post(f"/transactions/{half}/release", data={"topic": ""})
    assert refused.status_code == 400
    released = await console.post(f"/transactions/{half}/release", data={"topic": "rescue"})
    assert (released.status_code, released.headers["hx-trigger"]) == (200, "braid:refresh")

    async def is_there() -> bool:
        return bool((await client.get("/topics/rescue/messages")).json()["items"])

    await until(is_there)


async def test_a_parked_message_is_discarded(node: Node, client: httpx.AsyncClient, console: httpx.AsyncClient) -> None:
    half = await strand(node, client)
    assert (await console.post(f"/transactions/{half}/discard", data={})).status_code == 200
    assert refusal(await client.get(f"/halves/{half}")) == (404, "unknown_half")


async def test_a_form_without_the_sign_of_its_session_is_refused(
    node: Node, client: httpx.AsyncClient, console: httpx.AsyncClient
) -> None:
    half = await strand(node, client)
    del console.headers["x-csrftoken"]
    assert (await console.post(f"/transactions/{half}/discard", data={})).status_code == 403
    assert (await client.get(f"/halves/{half}")).status_code == 200
