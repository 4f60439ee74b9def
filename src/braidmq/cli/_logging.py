"""The form in which a node writes about itself on the error output: its own lines, and the same for the libraries'."""

import json
import logging
import sys
import time
from typing import Any, Final

from braidmq.logger import FACTS
from braidmq.settings import LoggingSettings

_QUIET_LIBRARIES: Final = ("uvicorn.error", "asyncio", "alembic")
"""Their info lines say what ours say better."""
_COLOURS: Final = {logging.WARNING: 33, logging.ERROR: 31, logging.CRITICAL: 31}
_EVENT_WIDTH: Final = 30
_AMBIGUOUS: Final = frozenset(" ='\"")


def set_up_logging(settings: LoggingSettings) -> None:
    """Once, for the whole process."""
    level = logging.getLevelNamesMapping()[settings.level.upper()]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if settings.format == "json" else TextLines(coloured=sys.stderr.isatty()))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in _QUIET_LIBRARIES:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))


class TextLines(logging.Formatter):
    """For people: when, how bad, what, and the facts as name=value."""

    def __init__(self, *, coloured: bool) -> None:
        super().__init__()
        self._coloured = coloured

    def format(self, record: logging.LogRecord) -> str:
        level = f"{record.levelname.lower():<7}"
        if self._coloured and record.levelno in _COLOURS:
            level = f"\033[{_COLOURS[record.levelno]}m{level}\033[0m"
        facts = " ".join(f"{name}={_shown(value)}" for name, value in _facts(record).items())
        line = f"{_moment(record)} [{level}] {record.getMessage():<{_EVENT_WIDTH}} {facts}".rstrip()
        return "\n".join((line, *_traceback(self, record)))


class JsonLines(logging.Formatter):
    """For programs: an object for each line. What JSON does not know is written as text."""

    def format(self, record: logging.LogRecord) -> str:
        about = {"event": record.getMessage(), "level": record.levelname.lower(), "timestamp": _moment(record)}
        for traceback in _traceback(self, record):
            about["exception"] = traceback
        return json.dumps(_facts(record) | about, default=str)


def _shown(value: object) -> str:
    """A text that could be taken for more than one fact, or more than one line, is quoted."""
    return value if isinstance(value, str) and value.isprintable() and not _AMBIGUOUS & set(value) else repr(value)


def _facts(record: logging.LogRecord) -> dict[str, Any]:
    """None where a library has written."""
    found: dict[str, Any] = getattr(record, FACTS, {})
    return found


def _moment(record: logging.LogRecord) -> str:
    """In ISO 8601, to the millisecond."""
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03}Z"


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> list[str]:
    """One text, or none."""
    return [formatter.formatException(record.exc_info)] if record.exc_info and record.exc_info[0] else []
