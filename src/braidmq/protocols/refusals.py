"""Clients that are refused at the door are told of in the log, but never by a line for each: whoever opens connections
faster than they are closed must not fill the disk with what is said about it.
"""

import asyncio
import logging
from typing import Any, Final

from braidmq.logger import Logger

PAUSE_S: Final = 10.0
"""How long nothing more is said of the same thing."""
_EVENTS_MAX: Final = 16


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


class CountedWarnings(logging.Filter):
    """Put on the logger of a library that warns of each request it refuses: the same warning becomes few lines of ours.
    What is more than a warning passes."""

    def __init__(self, logger: Logger) -> None:
        super().__init__()
        self._logger = logger
        self._events: dict[str, Refusals] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        event = str(record.msg)
        if record.levelno != logging.WARNING or (event not in self._events and len(self._events) >= _EVENTS_MAX):
            return True
        self._events.setdefault(event, Refusals(self._logger, event)).note()
        return False

    def close(self) -> None:
        for refusals in self._events.values():
            refusals.close()
