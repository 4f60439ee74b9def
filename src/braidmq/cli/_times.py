"""Times and spans as people write them."""

import datetime
import re
import time
from typing import Final

from braidmq.model.errors import InvalidSetting

_SPAN: Final = re.compile(r"([0-9]{1,9})(ms|s|m|min|h|d)")
_UNIT_MS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_MS_DIGITS: Final = 12


def span_ms(text: str, name: str) -> int:
    """Such as 10s, 5m, 2h or 7d. Raises InvalidSetting."""
    if (found := _SPAN.fullmatch(text)) is None:
        raise InvalidSetting(f"{name}: {text!r} is no span of time; it is written 500ms, 10s, 5m, 2h or 7d")
    return int(found[1]) * _UNIT_MS[found[2]]


def time_ms(text: str, name: str) -> int:
    """A time of day (in UTC unless it says otherwise), milliseconds since 1970, `now`, or a span that has passed, such
    as 2h. Raises InvalidSetting."""
    if text == "now":
        return now_ms()
    if _SPAN.fullmatch(text.removeprefix("-")):
        return now_ms() - span_ms(text.removeprefix("-"), name)
    if text.isascii() and text.isdigit() and len(text) >= _MS_DIGITS:
        return int(text)
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidSetting(
            f"{name}: {text!r} is no time; it is written 2026-11-16, 2026-11-16T08:00:00, 2h (so long ago) or now"
        ) from error
    return int((found if found.tzinfo is not None else found.replace(tzinfo=datetime.UTC)).timestamp() * 1000)


def optional_time_ms(text: str | None, name: str) -> int | None:
    """The same for what need not be said."""
    return None if text is None else time_ms(text, name)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def shown_time(at_ms: int) -> str:
    """In UTC, to the second."""
    try:
        return f"{datetime.datetime.fromtimestamp(at_ms / 1000, datetime.UTC):%Y-%m-%d %H:%M:%S}"
    except (OverflowError, ValueError, OSError):
        return str(at_ms)


def shown_span(length_ms: float) -> str:
    """With its largest unit: 3d, 2.5h, 40s."""
    for unit in ("d", "h", "m", "s"):
        if length_ms >= _UNIT_MS[unit]:
            return f"{length_ms / _UNIT_MS[unit]:.1f}".removesuffix(".0") + unit
    return f"{length_ms:.0f}ms"
