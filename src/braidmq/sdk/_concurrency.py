"""What differs between the twins: waiting, tasks and futures, in two dresses under the same names.

Everything in `_async` is written with the names that begin with Async; `tools/unasync.py` takes the prefix away, and so
the threads below take the place of tasks.
"""

import asyncio
import concurrent.futures
import contextlib
import inspect
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, TypeVar

import httpx

ResultT = TypeVar("ResultT")

AsyncFuture = asyncio.Future
Future = concurrent.futures.Future

AsyncHandler = Callable[[Any], Awaitable[Any] | Any]
Handler = Callable[[Any], Any]


async def async_sleep(duration_s: float) -> None:
    await asyncio.sleep(duration_s)


def sleep(duration_s: float) -> None:
    time.sleep(duration_s)


async def async_call(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a user's function gives, be it a coroutine or not."""
    result = function(*arguments)
    return await result if inspect.isawaitable(result) else result


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


async def async_lines(response: httpx.Response) -> AsyncIterator[str]:
    """The lines of an answer, as they come."""
    async for line in response.aiter_lines():
        yield line


def lines(response: httpx.Response) -> Iterator[str]:
    yield from response.iter_lines()


async def async_read(response: httpx.Response) -> bytes:
    """All of an answer."""
    return await response.aread()


def read(response: httpx.Response) -> bytes:
    return response.read()


def async_future() -> "asyncio.Future[Any]":
    return asyncio.get_running_loop().create_future()


def future() -> "concurrent.futures.Future[Any]":
    return concurrent.futures.Future()


class AsyncCondition(asyncio.Condition):
    """A condition whose waiting may end by time."""

    async def wait_until(self, holds: Callable[[], bool], limit_s: float | None = None) -> bool:
        """Whether it holds when this returns; the lock is held."""
        try:
            async with asyncio.timeout(limit_s):
                await self.wait_for(holds)
        except TimeoutError:
            return holds()
        return True


class Condition(threading.Condition):
    """The twin for threads."""

    def wait_until(self, holds: Callable[[], bool], limit_s: float | None = None) -> bool:
        return self.wait_for(holds, limit_s)


class AsyncTasks:
    """Work that goes on beside the caller's."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def spawn(self, function: Callable[..., Any], *arguments: Any) -> None:
        task = asyncio.create_task(function(*arguments))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def join(self, limit_s: float) -> None:
        """Until all have ended by themselves; what has not in time is cancelled."""
        tasks = set(self._tasks)
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=limit_s)
        for task in late:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Tasks:
    """The twin: threads, which do not keep the process alive."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []

    def __len__(self) -> int:
        return sum(thread.is_alive() for thread in self._threads)

    def spawn(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=function, args=arguments, name=function.__qualname__, daemon=True)
        self._threads.append(thread)
        thread.start()

    def join(self, limit_s: float) -> None:
        deadline_s = time.monotonic() + limit_s
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline_s - time.monotonic()))


def settle(future: "asyncio.Future[Any] | concurrent.futures.Future[Any]", outcome: object) -> None:
    """The future gets what came, be it an error; one that was cancelled stays so."""
    with contextlib.suppress(asyncio.InvalidStateError, concurrent.futures.InvalidStateError):
        if isinstance(outcome, BaseException):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)


async def async_result(future: "asyncio.Future[ResultT]") -> ResultT:
    return await future


def result(future: "concurrent.futures.Future[ResultT]") -> ResultT:
    return future.result()
