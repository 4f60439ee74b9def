"""What a node writes about itself: an event in a few words, and the facts that belong to it.

Lines go through the standard library's logging, as those of the libraries do; in which form they are written is said by
`cli/_logging.py`. See docs/decisions/lines-by-the-standard-library.md.
"""

import logging
from typing import Any, Final

FACTS: Final = "facts"
"""Where a record of the standard library has them."""


class Logger:
    """Of one module."""

    __slots__ = ("_logger",)

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def debug(self, event: str, **facts: Any) -> None:
        self._write(logging.DEBUG, event, facts)

    def info(self, event: str, **facts: Any) -> None:
        self._write(logging.INFO, event, facts)

    def warning(self, event: str, **facts: Any) -> None:
        self._write(logging.WARNING, event, facts)

    def error(self, event: str, *, exc_info: BaseException | None = None, **facts: Any) -> None:
        """With the traceback of an error, where one is given."""
        self._write(logging.ERROR, event, facts, exc_info)

    def exception(self, event: str, **facts: Any) -> None:
        """With the traceback of the error that is being handled."""
        self._write(logging.ERROR, event, facts, exc_info=True)

    def _write(
        self, level: int, event: str, facts: dict[str, Any], exc_info: BaseException | bool | None = None
    ) -> None:
        self._logger.log(level, event, extra={FACTS: facts}, exc_info=exc_info)


def get_logger(name: str) -> Logger:
    """The logger of the module of this name."""
    return Logger(name)
