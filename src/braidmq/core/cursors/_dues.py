"""When messages that are out come back, by the moment. Hot path; no input or output.

What was given out in one moment is due in one, too, and lies together. So a message that is done leaves nothing behind,
however far away its moment was.
"""

import heapq
from typing import Final

STALE_MAX: Final = 1_000
"""So many moments in which nothing is due any more are remembered, and as many as there are others."""


class Dues:
    """Offsets, each with its moment: whoever takes one away says which that was."""

    __slots__ = ("_at", "_count", "_moments")

    def __init__(self) -> None:
        self._at: dict[int, dict[int, None]] = {}
        self._moments: list[int] = []
        """A heap; some mean nothing any more."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def first_ms(self) -> int | None:
        """The next moment."""
        moments, at = self._moments, self._at
        while moments and moments[0] not in at:
            heapq.heappop(moments)
        return moments[0] if moments else None

    def add(self, due_ms: int, offset: int) -> None:
        self._count += 1
        together = self._at.get(due_ms)
        if together is None:
            self._at[due_ms] = {offset: None}
            heapq.heappush(self._moments, due_ms)
        else:
            together[offset] = None

    def remove(self, due_ms: int, offset: int) -> None:
        together = self._at[due_ms]
        del together[offset]
        self._count -= 1
        if not together:
            self._forget(due_ms)

    def take(self, now_ms: int, count_max: int) -> list[int]:
        """What is due by now, the earliest first, but no more than so many."""
        taken: list[int] = []
        while len(taken) < count_max and (first_ms := self.first_ms) is not None and first_ms <= now_ms:
            together = self._at[first_ms]
            while together and len(taken) < count_max:
                taken.append(together.popitem()[0])
            if not together:
                self._forget(first_ms)
        self._count -= len(taken)
        return taken

    def _forget(self, moment_ms: int) -> None:
        del self._at[moment_ms]
        if len(self._moments) > 2 * len(self._at) + STALE_MAX:
            self._moments = sorted(self._at)
