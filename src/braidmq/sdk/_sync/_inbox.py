# Made by tools/unasync.py from ../_async: change it there.
"""Messages between those who fetch and those who work: bounded for each fetcher, and in lanes where order matters."""

import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Generic, TypeVar

from braidmq.sdk._concurrency import Condition

ItemT = TypeVar("ItemT")


class Inbox(Generic[ItemT]):
    """`most` messages of each source wait at most. `lane` gives a number to a message: those of one lane are taken by
    one worker alone."""

    def __init__(self, most: int, lane: Callable[[ItemT], int] | None = None) -> None:
        self._most = most
        self._lane = lane
        self._waiting: deque[tuple[str, ItemT]] = deque()
        self._count: Counter[str] = Counter()
        self._changed = Condition()
        self.failure: Exception | None = None
        self.is_closed = False

    def room(self, source: str) -> int:
        """How many more of this source may come, when at least one may; 0 when it is closed."""
        with self._changed:
            self._changed.wait_until(lambda: self.is_closed or self._count[source] < self._most)
            return 0 if self.is_closed else self._most - self._count[source]

    def put(self, source: str, items: list[ItemT]) -> None:
        """For as many as there was room for."""
        with self._changed:
            self._waiting.extend((source, item) for item in items)
            self._count[source] += len(items)
            self._changed.notify_all()

    def take(self, worker: int = 0, workers: int = 1, limit_s: float | None = None) -> ItemT | None:
        """The next for this worker; None when it is closed, or when none came in time."""
        deadline_s = None if limit_s is None else time.monotonic() + limit_s
        with self._changed:
            while not self.is_closed:
                place = self._place(worker, workers)
                if place is not None:
                    return self._pop(place)
                left_s = None if deadline_s is None else deadline_s - time.monotonic()
                if left_s is not None and left_s <= 0:
                    return None
                self._changed.wait_until(lambda: self.is_closed or self._place(worker, workers) is not None, left_s)
            return None

    def drop(self, unwanted: Callable[[ItemT], bool]) -> list[ItemT]:
        """Takes out all of these."""
        with self._changed:
            dropped = [each for each in self._waiting if unwanted(each[1])]
            for each in dropped:
                self._waiting.remove(each)
                self._count[each[0]] -= 1
            self._changed.notify_all()
            return [item for _, item in dropped]

    def pause(self, limit_s: float) -> None:
        """Waits so long, or until it is closed."""
        with self._changed:
            self._changed.wait_until(lambda: self.is_closed, limit_s)

    def wait_closed(self) -> None:
        with self._changed:
            self._changed.wait_until(lambda: self.is_closed)

    def close(self, failure: Exception | None = None) -> None:
        """Nobody gets anything any more; what waits can still be dropped."""
        with self._changed:
            self.failure = self.failure or failure
            self.is_closed = True
            self._changed.notify_all()

    def _pop(self, place: int) -> ItemT:
        source, item = self._waiting[place]
        del self._waiting[place]
        self._count[source] -= 1
        self._changed.notify_all()
        return item

    def _place(self, worker: int, workers: int) -> int | None:
        if self._lane is None or workers == 1:
            return 0 if self._waiting else None
        lane = self._lane
        return next((place for place, (_, item) in enumerate(self._waiting) if lane(item) % workers == worker), None)
