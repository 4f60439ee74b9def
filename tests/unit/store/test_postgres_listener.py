"""The task that listens for other nodes' changes ends when the store is closed, whatever happens in that moment."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from braidmq.store._postgres import _listen_until_lost


class Connection:
    """As much of asyncpg's as a listener uses. Once it is lost, a statement fails."""

    def __init__(self) -> None:
        self._told: list[Callable[[Any], None]] = []
        self._is_lost = False

    def add_termination_listener(self, told: Callable[[Any], None]) -> None:
        self._told.append(told)

    async def add_listener(self, channel: str, heard: Callable[..., None]) -> None:
        pass

    async def execute(self, statement: str, **_: float) -> None:
        if self._is_lost:
            raise ConnectionError(statement)

    def lose(self) -> None:
        self._is_lost = True
        for told in self._told:
            told(self)


@pytest.mark.parametrize("steps", range(6))
async def test_a_listener_is_cancelled_also_when_its_connection_was_lost_just_before(steps: int) -> None:
    connection = Connection()
    listening = asyncio.create_task(_listen_until_lost(connection, "changes", lambda: None))
    await asyncio.sleep(0.01)
    connection.lose()
    for _ in range(steps):
        await asyncio.sleep(0)
    ended_by_itself = listening.done()
    listening.cancel()
    await asyncio.wait((listening,))
    assert listening.cancelled() or ended_by_itself
