"""Figures by which long lists are sorted: lag, sizes and rates of everything, as of a moment ago.

Looking at every partition of ten thousand topics would hold up the messages of everybody else, so one look serves all
who ask, and gives way often. A look that takes little is repeated for whoever asks a second later; a long one comes by
itself every ten seconds. What a page shows of its own things is asked anew, as far as that is cheap.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from braidmq.core.counters import MINUTE_MS, Counters, Figure
from braidmq.core.timing import Clock, Timer
from braidmq.log import GroupOffset, Log
from braidmq.logger import get_logger
from braidmq.model import DEFAULT_INSTANCE, BraidError, Topic

LOOK_EVERY_MS: Final = 10_000
FRESH_MS: Final = 1_000
SHORT_LOOK_MS: Final = 20.0
"""A look that took no longer is made again while somebody waits for it."""
LOOKS: Final = 50
"""How many things are looked at before others have their turn."""

_logger = get_logger(__name__)


class Catalog(Protocol):
    """Which topics there are; see `store.Catalog`."""

    def topics(self) -> list[Topic]: ...


class TopicFigure(NamedTuple):
    """A topic a moment ago; rates are of messages in a second, over the last minute."""

    messages: int = 0
    size_bytes: int = 0
    rate_in: float = 0.0
    rate_out: float = 0.0
    lag: int = 0
    groups: int = 0


GroupKey = tuple[str, str]
"""An instance, and the name of a group in it."""


class GroupFigure(NamedTuple):
    """A group of an instance a moment ago."""

    lag: int = 0
    rate_out: float = 0.0
    topics: tuple[UUID, ...] = ()
    """Those in which it has committed something."""


class Picture(NamedTuple):
    """All figures of one look."""

    topics: Mapping[UUID, TopicFigure]
    groups: Mapping[GroupKey, GroupFigure]


NO_TOPIC: Final = TopicFigure()
NO_GROUP: Final = GroupFigure()


class Figures:
    """Make it, then `start`; one that is not started looks when it is asked, however long that takes."""

    def __init__(self, catalog: Catalog, log: Log, counters: Counters, clock: Clock) -> None:
        self._catalog = catalog
        self._log = log
        self._counters = counters
        self._clock = clock
        self._picture = Picture({}, {})
        self._looked_ms = float("-inf")
        self._took_ms = 0.0
        self._looking: asyncio.Task[None] | None = None
        self._timer: Timer | None = None
        self._committed: dict[GroupKey, Mapping[int, int]] = {}
        self._paces: dict[GroupKey, Figure] = {}
        """How many messages each group has come forward by, whatever its members speak."""
        self._turn = 0

    def start(self) -> None:
        self._timer = self._clock.call_later(LOOK_EVERY_MS, self._begin_turn)
        self._begin()

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait((self._looking,))

    async def latest(self) -> Picture:
        """At most a second old where there is little to look at, else about ten seconds."""
        is_old = self._clock.passed_ms() - self._looked_ms > FRESH_MS
        is_awaited = self._timer is None or self._looked_ms == float("-inf") or self._took_ms <= SHORT_LOOK_MS
        if is_old and is_awaited:
            await asyncio.wait((self._begin(),))
        return self._picture

    def _begin_turn(self) -> None:
        self._timer = self._clock.call_later(LOOK_EVERY_MS, self._begin_turn)
        self._turn += 1
        now_ms = self._clock.passed_ms()
        for pace in self._paces.values():
            pace.sample(now_ms, self._turn)
        self._begin()

    def _begin(self) -> "asyncio.Task[None]":
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look(), name="desk-figures")
        return self._looking

    async def _look(self) -> None:
        begun = time.perf_counter()
        try:
            self._picture = await self._look_at_all()
        except BraidError as error:
            _logger.info("figures of topics and groups stay as they were", reason=error.message)
        self._took_ms = (time.perf_counter() - begun) * 1000
        self._looked_ms = self._clock.passed_ms()

    async def _look_at_all(self) -> Picture:
        topics = self._catalog.topics()
        topic_of = {number: topic.id for topic in topics for number in topic.partition_numbers}
        behind: dict[UUID, list[int]] = {}
        groups = await self._look_at_groups(topic_of, _elsewhere(topics), behind)
        given = await self._given(topic_of)
        figures: dict[UUID, TopicFigure] = {}
        for place, topic in enumerate(topics):
            if place % LOOKS == LOOKS - 1:
                await asyncio.sleep(0)
            figures[topic.id] = self._topic(topic, behind.get(topic.id, ()), given.get(topic.id, 0.0))
        return Picture(figures, groups)

    def _topic(self, topic: Topic, behind: "list[int] | tuple[()]", rate_out: float) -> TopicFigure:
        messages = size_bytes = 0
        for number in topic.partition_numbers:
            try:
                bounds = self._log.bounds(number)
                size_bytes += self._log.size_bytes(number)
            except BraidError:
                continue  # it is being made or deleted
            messages += bounds.end - bounds.start
        brought = self._counters.stored_over(MINUTE_MS, topic.partition_numbers)
        rate_in = 0.0 if brought is None else brought.messages_per_s
        return TopicFigure(messages, size_bytes, rate_in, rate_out, sum(behind), len(behind))

    async def _given(self, topic_of: Mapping[int, UUID]) -> dict[UUID, float]:
        """How many messages of each topic were given out in a second, to groups and to readers without one."""
        rates: dict[UUID, float] = {}
        for place, (group, number) in enumerate(self._counters.given_partitions()):
            if place % LOOKS == LOOKS - 1:
                await asyncio.sleep(0)
            given = self._counters.delivered_over(MINUTE_MS, group, (number,))
            if given is not None and given.messages and (topic_id := topic_of.get(number)) is not None:
                rates[topic_id] = rates.get(topic_id, 0.0) + given.messages_per_s
        return rates

    async def _look_at_groups(
        self, topic_of: Mapping[int, UUID], elsewhere: Mapping[int, str], behind: dict[UUID, list[int]]
    ) -> dict[GroupKey, GroupFigure]:
        """Each group's figure; `behind` is given the lag of every group in each of its topics. `elsewhere` tells the
        instance of partitions that are not of the default one."""
        groups: dict[GroupKey, GroupFigure] = {}
        committed: dict[GroupKey, Mapping[int, int]] = {}
        for place, name in enumerate(list(self._log.groups_with_offsets())):
            if place % LOOKS == LOOKS - 1:
                await asyncio.sleep(0)
            for instance, offsets in _by_instance(self._log.fetch_offsets(name), elsewhere).items():
                group = instance, name
                lags = self._lags(offsets, topic_of)
                for topic_id, lag in lags.items():
                    behind.setdefault(topic_id, []).append(lag)
                committed[group] = {number: offset.offset for number, offset in offsets.items()}
                groups[group] = GroupFigure(sum(lags.values()), self._pace(group, committed[group]), tuple(lags))
        self._committed = committed
        self._paces = {group: pace for group, pace in self._paces.items() if group in committed}
        return groups

    def _lags(self, offsets: Mapping[int, GroupOffset], topic_of: Mapping[int, UUID]) -> dict[UUID, int]:
        lags: dict[UUID, int] = {}
        for number, offset in offsets.items():
            if (topic_id := topic_of.get(number)) is None:
                continue
            try:
                start, _, end = self._log.bounds(number)
            except BraidError:
                continue  # it is being deleted
            lags[topic_id] = lags.get(topic_id, 0) + end - min(max(offset.offset, start), end)
        return lags

    def _pace(self, group: GroupKey, now: Mapping[int, int]) -> float:
        """How many messages in a second the group comes forward by, from commit to commit."""
        passed_ms = self._clock.passed_ms()
        if (pace := self._paces.get(group)) is None:
            pace = self._paces[group] = Figure(passed_ms)
        before = self._committed.get(group, {})
        if before != now:
            pace.add(sum(max(0, offset - before[number]) for number, offset in now.items() if number in before), 0)
        return pace.over(MINUTE_MS, passed_ms).messages_per_s if pace.messages else 0.0


def _elsewhere(topics: Sequence[Topic]) -> dict[int, str]:
    """The instance of each partition that is not of the default one."""
    others = (topic for topic in topics if topic.instance != DEFAULT_INSTANCE)
    return {number: topic.instance for topic in others for number in topic.partition_numbers}


def _by_instance(
    offsets: Mapping[int, GroupOffset], elsewhere: Mapping[int, str]
) -> Mapping[str, Mapping[int, GroupOffset]]:
    """A group's offsets in each instance; nearly all are in the default one."""
    if not elsewhere:
        return {DEFAULT_INSTANCE: offsets}
    found: dict[str, dict[int, GroupOffset]] = {}
    for number, offset in offsets.items():
        found.setdefault(elsewhere.get(number, DEFAULT_INSTANCE), {})[number] = offset
    return found
