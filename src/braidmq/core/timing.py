"""Time, as core sees it: a clock that comes in from outside, so that tests drive hours in milliseconds."""

import asyncio
import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """Something that will be done; `cancel` means that it will not."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """What core asks of time."""

    def now_ms(self) -> int:
        """The time of day."""
        ...

    def passed_ms(self) -> float:
        """Milliseconds since some moment; never goes back."""
        ...

    def call_later(self, delay_ms: float, act: Callable[[], None]) -> Timer: ...


class LoopClock:
    """The clock of the running event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def passed_ms(self) -> float:
        return self._loop.time() * 1000

    def call_later(self, delay_ms: float, act: Callable[[], None]) -> Timer:
        return self._loop.call_later(delay_ms / 1000, act)


class Deadline:
    """Something that is done unless it is put off in time. Putting off, which every heartbeat does, costs no timer."""

    __slots__ = ("_act", "_armed_ms", "_clock", "_due_ms", "_timer")

    def __init__(self, clock: Clock, act: Callable[[], None]) -> None:
        self._clock = clock
        self._act = act
        self._due_ms: float | None = None
        self._armed_ms = 0.0
        self._timer: Timer | None = None

    @property
    def is_set(self) -> bool:
        return self._due_ms is not None

    def set(self, delay_ms: float) -> None:
        """Due so much later, whatever was set before."""
        self._due_ms = self._clock.passed_ms() + delay_ms
        if self._timer is not None and self._due_ms < self._armed_ms:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._arm(delay_ms)

    def cancel(self) -> None:
        self._due_ms = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self, delay_ms: float) -> None:
        self._armed_ms = self._clock.passed_ms() + delay_ms
        self._timer = self._clock.call_later(delay_ms, self._fire)

    def _fire(self) -> None:
        self._timer = None
        if self._due_ms is None:
            return
        left_ms = self._due_ms - self._clock.passed_ms()
        if left_ms > 0:
            self._arm(left_ms)
            return
        self._due_ms = None
        self._act()
