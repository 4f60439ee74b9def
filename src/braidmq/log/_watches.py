"""Hearing of new data: a wait that any log with `bounds` and `watch` can offer."""

import asyncio
from collections.abc import Mapping

from braidmq.log._port import Log


async def wait_for_data(log: Log, positions: Mapping[int, int], timeout_s: float) -> bool:
    """Whether one of the partitions had data at its position before the time was over."""
    if any(log.bounds(number).end > offset for number, offset in positions.items()):
        return True
    arrived = asyncio.Event()

    def on_data(number: int) -> None:
        if log.bounds(number).end > positions[number]:
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
