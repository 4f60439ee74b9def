"""Who waits for what, when several things happen in the same moment."""

import asyncio
from typing import Any

import pytest
from litestar import Request

from braidmq.model.errors import InvalidFilter, TooManyReceivers
from braidmq.protocols.http._waiting import WaitingRoom


class Client:
    """As much of a client as a waiting request sees: its connection, until it ends."""

    def __init__(self) -> None:
        self.left = asyncio.Event()

    async def _receive(self) -> dict[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}

    def request(self) -> Request[Any, Any, Any]:
        scope: Any = {"type": "http", "headers": [], "method": "GET", "path": "/", "state": {}, "extensions": {}}
        receive: Any = self._receive
        return Request(scope, receive)


async def result_of(event: asyncio.Event, result: str) -> str:
    await event.wait()
    return result


async def test_what_comes_in_the_moment_of_the_clients_going_is_taken_back() -> None:
    room, client, work = WaitingRoom(), Client(), asyncio.Event()
    taken_back: list[str] = []
    waiting = asyncio.create_task(
        room.wait(client.request(), result_of(work, "message"), otherwise="", take_back=taken_back.append)
    )
    await asyncio.sleep(0)
    work.set()
    client.left.set()
    assert await waiting == ""
    assert taken_back == ["message"]
    assert len(room) == 0


async def test_what_the_work_raises_is_raised_to_the_client() -> None:
    async def fails() -> str:
        raise InvalidFilter("no")

    room = WaitingRoom()
    with pytest.raises(InvalidFilter):
        await room.wait(Client().request(), fails(), otherwise="")
    assert len(room) == 0


async def test_a_room_that_is_closed_or_full_begins_nothing() -> None:
    room = WaitingRoom(1)
    never = asyncio.Event()
    first = asyncio.create_task(room.wait(Client().request(), result_of(never, "x"), otherwise="nothing"))
    await asyncio.sleep(0)
    with pytest.raises(TooManyReceivers, match=r"http\.waiting_max"):
        await room.wait(Client().request(), result_of(never, "x"), otherwise="")
    room.close()
    assert await first == "nothing"
    assert await room.wait(Client().request(), result_of(never, "x"), otherwise="closed") == "closed"
