"""Working beside others: a slice of work, then a pause, so that publishers hardly notice."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

SLICE_S: Final = 0.001

# The event loop's own clock stands still while the loop does one thing.
_now_s = time.perf_counter


class Pace:
    """Takes at most a share of the event loop's time, except while somebody waits for the work."""

    def __init__(self, share: float, is_awaited: Callable[[], bool]) -> None:
        self._pause_for_each_s = 1 / share - 1
        self._is_awaited = is_awaited
        self._began_s = _now_s()

    @property
    def is_due(self) -> bool:
        """Whether it is time to `breathe`. To be asked often."""
        return _now_s() - self._began_s >= SLICE_S

    async def breathe(self) -> None:
        """Give way to others."""
        spent_s = _now_s() - self._began_s
        await asyncio.sleep(0 if self._is_awaited() else spent_s * self._pause_for_each_s)
        self._began_s = _now_s()

    def begin(self) -> None:
        """What came before was waiting, not work."""
        self._began_s = _now_s()
