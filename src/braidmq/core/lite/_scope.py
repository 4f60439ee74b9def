"""What one client receives from: the lite topics that it reads and that exist, and which of them may have something.

A client may read thousands of lite topics, most of them idle. They are not asked one after the other each time: the
scope hears where something came, came back or became free, and only those are asked. From time to time all are.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

from braidmq.core.cursors import LOOK_S, Attention, Cursors, Delivered
from braidmq.model import Topic

COMING_S: Final = 0.05
"""How soon is looked again for a lite topic that is being made."""


class Scope:
    """Of one client, in one group. `is_stale` says that it is to be renewed before it is used."""

    def __init__(self, cursors: Cursors, group: str) -> None:
        self._cursors = cursors
        self.group = group
        self._attention: Attention | None = None
        self._looked_s = 0.0
        self._due_s = LOOK_S
        self.topics: Mapping[int, Topic] = {}
        """By the number of their partition."""
        self._hot: dict[int, None] = {}
        self.is_stale = True
        self.news = asyncio.Event()

    @property
    def due_s(self) -> float:
        """How long nothing comes that is not news."""
        return min(self._due_s, COMING_S) if self.is_stale else self._due_s

    def spoil(self) -> None:
        """It is no longer what the client reads."""
        self.is_stale = True
        self.news.set()

    def renew(self, topics: Sequence[Topic]) -> None:
        """These are what the client reads. Raises UnknownPartition."""
        if self._attention is not None:
            self._attention.cancel()
            self._attention = None
        before, self.topics = self.topics, {topic.partition_numbers[0]: topic for topic in topics}
        fresh = [number for number in self.topics if number not in before]
        self._hot = dict.fromkeys([number for number in self._hot if number in self.topics] + fresh)
        if topics:
            self._attention = self._cursors.attend(self.group, topics, self._hear)

    def take(self, count: int) -> list[int]:
        """Some that may have something for the client, those that wait longest first; they count as looked at."""
        now_s = asyncio.get_running_loop().time()
        if now_s - self._looked_s >= LOOK_S:
            self._looked_s = now_s
            self._heat(self.topics)
        due, next_ms = self._cursors.dues(self.group, self.topics)
        self._heat(due)
        self._due_s = LOOK_S if next_ms is None else max(next_ms, 1.0) / 1000
        taken = list(islice(self._hot, count))
        for number in taken:
            del self._hot[number]
        return taken

    def put_back(self, numbers: Iterable[int], batch: Iterable[Delivered], *, is_full: bool) -> None:
        """Of those that were taken, the ones that gave something may have more; of a batch that is full, all may."""
        given = {delivered.receipt.number for delivered in batch}
        self._heat(number for number in numbers if is_full and number not in given)
        self._heat(number for number in numbers if number in given)
        self.news.set()

    def _hear(self, number: int) -> None:
        self._heat((number,))
        self.news.set()

    def _heat(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            if number in self.topics:
                self._hot[number] = None
