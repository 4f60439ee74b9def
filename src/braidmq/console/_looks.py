"""Figures, times and sizes as people read them."""

from datetime import UTC, datetime
from typing import Final

_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_PARTS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"))
NOTHING: Final = "–"
_UNLIMITED: Final = (1 << 63) - 1


def number(value: float | None, digits: int = 0) -> str:
    """With thin groups of thousands; a rate may keep a digit behind the point."""
    if value is None:
        return NOTHING
    return f"{value:,.{digits}f}".replace(",", "\u202f")


def rate(value: float | None) -> str:
    """Per second: small rates with a digit behind the point."""
    return number(value, 1 if value is not None and 0 < value < 10 else 0)


def short(value: float | None) -> str:
    """For tiles: 12,400 as 12.4k."""
    if value is None:
        return NOTHING
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            return f"{value / (1e3 if unit == 'k' else limit):.1f}{unit}"
    return rate(value)


def size(value: float | None) -> str:
    if value is None:
        return NOTHING
    nth = 0
    while value >= 1024 and nth < len(_UNITS) - 1:
        value, nth = value / 1024, nth + 1
    return f"{value:.{0 if nth == 0 else 1}f}\u202f{_UNITS[nth]}"


def duration(value_ms: float | None) -> str:
    """The two largest parts: `3h 12m`; below a second in milliseconds."""
    if value_ms is None or value_ms < 0:
        return NOTHING
    if value_ms < 1_000:
        return f"{value_ms:.0f} ms"
    shown = []
    rest = int(value_ms)
    for part_ms, unit in _PARTS:
        count, rest = divmod(rest, part_ms)
        if count:
            shown.append(f"{count}{unit}")
    return " ".join(shown[:2])


def moment(value_ms: int | None) -> str:
    """In UTC, to the second; the browser shows the reader's own time beside it."""
    if value_ms is None or value_ms < 0:
        return NOTHING
    return datetime.fromtimestamp(value_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def iso(value_ms: int) -> str:
    return datetime.fromtimestamp(value_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def meaning(value: str, name: str) -> str:
    """What the text of a setting means, where its name ends with a unit: `3d` for retention.ms; else nothing."""
    unit = name.rpartition(".")[2]
    digits = value.removeprefix("-")
    if unit not in ("ms", "bytes") or not (digits.isascii() and digits.isdigit()) or not int(digits):
        return ""
    if value.startswith("-") or int(value) >= _UNLIMITED:
        return "\N{INFINITY}"
    return duration(int(value)) if unit == "ms" else size(int(value))
