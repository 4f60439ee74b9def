"""Many callers, one call: what arrives while one is carried out is carried out together by the next.

For things that many do at the same time and each in the same way: a statement costs far more than a row of it, and an
append far more than a message.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

TOGETHER_MAX = 512


class Gathering(Generic[ItemT, ResultT]):
    """`carry_out(items)` is called for one lot after the other, and has a result for each item; what it raises is
    raised to all of its callers."""

    def __init__(self, carry_out: Callable[[list[ItemT]], Awaitable[Sequence[ResultT]]]) -> None:
        self._carry_out = carry_out
        self._waiting: list[tuple[ItemT, asyncio.Future[ResultT]]] = []
        self._task: asyncio.Task[None] | None = None

    async def put(self, item: ItemT) -> ResultT:
        """Done when this returns. A caller that goes away does not take its item with it."""
        done: asyncio.Future[ResultT] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, done))
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        return await done

    async def _run(self) -> None:
        try:
            while self._waiting:
                lot, self._waiting = self._waiting[:TOGETHER_MAX], self._waiting[TOGETHER_MAX:]
                await self._carry_out_lot(lot)
        finally:
            self._task = None

    async def _carry_out_lot(self, lot: list[tuple[ItemT, "asyncio.Future[ResultT]"]]) -> None:
        try:
            results = await self._carry_out([item for item, _ in lot])
        except BaseException as error:
            for _, done in lot:
                if not done.done():
                    done.set_exception(error)
            if not isinstance(error, Exception):
                raise
            return
        for (_, done), result in zip(lot, results, strict=True):
            if not done.done():
                done.set_result(result)
