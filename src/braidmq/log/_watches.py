"""Hearing of new data: watches on partitions, and a wait that any log with `bounds` and `watch` can offer."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from braidmq.log._port import Log
from braidmq.model import BraidError

OnData = Callable[[int], None]


class Watched(Protocol):
    """A partition that tells of new data; None while nobody listens, because most partitions have no listener."""

    watchers: dict[object, OnData] | None


def wake(partition: Watched, number: int) -> None:
    """Tell all who listen that there is news: data, or the partition's end."""
    for on_data in tuple((partition.watchers or {}).values()):
        on_data(number)


class PartitionWatch:
    """Implements the port's `Watch`."""

    __slots__ = ("_partitions",)

    def __init__(self, partitions: Sequence[Watched], on_data: OnData) -> None:
        self._partitions = partitions
        for partition in partitions:
            if partition.watchers is None:
                partition.watchers = {}
            partition.watchers[self] = on_data

    def cancel(self) -> None:
        for partition in self._partitions:
            if partition.watchers is not None:
                partition.watchers.pop(self, None)
        self._partitions = ()


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
