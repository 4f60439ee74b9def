"""Live events: once a second, to everybody who listens, how much comes and goes, how far groups are, and what is wrong.

One look serves all listeners, and nobody looks while nobody listens. A listener that is slow misses events, and gets
the latest when it is ready: nothing piles up for it. The number of listeners is bounded.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from braidmq.core.alarms import Alarms
from braidmq.core.counters import Counters
from braidmq.core.samples import Sampler
from braidmq.core.telemetry import Flow, Usage
from braidmq.core.timing import Clock, Timer
from braidmq.model.errors import TooManyListeners
from braidmq.model.telemetry import IN, OUT

EVERY_MS: Final = 1_000
LISTENERS_MAX: Final = 200
ALARMS_MAX: Final = 20
_ALL: Final = "all"


class LiveRate(msgspec.Struct, frozen=True, kw_only=True):
    """What one protocol does, in a second."""

    messages_in: float = 0.0
    bytes_in: float = 0.0
    messages_out: float = 0.0
    bytes_out: float = 0.0


class LiveAlarm(msgspec.Struct, frozen=True, kw_only=True):
    """Something that fires."""

    rule: str
    subject: str
    severity: str
    text: str
    fired_ms: int


class LiveEvent(msgspec.Struct, frozen=True, kw_only=True):
    """How things are now."""

    at_ms: int
    rates: Annotated[dict[str, LiveRate], Meta(description="By protocol; `all` is the sum.")]
    lag: Annotated[int, Meta(description="Messages that groups have not come to; looked at every ten seconds.")]
    connections: int
    storage_bytes: int
    alarms_firing: int
    alarms: Annotated[list[LiveAlarm], Meta(description="The latest of those that fire.")]


class _Moment(NamedTuple):
    at_ms: float
    flows: Mapping[tuple[str, str], Flow]


class LiveEvents:
    """`listen` is an endless stream; `end` ends all of them."""

    def __init__(self, usage: Usage | None, counters: Counters, sampler: Sampler, alarms: Alarms, clock: Clock) -> None:
        self._usage = usage
        self._counters = counters
        self._sampler = sampler
        self._alarms = alarms
        self._clock = clock
        self._listeners: set[asyncio.Event] = set()
        self._latest: LiveEvent | None = None
        self._before: _Moment | None = None
        self._timer: Timer | None = None
        self._ended = False

    async def listen(self) -> AsyncIterator[LiveEvent]:
        """Events as they come, from the next on. Raises TooManyListeners before the first."""
        if len(self._listeners) >= LISTENERS_MAX:
            raise TooManyListeners(f"{LISTENERS_MAX} listen already")
        ready = asyncio.Event()
        self._listeners.add(ready)
        self._begin()
        try:
            while not self._ended:
                await ready.wait()
                ready.clear()
                if not self._ended and self._latest is not None:
                    yield self._latest
        finally:
            self._listeners.discard(ready)

    @property
    def is_full(self) -> bool:
        return len(self._listeners) >= LISTENERS_MAX

    def end(self) -> None:
        """No more events; all streams end. Doing it again changes nothing."""
        self._ended = True
        if self._timer is not None:
            self._timer.cancel()
        for ready in self._listeners:
            ready.set()

    def _begin(self) -> None:
        if self._timer is None and not self._ended:
            self._before = self._moment()
            self._timer = self._clock.call_later(EVERY_MS, self._tick)

    def _tick(self) -> None:
        self._timer = None
        if not self._listeners or self._ended:
            return
        self._latest = self._look()
        for ready in self._listeners:
            ready.set()
        self._timer = self._clock.call_later(EVERY_MS, self._tick)

    def _moment(self) -> _Moment:
        if self._usage is not None:
            return _Moment(self._clock.passed_ms(), self._usage.totals().by_protocol)
        stored, given = self._counters.stored_all, self._counters.delivered_all
        flows = {
            (IN, _ALL): Flow(stored.messages, stored.size_bytes),
            (OUT, _ALL): Flow(given.messages, given.size_bytes),
        }
        return _Moment(self._clock.passed_ms(), flows)

    def _look(self) -> LiveEvent:
        before, now = self._before or self._moment(), self._moment()
        self._before = now
        node = self._sampler.latest.node
        firing = sorted(self._alarms.firing, key=lambda alarm: -alarm.fired_ms)
        return LiveEvent(
            at_ms=self._clock.now_ms(),
            rates=_rates(before, now),
            lag=int(node.get("lag", 0)),
            connections=int(node.get("connections", 0)),
            storage_bytes=int(node.get("storage_bytes", 0)),
            alarms_firing=len(firing),
            alarms=[
                LiveAlarm(
                    rule=each.rule,
                    subject=each.subject,
                    severity=each.severity,
                    text=each.text,
                    fired_ms=each.fired_ms,
                )
                for each in firing[:ALARMS_MAX]
            ],
        )


def _rates(before: _Moment, now: _Moment) -> dict[str, LiveRate]:
    passed_s = max((now.at_ms - before.at_ms) / 1000, 0.001)
    figures: dict[str, dict[str, float]] = {_ALL: {}}
    for (direction, protocol), flow in now.flows.items():
        known = before.flows.get((direction, protocol), Flow())
        if direction not in (IN, OUT):
            continue
        for name in {protocol, _ALL}:
            of = figures.setdefault(name, {})
            messages, size_bytes = f"messages_{direction}", f"bytes_{direction}"
            of[messages] = of.get(messages, 0.0) + (flow.messages - known.messages) / passed_s
            of[size_bytes] = of.get(size_bytes, 0.0) + (flow.size_bytes - known.size_bytes) / passed_s
    return {name: LiveRate(**values) for name, values in figures.items()}
