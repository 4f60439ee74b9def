"""How long to wait before the next try: longer each time, and never at the same moment as everybody else."""

import random
from typing import Final

FIRST_S: Final = 0.05
MOST_S: Final = 2.0


class Backoff:
    """Doubles from 50 ms to two seconds; a third of it is chance."""

    def __init__(self, first_s: float = FIRST_S, most_s: float = MOST_S) -> None:
        self._first_s = first_s
        self._most_s = most_s
        self._tries = 0

    def next_s(self) -> float:
        length_s = min(self._most_s, self._first_s * float(1 << min(self._tries, 20)))
        self._tries += 1
        return length_s * (1 - random.random() / 3)  # noqa: S311 - chance spreads clients; nothing secret

    def reset(self) -> None:
        self._tries = 0
