"""The eighteen delays that have a number, for producers that choose one of them instead of a time."""

from typing import Final

_S: Final = 1_000
_MIN: Final = 60 * _S
_H: Final = 60 * _MIN

DELAY_LEVELS_MS: Final = (
    *(1 * _S, 5 * _S, 10 * _S, 30 * _S),
    *(minutes * _MIN for minutes in range(1, 11)),
    *(20 * _MIN, 30 * _MIN, 1 * _H, 2 * _H),
)
"""By level, the first of which is 1."""


def level_delay_ms(level: int) -> int:
    """The delay of a level: none for 0 and below, the longest for all above the last."""
    return 0 if level <= 0 else DELAY_LEVELS_MS[min(level, len(DELAY_LEVELS_MS)) - 1]
