"""Clients that are refused at the door are told of in the log, but never by a line for each: whoever opens connections
faster than they are closed must not fill the disk with what is said about it.
"""

import asyncio
from typing import Any, Final

from braidmq.logger import Logger

PAUSE_S: Final = 10.0
"""How long nothing more is said of the same thing."""


class Refusals:
    """The first is told at once; how many followed, after each pause in which there were any."""

    def __init__(self, logger: Logger, event: str, pause_s: float = PAUSE_S) -> None:
        self._logger = logger
        self._event = event
        self._pause_s = pause_s
        self._facts: dict[str, Any] = {}
        self._untold = 0
        self._timer: asyncio.TimerHandle | None = None

    def note(self, **facts: Any) -> None:
        """One more was refused. The facts are those of the last one when many are told of."""
        self._untold += 1
        self._facts = facts
        if self._timer is None:
            self._tell()

    def close(self) -> None:
        """Tell what has not been told, and no more of it later."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._untold:
            self._logger.warning(self._event, refused=self._untold, **self._facts)
            self._untold = 0

    def _tell(self) -> None:
        self._timer = None
        if not self._untold:
            return
        self._logger.warning(self._event, refused=self._untold, **self._facts)
        self._untold = 0
        self._timer = asyncio.get_running_loop().call_later(self._pause_s, self._tell)
