"""A straight line through points, and how sure it is: the median of the slopes of all pairs (Theil and Sen).

A few wild points do not move it, and its bounds need no assumption about how points are scattered: they are slopes of
pairs, too, counted off from both ends (Sen's interval, here of 90 %).
"""

import math
from collections.abc import Sequence
from statistics import median
from typing import Final, NamedTuple

POINTS_MIN: Final = 10
POINTS_MAX: Final = 240
"""More are thinned out: pairs grow with the square."""
_Z_90: Final = 1.645


class Fit(NamedTuple):
    """A line through the middle of the points; `low` and `high` are the bounds of its slope, by the second."""

    slope: float
    low: float
    high: float
    last: float
    """What the line says of the last moment."""


def fitted_line(seconds: Sequence[float], values: Sequence[float], span_min_s: float) -> Fit | None:
    """None where there are too few points, or over too short a time, to say anything."""
    step = max(1, math.ceil(len(seconds) / POINTS_MAX))
    # From the end, so that the last point is among them.
    times, heights = list(seconds)[::-1][::step][::-1], list(values)[::-1][::step][::-1]
    if len(times) < POINTS_MIN or times[-1] - times[0] < span_min_s:
        return None
    slopes = sorted(
        (heights[later] - heights[earlier]) / (times[later] - times[earlier])
        for later in range(len(times))
        for earlier in range(later)
        if times[later] > times[earlier]
    )
    count = len(times)
    spread = _Z_90 * math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    low = slopes[max(0, round((len(slopes) - spread) / 2))]
    high = slopes[min(len(slopes) - 1, round((len(slopes) + spread) / 2))]
    slope = median(slopes)
    middle = median(height - slope * time for time, height in zip(times, heights, strict=True))
    return Fit(slope, low, high, middle + slope * times[-1])
