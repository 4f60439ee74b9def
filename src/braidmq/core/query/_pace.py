"""Working beside others: a slice of work, then a pause, so that publishers hardly notice."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

SLICE_S: Final = 0.001
LONG_S: Final = 0.02
"""Nobody works longer without a breath: where more has passed, the whole process stood still, and need not make up for
it."""
IDLE_S: Final = 0.0003
"""A loop that comes back sooner had nothing else to do."""
IDLE_SHARE: Final = 0.5
"""Not all of it: on a small machine, whoever the loop waits for may need the processor."""

# The event loop's own clock stands still while the loop does one thing.
_now_s = time.perf_counter


class Pace:
    """Takes at most a share of the event loop's time; half of it while there is nothing else to do, and all of it while
    somebody waits for the work."""

    def __init__(self, share: float, is_awaited: Callable[[], bool]) -> None:
        self.share = share
        self._is_awaited = is_awaited
        self._began_s = _now_s()

    @property
    def is_due(self) -> bool:
        """Whether it is time to `breathe`. To be asked often."""
        return _now_s() - self._began_s >= SLICE_S

    async def breathe(self) -> None:
        """Give way to others."""
        worked_s = _now_s()
        spent_s = min(worked_s - self._began_s, LONG_S)
        await asyncio.sleep(0)
        if not self._is_awaited():
            others_s = _now_s() - worked_s
            share = max(self.share, IDLE_SHARE) if others_s < IDLE_S else self.share
            await asyncio.sleep(max(0.0, spent_s * (1 / share - 1) - others_s))
        self._began_s = _now_s()

    def begin(self) -> None:
        """What came before was waiting, not work."""
        self._began_s = _now_s()
