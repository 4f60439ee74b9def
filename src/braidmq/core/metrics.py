"""Figures for operators. Parts count in plain integers; a source makes metrics of them when somebody asks.

So counting costs an addition, and no part needs to know in which form the figures leave the house.
"""

import enum
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple


class MetricKind(enum.StrEnum):
    """A counter only grows while the process lives; a gauge goes up and down."""

    COUNTER = "counter"
    GAUGE = "gauge"


class Metric(NamedTuple):
    """One figure. A counter's name has no `_total`: the format adds it."""

    name: str
    kind: MetricKind
    help: str
    value: float
    labels: Mapping[str, str] = {}


MetricSource = Callable[[], Iterable[Metric]]
