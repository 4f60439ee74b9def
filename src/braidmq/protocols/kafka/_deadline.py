"""Work that a client waits for only so long, and that goes on when the client does not wait any more."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

ResultT = TypeVar("ResultT")


async def finished_within(timeout_ms: int, work: Sequence[Coroutine[Any, Any, ResultT]]) -> list[ResultT | None]:
    """What each piece of work came to; None for one that is still under way when the time is over."""
    if not work:
        return []
    tasks = [asyncio.create_task(each) for each in work]
    try:
        await asyncio.wait(tasks, timeout=max(timeout_ms, 0) / 1000)
    finally:
        _GOING_ON.update(task for task in tasks if not task.done())
        for task in tasks:
            task.add_done_callback(_GOING_ON.discard)
    return [task.result() if task.done() else None for task in tasks]


_GOING_ON: set["asyncio.Task[Any]"] = set()
"""The loop itself only holds tasks weakly."""
