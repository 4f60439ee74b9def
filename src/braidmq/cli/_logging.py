"""What the node writes about itself on the error output: structlog for our lines, the same form for the libraries'."""

import logging
import sys

import structlog
from structlog.typing import Processor

from braidmq.settings import LoggingSettings

_QUIET_LIBRARIES = ("uvicorn.error", "asyncio", "alembic")
"""Their info lines say what ours say better."""


def set_up_logging(settings: LoggingSettings) -> None:
    """Configure structlog and the standard library's logging, once, for the whole process."""
    level = logging.getLevelNamesMapping()[settings.level.upper()]
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_formatter(settings.format, shared))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in _QUIET_LIBRARIES:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def _formatter(form: str, shared: list[Processor]) -> logging.Formatter:
    rendering: list[Processor]
    if form == "json":
        rendering = [structlog.processors.dict_tracebacks, structlog.processors.JSONRenderer()]
    else:
        rendering = [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=_plain_traceback)]
    strip = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    return structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=[strip, *rendering])


_plain_traceback = structlog.dev.plain_traceback
