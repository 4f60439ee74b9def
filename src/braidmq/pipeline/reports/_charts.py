"""Charts as SVG: a few lines over time, with an axis, a grid and a legend. Nothing is loaded, and nothing runs.

Colours are the page's variables, so that a chart follows it into the dark.
"""

import math
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from html import escape
from typing import Final

from braidmq.pipeline.reports._report import Course, Point

WIDTH: Final = 560
HEIGHT: Final = 220
LEFT, RIGHT, TOP, BOTTOM = 66, 20, 12, 28
LINES: Final = 4
TIMES_MAX: Final = 7
_TIME_STEPS: Final = (
    *(timedelta(minutes=count) for count in (1, 2, 5, 10, 15, 30)),
    *(timedelta(hours=count) for count in (1, 2, 3, 4, 6, 12)),
    *(timedelta(days=count) for count in (1, 2, 7, 14, 28, 91, 365)),
)
COLOURS: Final = 5


def chart(courses: Sequence[Course], title: str, written: Callable[[float], str]) -> str:
    """One chart of courses with the same unit and moments."""
    highest = max((point.value or 0.0 for course in courses for point in course.points), default=0.0)
    ticks = nice_ticks(highest)
    moments = [point.at for point in courses[0].points] if courses else []
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}" class="chart">',
        *(_grid_line(tick, ticks[-1], written) for tick in ticks),
        *_times(moments),
    ]
    if not any(point.value is not None for course in courses for point in course.points):
        parts.append(f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT / 2}" class="none">nothing was told</text>')
    for nth, course in enumerate(courses):
        parts += _line(course.points, ticks[-1], nth % COLOURS, filled=nth == 0 and len(courses) <= 2)
    parts.append("</svg>")
    return "".join(parts)


def legend(courses: Sequence[Course]) -> str:
    """What the colours stand for."""
    items = (
        f'<li><span class="key c{nth % COLOURS}"></span>{escape(course.name)}</li>'
        for nth, course in enumerate(courses)
    )
    return f'<ul class="legend">{"".join(items)}</ul>'


def nice_ticks(highest: float) -> list[float]:
    """Round numbers from zero to at least the highest."""
    if highest <= 0:
        return [0.0, 1.0]
    rough = highest / LINES
    size = 10 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= rough * (1 - 1e-9))
    count = math.ceil(highest / step - 1e-9)
    return [step * nth for nth in range(count + 1)]


def _x(place: int, count: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (place / (count - 1) if count > 1 else 0.5)


def _y(value: float, top: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top)


def _grid_line(tick: float, top: float, written: Callable[[float], str]) -> str:
    y = _y(tick, top)
    kind = "axis" if tick == 0 else "grid"
    return (
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="{kind}"/>'
        f'<text x="{LEFT - 8}" y="{y + 3.5:.1f}" class="tick end">{escape(written(tick))}</text>'
    )


def _times(moments: Sequence[datetime]) -> list[str]:
    """Round times along the bottom, as many as are easily read."""
    if not moments:
        return []
    span = moments[-1] - moments[0]
    step = next((step for step in _TIME_STEPS if span / step <= TIMES_MAX), span)
    form = "%H:%M" if step < timedelta(days=1) else "%d %b"
    midnight = moments[0].replace(hour=0, minute=0, second=0, microsecond=0)
    count = len(moments)
    return [
        f'<text x="{_x(place, count):.1f}" y="{HEIGHT - 8}" class="tick middle">{at.strftime(form)}</text>'
        for place, at in enumerate(moments)
        if not (at - midnight) % step
    ]


def _line(points: Sequence[Point], top: float, colour: int, *, filled: bool) -> list[str]:
    """Pieces between moments of which nothing is known: a gap is a gap."""
    parts = []
    for piece in _pieces(points):
        places = [(_x(place, len(points)), _y(value, top)) for place, value in piece]
        if len(places) == 1:
            x, y = places[0]
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" class="dot c{colour}"/>')
            continue
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        if filled:
            base = _y(0, top)
            area = f"{path}L{places[-1][0]:.1f} {base:.1f}L{places[0][0]:.1f} {base:.1f}Z"
            parts.append(f'<path d="{area}" class="area c{colour}"/>')
        parts.append(f'<path d="{path}" class="line c{colour}"/>')
    return parts


def _pieces(points: Sequence[Point]) -> list[list[tuple[int, float]]]:
    pieces: list[list[tuple[int, float]]] = []
    is_open = False
    for place, point in enumerate(points):
        if point.value is None:
            is_open = False
            continue
        if not is_open:
            pieces.append([])
            is_open = True
        pieces[-1].append((place, point.value))
    return pieces
