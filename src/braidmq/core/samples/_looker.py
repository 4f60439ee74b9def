"""Puts together how things stand: differences of what is counted anyway, and what other parts know.

Every look costs a pass over the sums of the ledger and over the sizes of topics; a close one, once a minute, also asks
what each topic does and the age of what groups have not read, a bounded number of times. Others have their turn
meanwhile.
"""

import asyncio
import contextlib
import os
import resource
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from braidmq.core.counters import Counters
from braidmq.core.samples._sight import GroupSight, Sight, TopicSight
from braidmq.core.telemetry import Flow, LagSampler, Ledger, Usage
from braidmq.core.timing import Clock
from braidmq.log import Log
from braidmq.model import DEFAULT_INSTANCE, BraidError, Topic
from braidmq.model.names import OWN_TOPIC_PREFIX, is_internal
from braidmq.model.telemetry import IN, OUT
from braidmq.records import batches_in
from braidmq.store import Catalog

LOOKS: Final = 100
"""How many topics or partitions are looked at before others have their turn."""
AGES_MAX: Final = 500
"""How many partitions are read in a minute for the age of what waits in them."""
AGES_OF_GROUP_MAX: Final = 8
FORGET_EVERY: Final = 60
"""After how many close looks the sums of deleted partitions are dropped."""

_STATM: Final = Path("/proc/self/statm")


class Parts(NamedTuple):
    """Who is asked. `usage` is None where nothing is counted by protocol; `looks_at_lag` says that nobody else has the
    lag sampler look."""

    catalog: Catalog
    log: Log
    counters: Counters
    usage: Usage | None
    lags: LagSampler
    looks_at_lag: bool
    connections: Callable[[], Mapping[str, int]]


GroupKey = tuple[str, str]
"""An instance, and the name of a group in it."""


class _Waiting(NamedTuple):
    number: int
    offset: int
    lag: int


