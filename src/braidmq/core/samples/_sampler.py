"""Looks every ten seconds, keeps what it sees, and tells those who follow it.

What is idle is not kept, so that a gap means silence, and no more than so many topics and groups are, the busiest
first; what was left out is counted. A sample that cannot be written is lost, and nothing waits for it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final, Protocol

from braidmq.core.metrics import Metric, MetricKind
from braidmq.core.samples._looker import Looker
from braidmq.core.samples._sight import NODE_SCOPE, GroupSight, Sight, TopicSight
from braidmq.core.timing import Clock
from braidmq.logger import get_logger
from braidmq.model import BraidError
from braidmq.store import SampleRow

TURN_MS: Final = 10_000
CLOSE_EVERY: Final = 6
"""Every how many turns topics and groups are looked at."""
KEEP_MS: Final = 24 * 60 * 60 * 1000
SERIES_MAX: Final = 2_000
REMOVE_MIN: Final = 1_000

_logger = get_logger(__name__)

Follower = Callable[[Sight], Awaitable[None]]


class Rows(Protocol):
    """Where samples are kept; see `store.SampleRows`."""

    async def add(self, samples: Sequence[SampleRow], *, before_ms: int, remove_max: int) -> int: ...


class Sampler:
    """Make it, then `start`. `latest` is what was seen last."""

    def __init__(self, looker: Looker, rows: Rows, clock: Clock, *, series_max: int = SERIES_MAX) -> None:
        self._looker = looker
        self._rows = rows
        self._clock = clock
        self._series_max = series_max
        self._followers: list[Follower] = []
        self._turn = 0
        self._counts = dict.fromkeys(_COUNTERS, 0)
        self._task: asyncio.Task[None] | None = None
        self.latest = Sight(clock.now_ms(), {}, {}, {}, is_close=False)

    def follow(self, follower: Follower) -> None:
        """Tell of every sight; who takes long holds up the next turn, and nothing else."""
        self._followers.append(follower)

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="samples")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def turn(self, *, closely: bool | None = None) -> Sight:
        """Look, keep and tell; closely every so many turns, unless it is said."""
        is_close = self._turn % CLOSE_EVERY == 0 if closely is None else closely
        self._turn += 1
        self.latest = sight = await self._looker.look(closely=is_close)
        await self._keep(sight)
        for follower in self._followers:
            try:
                await follower(sight)
            except Exception:  # reported; the others still have to hear of it, and the next sight comes anyway
                _logger.exception("a follower of samples failed")
        return sight

    def metrics(self) -> Iterator[Metric]:
        for name, text in _COUNTERS.items():
            yield Metric(f"braid_samples_{name}", MetricKind.COUNTER, text, self._counts[name])

    async def _run(self) -> None:
        while True:
            try:
                await self.turn()
            except Exception:  # reported; the next turn looks anew
                _logger.exception("sampling failed")
            await self._pause(TURN_MS - self._clock.now_ms() % TURN_MS)

    async def _keep(self, sight: Sight) -> None:
        rows = [SampleRow(NODE_SCOPE, sight.at_ms, sight.node), *self._things(sight)]
        before_ms = sight.at_ms - KEEP_MS
        try:
            await self._rows.add(rows, before_ms=before_ms, remove_max=REMOVE_MIN + 2 * len(rows))
            self._counts["kept"] += len(rows)
        except BraidError as error:
            self._counts["dropped"] += len(rows)
            _logger.warning("samples_dropped", samples=len(rows), code=error.code, reason=error.message)

    def _things(self, sight: Sight) -> list[SampleRow]:
        if not sight.is_close:
            return []
        things: list[TopicSight | GroupSight] = [*sight.topics.values(), *sight.groups.values()]
        busy = [each for each in things if not each.is_idle]
        if len(busy) > self._series_max:
            self._counts["skipped"] += len(busy) - self._series_max
            busy = sorted(busy, key=_weight, reverse=True)[: self._series_max]
        return [SampleRow(each.scope, sight.at_ms, each.figures()) for each in busy]

    async def _pause(self, delay_ms: float) -> None:
        over = asyncio.Event()
        timer = self._clock.call_later(delay_ms, over.set)
        try:
            await over.wait()
        finally:
            timer.cancel()


_COUNTERS: Final = {
    "kept": "Samples that were kept.",
    "dropped": "Samples that were dropped, because the store failed.",
    "skipped": "Samples of topics and groups that were not kept, because there were busier ones.",
}


def _weight(thing: TopicSight | GroupSight) -> float:
    """Groups that are behind first, then whoever moves most."""
    if isinstance(thing, GroupSight):
        return thing.lag + thing.rate
    return thing.messages_in + thing.messages_out
