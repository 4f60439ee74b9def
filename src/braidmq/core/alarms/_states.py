"""What becomes of one thing under one rule.

    ok --wrong--> pending --wrong for long enough--> firing --right--> ended --> ok
                     |                                                   |
                     +--right--> ok                                      +--wrong--> pending

A look at the thing is a step, and steps are taken until nothing changes: a rule that waits for nothing goes from ok to
firing in one look. People are told when a thing begins to fire, and when that has ended.
"""

import enum
from typing import Final


class State(enum.StrEnum):
    """`ENDED` is passed through: it is where people are told that it is over."""

    OK = "ok"
    PENDING = "pending"
    FIRING = "firing"
    ENDED = "ended"


class Look(enum.Enum):
    """What a look shows."""

    RIGHT = "right"
    WRONG = "wrong"
    WRONG_FOR_LONG = "wrong for long enough"


STEPS: Final[dict[tuple[State, Look], State]] = {
    (State.OK, Look.WRONG): State.PENDING,
    (State.OK, Look.WRONG_FOR_LONG): State.PENDING,
    (State.PENDING, Look.RIGHT): State.OK,
    (State.PENDING, Look.WRONG_FOR_LONG): State.FIRING,
    (State.FIRING, Look.RIGHT): State.ENDED,
    (State.ENDED, Look.RIGHT): State.OK,
    (State.ENDED, Look.WRONG): State.PENDING,
    (State.ENDED, Look.WRONG_FOR_LONG): State.PENDING,
}
"""What is not here changes nothing."""


class Course:
    """Where one thing is. `since_ms` is when it began to be wrong."""

    __slots__ = ("since_ms", "state")

    def __init__(self, state: State = State.OK, since_ms: int = 0) -> None:
        self.state = state
        self.since_ms = since_ms

    def look(self, now_ms: int, *, is_wrong: bool, for_ms: int) -> list[State]:
        """Take the steps of a look; the states that were entered, in order."""
        entered: list[State] = []
        while True:
            if is_wrong and self.state in (State.OK, State.ENDED):
                self.since_ms = now_ms
            step = STEPS.get((self.state, self._shown(now_ms, is_wrong, for_ms)))
            if step is None:
                return entered
            self.state = step
            entered.append(step)

    def _shown(self, now_ms: int, is_wrong: bool, for_ms: int) -> Look:
        if not is_wrong:
            return Look.RIGHT
        return Look.WRONG_FOR_LONG if now_ms - self.since_ms >= for_ms else Look.WRONG
