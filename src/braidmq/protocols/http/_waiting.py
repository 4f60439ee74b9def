"""Requests that wait: as many as there is room for, and none for longer than its client or the node is there.

Servers do not end a handler when its client has gone; so each waiting request also listens for that. Whoever finds no
room is told to come again, before anything was begun for it.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Final, TypeVar

from litestar import Request

from braidmq.model.errors import TooManyReceivers

PLACES_MAX: Final = 500

ResultT = TypeVar("ResultT")
ItemT = TypeVar("ItemT")


def _nothing(_: object) -> None:
    """There is nothing to take back."""


class WaitingRoom:
    """Shared by all requests of one listener."""

    def __init__(self, places_max: int = PLACES_MAX) -> None:
        self._places_max = places_max
        self._taken = 0
        self.stopping = asyncio.Event()

    def __len__(self) -> int:
        return self._taken

    def close(self) -> None:
        """The node stops: all go with what they have."""
        self.stopping.set()

    async def wait(
        self,
        request: Request[Any, Any, Any],
        work: Coroutine[Any, Any, ResultT],
        *,
        otherwise: ResultT,
        take_back: Callable[[ResultT], None] = _nothing,
    ) -> ResultT:
        """What the work brings, or `otherwise` when client or node go first. What came in the moment of the client's
        going is taken back. Raises TooManyReceivers, and what the work raises."""
        try:
            place = self._place()
        except TooManyReceivers:
            work.close()
            raise
        with place:
            working = asyncio.ensure_future(work)
            leaving = asyncio.ensure_future(_gone(request))
            stopping = asyncio.ensure_future(self.stopping.wait())
            try:
                await asyncio.wait({working, leaving, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if not working.done():
                    return otherwise
                result = working.result()
                if leaving.done():
                    take_back(result)
                    return otherwise
                return result
            finally:
                await _cancel(working, leaving, stopping)

    async def stream(self, items: AsyncIterator[ItemT]) -> AsyncIterator[ItemT]:
        """The items, which are to end with `stopping`. Raises TooManyReceivers with the first of them."""
        with self._place():
            async for item in items:
                yield item

    def check(self) -> None:
        """Whether there is room. Raises TooManyReceivers."""
        if self._taken >= self._places_max:
            raise TooManyReceivers(
                f"{self._places_max} requests wait already (http.waiting_max); ask again later, or without waiting"
            )

    def _place(self) -> "contextlib.AbstractContextManager[None]":
        self.check()
        return self._sit()

    @contextlib.contextmanager
    def _sit(self) -> Iterator[None]:
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1


async def _gone(request: Request[Any, Any, Any]) -> None:
    """Until the client has gone; its body was read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _cancel(*tasks: "asyncio.Future[Any]") -> None:
    """They are over when this returns; what they raise was raised to whoever asked, or nobody asks any more."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
