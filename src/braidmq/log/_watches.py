"""Hearing of new data: watches on partitions, and a wait that any log with `bounds` and `watch` can offer."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from braidmq.log._port import Log
from braidmq.model import BraidError

OnData = Callable[[int], None]


class Watched(Protocol):
    """A partition that tells of new data to one watch, or to several; most partitions have none or one."""

    watchers: "PartitionWatch | dict[PartitionWatch, None] | None"


def wake(partition: Watched, number: int) -> None:
    """Tell all who listen that there is news: data, or the partition's end."""
    watchers = partition.watchers
    if isinstance(watchers, PartitionWatch):
        watchers.on_data(number)
    elif watchers:
        for watch in tuple(watchers):
            watch.on_data(number)


def _nobody(_: int) -> None:
    """Nothing is told any more."""


class PartitionWatch:
    """Implements the port's `Watch`. Of the log's `partitions` it knows the numbers of those it watches: they would not
    go when they are deleted, if whoever watches for long held on to them."""

    __slots__ = ("_numbers", "_partitions", "on_data")

    def __init__(self, partitions: Mapping[int, Watched], numbers: Sequence[int], on_data: OnData) -> None:
        self._partitions = partitions
        self._numbers = numbers
        self.on_data = on_data
        for number in numbers:
            self._begin(partitions[number])

    def cancel(self) -> None:
        for number in self._numbers:
            if (partition := self._partitions.get(number)) is not None:
                self._end(partition)
        self._numbers = ()
        self.on_data = _nobody  # who hears usually holds the watch: they would be a circle

    def _begin(self, partition: Watched) -> None:
        watchers = partition.watchers
        if watchers is None:
            partition.watchers = self
        elif isinstance(watchers, PartitionWatch):
            partition.watchers = {watchers: None, self: None}
        else:
            watchers[self] = None

    def _end(self, partition: Watched) -> None:
        watchers = partition.watchers
        if watchers is self:
            partition.watchers = None
        elif isinstance(watchers, dict):
            watchers.pop(self, None)
            if not watchers:
                partition.watchers = None


async def wait_for_data(log: Log, positions: Mapping[int, int], timeout_s: float) -> bool:
    """Whether one of the partitions had data at its position before the time was over."""
    if any(log.bounds(number).end > offset for number, offset in positions.items()):
        return True
    arrived = asyncio.Event()

    def on_data(number: int) -> None:
        try:
            is_news = log.bounds(number).end > positions[number]
        except BraidError:
            is_news = True  # the partition is gone, which reading it will say
        if is_news:
            arrived.set()

    watch = log.watch(positions, on_data)
    try:
        async with asyncio.timeout(timeout_s):
            await arrived.wait()
    except TimeoutError:
        return False
    finally:
        watch.cancel()
    return True
