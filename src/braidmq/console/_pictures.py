"""Small pictures that the page brings along: courses of values as paths of an SVG, and shares as bars.

A picture is drawn in a size of its own; the page stretches it, and its colours are the style sheet's.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from braidmq.core.samples import Point

SPARK_WIDTH: Final = 110
SPARK_HEIGHT: Final = 28
WIDTH: Final = 600
HEIGHT: Final = 100
_MARGIN: Final = 4
"""Above the highest value, so that its line is not cut."""
_SPAN_MS: Final = 3_600_000
_SPAN_MIN_MS: Final = 600_000
_GAP_MS: Final = 150_000
"""Between two samples that are further apart there was nothing: what is idle is not sampled."""

Place = tuple[float, float]
"""From the left, and from the top."""


class Paths(NamedTuple):
    """A line, and the ground under it."""

    line: str
    area: str


class Course(NamedTuple):
    """A course of a report, with its figures. A gap in the values is a gap in the line."""

    name: str
    unit: str
    line: str
    area: str
    highest: float
    latest: float | None
    begin: str
    end: str


def spark(points: Sequence[Point], now_ms: int) -> Paths | None:
    """The last hour up to now, or less where samples began later; None where there is nothing to draw."""
    if len(points) < 2:
        return None
    span_ms = min(_SPAN_MS, max(_SPAN_MIN_MS, now_ms - points[0][0]))
    highest = max(value for _, value in points) or 1.0
    ground = SPARK_HEIGHT - _MARGIN / 2
    places = [
        (SPARK_WIDTH * (1 - (now_ms - at_ms) / span_ms), ground - (SPARK_HEIGHT - _MARGIN) * value / highest)
        for at_ms, value in _with_silence(points)
    ]
    return _paths([places], SPARK_HEIGHT)


def course(told: Mapping[str, Any]) -> Course:
    """Of a report's course: a name, a unit, and points of a moment and a value or none."""
    points = told["points"]
    values = [value for _, value in points]
    known = [value for value in values if value is not None]
    highest = max(known, default=0.0)
    paths = _paths(_pieces(values, highest or 1.0), HEIGHT)
    begin, end = (points[0][0], points[-1][0]) if points else ("", "")
    return Course(told["name"], told["unit"], *paths, highest, known[-1] if known else None, begin, end)


def share(value: float, whole: float) -> float:
    """Of a bar that is 100 long; what is not nothing is seen."""
    if whole <= 0 or value <= 0:
        return 0.0
    return round(min(100.0, max(1.0, 100 * value / whole)), 1)


def _paths(pieces: Sequence[Sequence[Place]], height: int) -> Paths:
    """Each piece a line of its own, over a ground at the bottom."""
    lines = [" L".join(f"{round(x, 1)} {round(y, 1)}" for x, y in piece) for piece in pieces]
    areas = [
        f"M{line} L{round(piece[-1][0], 1)} {height} L{round(piece[0][0], 1)} {height} Z"
        for piece, line in zip(pieces, lines, strict=True)
    ]
    return Paths(" ".join(f"M{line}" for line in lines), " ".join(areas))


def _with_silence(points: Sequence[Point]) -> Iterable[Point]:
    before: Point | None = None
    for point in points:
        if before is not None and point[0] - before[0] > _GAP_MS:
            yield before[0] + 1, 0.0
            yield point[0] - 1, 0.0
        yield point
        before = point


def _pieces(values: Sequence[float | None], top: float) -> list[list[Place]]:
    """What lies between gaps; a value alone is a short line."""
    pieces: list[list[Place]] = [[]]
    step = WIDTH / max(1, len(values) - 1)
    for nth, value in enumerate(values):
        if value is None:
            pieces.append([])
        else:
            pieces[-1].append((nth * step, HEIGHT - (HEIGHT - _MARGIN) * value / top))
    return [piece if len(piece) > 1 else [piece[0], (piece[0][0] + 2, piece[0][1])] for piece in pieces if piece]
