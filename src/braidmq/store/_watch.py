"""A standing wish to look again whenever somebody may have changed something.

One idea: wakes carry no content and may be merged; the look-up that follows finds out what there is. So a
lost or doubled wake does no harm, and a look-up that failed is simply repeated.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from braidmq.logger import get_logger
from braidmq.store._database import Database

RETRY_DELAY_S = 0.5

log = get_logger(__name__)


class Watch:
    """Calls `look` after every wake, one at a time, until it is closed."""

    def __init__(self, database: Database, channel: str, look: Callable[[], Awaitable[None]]) -> None:
        self._channel = channel
        self._look = look
        self._woken = asyncio.Event()
        self._tasks = (
            asyncio.create_task(database.listen(channel, self.wake), name=f"store-listen-{channel}"),
            asyncio.create_task(self._run(), name=f"store-watch-{channel}"),
        )

    def wake(self) -> None:
        self._woken.set()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _run(self) -> None:
        while True:
            await self._woken.wait()
            self._woken.clear()
            try:
                await self._look()
            except Exception:  # reported and tried again: a watch that ended would leave its owner behind for ever
                log.exception("store_watch_failed", channel=self._channel)
                self._woken.set()
                await asyncio.sleep(RETRY_DELAY_S)
