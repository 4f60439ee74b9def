"""A message's life as a picture: each step with the stretch of time that led to it, on one scale."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from braidmq.core.desk.traces import LifeView, StepView
from braidmq.model import TraceKind

WIDTH: Final = 1000
"""Of the picture; the page stretches it."""
_LEAST: Final = 4

TITLES: Final = {
    TraceKind.PREPARED: ("Prepared as a half message", "wait"),
    TraceKind.CHECKED: ("Producer asked", "wait"),
    TraceKind.COMMITTED: ("Committed", "good"),
    TraceKind.ROLLED_BACK: ("Rolled back", "bad"),
    TraceKind.DUE: ("Time has come", "good"),
    TraceKind.STORED: ("Stored", "main"),
    TraceKind.DELIVERED: ("Delivered", "main"),
    TraceKind.ACKNOWLEDGED: ("Acknowledged", "good"),
    TraceKind.RETRIED: ("Sent back for a retry", "warn"),
    TraceKind.DELAYED: ("Delayed until its time", "wait"),
    TraceKind.RECALLED: ("Recalled", "warn"),
    TraceKind.DEAD_LETTERED: ("Dead-lettered", "bad"),
    TraceKind.CLIENT_SENT: ("Produced (told by the client)", "main"),
    TraceKind.CLIENT_ENDED: ("Transaction ended (told by the client)", "main"),
    TraceKind.CLIENT_BEGAN: ("Work begun (told by the client)", "main"),
    TraceKind.CLIENT_FINISHED: ("Work done (told by the client)", "good"),
    TraceKind.CLIENT_RECALLED: ("Recalled (told by the client)", "warn"),
}
"""What a step is called, and how it is coloured."""

_TIMED: Final = frozenset({TraceKind.CLIENT_SENT, TraceKind.CLIENT_FINISHED})
_COUNTED: Final = frozenset({TraceKind.CHECKED, TraceKind.RETRIED, TraceKind.CLIENT_BEGAN})


class Bar(NamedTuple):
    """One step: its name, how long it was after the step before, and where that is in the picture."""

    step: StepView
    title: str
    tone: str
    after_ms: int
    since_ms: int
    left: int
    width: int

    @property
    def took_ms(self) -> int | None:
        return self.step.value if self.step.kind in _TIMED and self.step.value >= 0 else None

    @property
    def has_failed(self) -> bool:
        return self.step.kind in _TIMED and self.step.value < 0

    @property
    def times(self) -> int | None:
        return self.step.value if self.step.kind in _COUNTED and self.step.value > 0 else None

    @property
    def due_ms(self) -> int | None:
        return self.step.value if self.step.kind is TraceKind.DELAYED and self.step.value > 0 else None


class Lifeline(NamedTuple):
    id: str
    keys: Sequence[str]
    took_ms: int
    bars: list[Bar]


def lifeline(life: LifeView) -> Lifeline:
    """The life with its picture."""
    steps = life.steps
    first_ms, last_ms = (steps[0].at_ms, max(each.at_ms for each in steps)) if steps else (0, 0)
    whole_ms = max(1, last_ms - first_ms)
    bars, before_ms = [], first_ms
    for step in steps:
        left = WIDTH * (before_ms - first_ms) // whole_ms
        width = max(_LEAST, WIDTH * max(0, step.at_ms - before_ms) // whole_ms)
        title, tone = TITLES[step.kind]
        after_ms, since_ms = max(0, step.at_ms - before_ms), step.at_ms - first_ms
        bars.append(Bar(step, title, tone, after_ms, since_ms, min(left, WIDTH - _LEAST), width))
        before_ms = max(before_ms, step.at_ms)
    return Lifeline(life.id, life.keys, last_ms - first_ms, bars)