class Looker:
    """Remembers what the last look saw, since rates are differences."""

    def __init__(self, parts: Parts, clock: Clock) -> None:
        self._parts = parts
        self._clock = clock
        self._ledger, self._close_ledger = self._totals(), Ledger()
        self._passed_ms = self._close_ms = clock.passed_ms()
        self._started_ms = clock.now_ms()
        self._all = _totals(parts.counters)
        self._heard_ms: dict[tuple[str, str], int] = {}
        self._committed: dict[tuple[str, int], int] = {}
        self._topics: dict[tuple[str, str], TopicSight] = {}
        self._groups: dict[GroupKey, GroupSight] = {}
        self._closely = 0
        self._has_looked = False

    async def look(self, *, closely: bool) -> Sight:
        """How things stand now."""
        if self._parts.looks_at_lag or not self._has_looked:
            await self._parts.lags.look()
            self._has_looked = True
        waiting = self._look_at_lag()
        if closely:
            await self._look_closely(waiting)
        node = await self._look_at_node(self._totals())
        return Sight(self._clock.now_ms(), node, self._topics, self._groups, closely)

    def _totals(self) -> Ledger:
        return Ledger() if self._parts.usage is None else self._parts.usage.totals()

    # The node.

    async def _look_at_node(self, ledger: Ledger) -> dict[str, float]:
        now_ms = self._clock.passed_ms()
        passed_s = max((now_ms - self._passed_ms) / 1000, 0.001)
        figures = self._rates(ledger, passed_s)
        before, now = self._ledger.by_group, ledger.by_group
        for name in ("retries", "dead"):
            grown = _sum(now.values(), name) - _sum(before.values(), name)
            figures[name] = grown * 60 / passed_s
        self._ledger, self._passed_ms = ledger, now_ms
        figures["lag"] = sum(each.lag for each in self._groups.values() if not each.name.startswith(OWN_TOPIC_PREFIX))
        connections = self._parts.connections()
        figures["connections"] = sum(connections.values())
        figures |= {f"connections.{protocol}": count for protocol, count in connections.items()}
        figures["storage_bytes"] = await self._look_at_storage()
        figures["memory_bytes"] = memory_bytes()
        return figures | await self._look_at_disk()

    def _rates(self, ledger: Ledger, passed_s: float) -> dict[str, float]:
        figures: dict[str, float] = dict.fromkeys(("messages_in", "bytes_in", "messages_out", "bytes_out"), 0.0)
        for (direction, protocol), flow in ledger.by_protocol.items():
            if direction in (IN, OUT):
                grown = _rate(flow, self._ledger.by_protocol[direction, protocol], passed_s)
                for name, value in zip(("messages", "bytes"), grown, strict=True):
                    figures[f"{name}_{direction}.{protocol}"] = value
                    figures[f"{name}_{direction}"] += value
        if self._parts.usage is None:
            now = _totals(self._parts.counters)
            figures |= {name: (now[name] - self._all[name]) / passed_s for name in now}
            self._all = now
        return figures

    async def _look_at_storage(self) -> int:
        size_bytes = 0
        for place, topic in enumerate(self._parts.catalog.topics()):
            if place % LOOKS == LOOKS - 1:
                await asyncio.sleep(0)
            if not is_internal(topic.name):
                with contextlib.suppress(BraidError):  # it went away meanwhile
                    size_bytes += sum(map(self._parts.log.size_bytes, topic.partition_numbers))
        return size_bytes

    async def _look_at_disk(self) -> dict[str, float]:
        room = await self._parts.log.room()
        if room.total_bytes < 0:
            return {}
        return {"disk_free_bytes": room.free_bytes, "disk_total_bytes": room.total_bytes}

    # Groups, at every look.

    def _look_at_lag(self) -> dict[GroupKey, list[_Waiting]]:
        """Lag and members of all groups; where each has not read to the end. A partition tells the instance that its
        readers are of; members are known in the default one alone."""
        groups: dict[GroupKey, GroupSight] = {}
        waiting: dict[GroupKey, list[_Waiting]] = {}
        for (name, number), (start, committed, end, members) in self._parts.lags.seen.items():
            key = self._instance(number), name
            group = groups.get(key)
            if group is None:
                group = groups[key] = self._group(key, members)
            if (lag := end - max(committed, start)) > 0:
                group.lag += lag
                waiting.setdefault(key, []).append(_Waiting(number, max(committed, start), lag))
        for group in groups.values():
            group.oldest_ms = group.oldest_ms if group.lag else None
        self._groups = groups
        return waiting

    def _group(self, key: GroupKey, members: int) -> GroupSight:
        """As it was at the last close look."""
        instance, name = key
        group = GroupSight(name=name, instance=instance, members=members if instance == DEFAULT_INSTANCE else 0)
        if (known := self._groups.get(key)) is not None:
            group.oldest_ms, group.rate = known.oldest_ms, known.rate
            group.retries, group.dead = known.retries, known.dead
        return group

    def _instance(self, number: int) -> str:
        partition = self._parts.catalog.partition_by_number(number)
        topic = None if partition is None else self._parts.catalog.topic_by_id(partition.topic_id)
        return DEFAULT_INSTANCE if topic is None else topic.instance

    # Closely.

    async def _look_closely(self, waiting: Mapping[GroupKey, list[_Waiting]]) -> None:
        ledger = Ledger() if self._parts.usage is None else await self._parts.usage.ledger()
        now_ms = self._clock.passed_ms()
        passed_s = max((now_ms - self._close_ms) / 1000, 0.001)
        self._look_at_progress(ledger, passed_s)
        await self._look_at_topics(ledger, passed_s)
        await self._look_at_ages(waiting)
        self._close_ledger, self._close_ms = ledger, now_ms
        self._closely += 1
        if self._parts.usage is not None and self._closely % FORGET_EVERY == 0:
            self._parts.usage.forget(lambda number: self._parts.catalog.partition_by_number(number) is None)

    def _look_at_progress(self, ledger: Ledger, passed_s: float) -> None:
        committed = {place: seen[1] for place, seen in self._parts.lags.seen.items()}
        for group in self._groups.values():
            group.rate = 0.0
            key = group.instance, group.name
            trouble, before = ledger.by_group.get(key), self._close_ledger.by_group[key]
            if trouble is not None:
                group.retries = (trouble.retries - before.retries) * 60 / passed_s
                group.dead = (trouble.dead - before.dead) * 60 / passed_s
        for place, offset in committed.items():
            if (before_offset := self._committed.get(place)) is not None:
                # A group that was set back has not worked.
                key = self._instance(place[1]), place[0]
                self._groups[key].rate += max(offset - before_offset, 0) / passed_s
        self._committed = committed

    async def _look_at_topics(self, ledger: Ledger, passed_s: float) -> None:
        topics: dict[tuple[str, str], TopicSight] = {}
        for place, topic in enumerate(self._parts.catalog.topics()):
            if place % LOOKS == LOOKS - 1:
                await asyncio.sleep(0)
            if not is_internal(topic.name) and (sight := self._topic(topic, ledger, passed_s)) is not None:
                topics[topic.instance, topic.name] = sight
        self._topics = topics
        self._heard_ms = {key: at_ms for key, at_ms in self._heard_ms.items() if key in topics}

    def _topic(self, topic: Topic, ledger: Ledger, passed_s: float) -> TopicSight | None:
        numbers = topic.partition_numbers
        try:
            size_bytes = sum(map(self._parts.log.size_bytes, numbers))
        except BraidError:
            return None  # it went away meanwhile
        came, gone = (self._flow(ledger, direction, numbers, passed_s) for direction in (IN, OUT))
        key = topic.instance, topic.name
        now_ms = self._clock.now_ms()
        if came[0] > 0:
            self._heard_ms[key] = now_ms
        return TopicSight(
            instance=topic.instance,
            name=topic.name,
            messages_in=came[0],
            bytes_in=came[1],
            messages_out=gone[0],
            bytes_out=gone[1],
            size_bytes=size_bytes,
            silent_ms=max(now_ms - self._heard_ms.get(key, self._started_ms), 0),
        )

    def _flow(self, ledger: Ledger, direction: str, numbers: Iterable[int], passed_s: float) -> tuple[float, float]:
        messages = size_bytes = 0
        for number in numbers:
            now = ledger.by_number.get((direction, number))
            if now is not None:
                before = self._close_ledger.by_number.get((direction, number), Flow())
                messages += now.messages - before.messages
                size_bytes += now.size_bytes - before.size_bytes
        return messages / passed_s, size_bytes / passed_s

    async def _look_at_ages(self, waiting: Mapping[GroupKey, list[_Waiting]]) -> None:
        """By the largest lags of each group, so many partitions in all: the age of a batch is that of its oldest."""
        left = AGES_MAX
        for key, places in waiting.items():
            chosen = sorted(places, key=lambda place: -place.lag)[: min(AGES_OF_GROUP_MAX, left)]
            left -= len(chosen)
            ages = [age for place in chosen if (age := await self._age_ms(place)) is not None]
            if key in self._groups:
                self._groups[key].oldest_ms = max(ages, default=None)

    async def _age_ms(self, place: _Waiting) -> int | None:
        log = self._parts.log
        try:
            found = log.read_now(place.number, place.offset, 1) or await log.read(place.number, place.offset, 1)
            first = next(batches_in(found.data), None)
        except BraidError:
            return None  # it went away meanwhile, or cannot be read, of which the log tells by itself
        if first is None or first.base_timestamp < 0:
            return None
        return max(self._clock.now_ms() - first.base_timestamp, 0)


def _totals(counters: Counters) -> dict[str, int]:
    stored, given = counters.stored_all, counters.delivered_all
    return {
        "messages_in": stored.messages,
        "bytes_in": stored.size_bytes,
        "messages_out": given.messages,
        "bytes_out": given.size_bytes,
    }


def _rate(now: Flow, before: Flow, passed_s: float) -> tuple[float, float]:
    return (now.messages - before.messages) / passed_s, (now.size_bytes - before.size_bytes) / passed_s


def _sum(troubles: Iterable[object], name: str) -> int:
    return sum(getattr(each, name) for each in troubles)


def memory_bytes() -> int:
    """What the process takes up now; where the system does not say, the most that it ever took up."""
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
