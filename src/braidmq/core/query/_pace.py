"""Working beside others: a slice of work, then a pause, so that publishers hardly notice."""

import asyncio
from collections.abc import Callable
from typing import Final

SLICE_S: Final = 0.001


class Pace:
    """Takes at most a share of the event loop's time, except while somebody waits for the work."""

    def __init__(self, share: float, is_awaited: Callable[[], bool]) -> None:
        self._pause_for_each_s = 1 / share - 1
        self._is_awaited = is_awaited
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()

    async def breathe(self) -> None:
        """To be called often; gives way when it is time."""
        spent_s = self._loop.time() - self._began
        if spent_s >= SLICE_S:
            await asyncio.sleep(0 if self._is_awaited() else spent_s * self._pause_for_each_s)
            self._began = self._loop.time()

    def begin(self) -> None:
        """What came before was waiting, not work."""
        self._began = self._loop.time()
