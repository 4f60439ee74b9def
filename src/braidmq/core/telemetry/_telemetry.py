"""The node's samples: made of what was counted and seen, once a minute and every ten seconds, and put into topics.

A minute is one of the clock's, so that those of several nodes are the same. Its samples end with one that counts them;
a node that dies takes the samples of the minute it was in with it, and the missing end shows that.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, Protocol
from uuid import UUID

from braidmq.core.metrics import Metric, MetricKind
from braidmq.core.telemetry._lag import Lag
from braidmq.core.telemetry._outbox import Outbox, OwnTopics
from braidmq.core.telemetry._usage import OTHERS, Cell, Key, Shares, Usage, latency_text
from braidmq.core.timing import Clock
from braidmq.log import Log
from braidmq.logger import get_logger
from braidmq.model import DEFAULT_INSTANCE, BraidError, Partition, Topic, TraceEvent, TraceRange
from braidmq.model.names import OWN_TOPIC_PREFIX
from braidmq.model.telemetry import (
    KEPT,
    LAG_TOPIC,
    TRACE_TOPIC,
    USAGE_TOPIC,
    DiskSample,
    LagSample,
    MinuteSample,
    TraceSample,
    UsageSample,
)

MINUTE_MS: Final = 60_000
LAG_MS: Final = 10_000
LOOKS: Final = 500
"""How many topics are looked at before others have their turn."""

_logger = get_logger(__name__)


class Catalog(Protocol):
    """Which topics there are; see `store.Catalog`."""

    def topics(self) -> Iterable[Topic]: ...

    def partition_by_number(self, number: int) -> Partition | None: ...

    def topic_by_id(self, topic_id: UUID) -> Topic | None: ...


class Lags(Protocol):
    """Who knows how far groups are; see `LagSampler`."""

    def sample(self) -> AsyncIterator[Lag]: ...


class _Name(NamedTuple):
    instance: str
    topic: str
    group: str
    protocol: str
    traffic: str
    direction: str


class Telemetry:
    """Tells what a node does. Make it, then `start`."""

    def __init__(
        self,
        node: str,
        catalog: Catalog,
        topics: OwnTopics,
        log: Log,
        clock: Clock,
        usage: Usage,
        lags: Lags,
        *,
        trace_dropped: Callable[[], int] = int,
    ) -> None:
        self._catalog = catalog
        self._log = log
        self._clock = clock
        self._usage = usage
        self._shares = Shares()
        self._lags = lags
        self._trace_dropped = trace_dropped
        self._life_ms = clock.now_ms()
        self._said: dict[str, Any] = {"node": node, "life_ms": self._life_ms}
        self._from_ms = self._life_ms
        self._stored: dict[UUID, int] = {}
        """What topics took up when they were last told of."""
        self._usage_box = Outbox(USAGE_TOPIC, topics, log)
        self._lag_box = Outbox(LAG_TOPIC, topics, log)
        self._trace_box = Outbox(TRACE_TOPIC, topics, log)
        self._rung = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [
            asyncio.create_task(self._run(self._until_minute_ends, self.tell_minute), name="telemetry-usage"),
            asyncio.create_task(self._run(lambda: LAG_MS, self.tell_lag), name="telemetry-lag"),
            asyncio.create_task(self._run_trace(), name="telemetry-trace"),
        ]

    async def close(self) -> None:
        """Tells of what was counted since the last minute."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
            await self.tell_minute()
            await self._trace_box.flush()

    # Minutes.

    async def tell_minute(self) -> None:
        """Samples of all that was counted since the last time, and their end."""
        until_ms = self._clock.now_ms()
        when: dict[str, Any] = {"from_ms": self._from_ms, "until_ms": until_ms}
        self._from_ms = until_ms
        self._shares.forget(lambda number: self._catalog.partition_by_number(number) is None)
        count = 0
        for name, cell in sorted(self._named(self._shares.share_out(self._usage.take())).items()):
            self._usage_box.put(until_ms, self._usage_sample(name, cell, when))
            count += 1
        async for topic, size_bytes in self._changed_sizes():
            sample = UsageSample(
                instance=topic.instance,
                topic=topic.name,
                direction=KEPT,
                storage_bytes=size_bytes,
                **self._said,
                **when,
            )
            self._usage_box.put(until_ms, sample)
            count += 1
        dropped = sum(box.dropped for box in self._boxes)
        end = MinuteSample(samples=count, dropped=dropped, trace_dropped=self._trace_dropped(), **self._said, **when)
        self._usage_box.put(until_ms, end)
        await self._usage_box.flush()

    def _named(self, cells: dict[Key, Cell]) -> dict[_Name, Cell]:
        """The cells of all partitions of a topic as one."""
        named: dict[_Name, Cell] = {}
        for key, cell in cells.items():
            direction, protocol, group, traffic, number, place = key
            instance, topic = place or (self._topic_name(number) if number != OTHERS else (DEFAULT_INSTANCE, ""))
            if not topic.startswith(OWN_TOPIC_PREFIX):
                name = _Name(instance, topic, group, protocol, traffic, direction)
                named.setdefault(name, Cell()).add(cell)
        return named

    def _topic_name(self, number: int) -> tuple[str, str]:
        """A topic that was deleted meanwhile has no name left."""
        topic = self._topic_of(number)[0]
        return (DEFAULT_INSTANCE, "") if topic is None else (topic.instance, topic.name)

    def _topic_of(self, number: int) -> tuple[Topic | None, int]:
        partition = self._catalog.partition_by_number(number)
        if partition is None:
            return None, -1
        return self._catalog.topic_by_id(partition.topic_id), partition.index

    def _usage_sample(self, name: _Name, cell: Cell, when: dict[str, Any]) -> UsageSample:
        return UsageSample(
            messages=cell.messages,
            bytes=cell.size_bytes,
            times=cell.times,
            failures=cell.failures,
            retries=cell.retries,
            dead=cell.dead,
            latency_ms=latency_text(cell.latency),
            **name._asdict(),
            **self._said,
            **when,
        )

    async def _changed_sizes(self) -> AsyncIterator[tuple[Topic, int]]:
        stored: dict[UUID, int] = {}
        for place, topic in enumerate(list(self._catalog.topics())):
            if place % LOOKS == LOOKS - 1:
                await asyncio.sleep(0)
            if topic.name.startswith(OWN_TOPIC_PREFIX) or (size_bytes := self._size_bytes(topic)) is None:
                continue
            stored[topic.id] = size_bytes
            if size_bytes != self._stored.get(topic.id, 0):
                yield topic, size_bytes
        self._stored = stored

    def _size_bytes(self, topic: Topic) -> int | None:
        with contextlib.suppress(BraidError):  # it went away meanwhile
            return sum(map(self._log.size_bytes, topic.partition_numbers))
        return None

    # Lag.

    async def tell_lag(self) -> None:
        """Samples of groups that have moved, and, where there are any, of the disk; of the disk alone once a minute."""
        now_ms = self._clock.now_ms()
        is_any = False
        async for lag in self._lags.sample():
            is_any = True
            said: dict[str, Any] = {**lag._asdict(), "topic": lag.topic.name, "instance": lag.topic.instance}
            self._lag_box.put(now_ms, LagSample(at_ms=now_ms, **said, **self._said))
        if is_any or now_ms // MINUTE_MS != (now_ms - LAG_MS) // MINUTE_MS:
            room = await self._log.room()
            log_bytes = sum(self._stored.values())
            self._lag_box.put(
                now_ms,
                DiskSample(
                    at_ms=now_ms,
                    total_bytes=room.total_bytes,
                    free_bytes=room.free_bytes,
                    log_bytes=log_bytes,
                    **self._said,
                ),
            )
        await self._lag_box.flush()

    # Trace.

    def hear(self, events: Sequence[TraceEvent], ranges: Sequence[TraceRange]) -> None:
        """What was noted of messages; goes into its topic soon."""
        for event in events:
            if not event.topic.startswith(OWN_TOPIC_PREFIX):
                self._trace_box.put(event.at_ms, self._event_sample(event))
        for span in ranges:
            topic, partition = self._topic_of(span.number)
            if topic is not None and not topic.name.startswith(OWN_TOPIC_PREFIX):
                self._trace_box.put(span.at_ms, self._range_sample(span, topic, partition))
        if self._trace_box:
            self._rung.set()

    def _event_sample(self, event: TraceEvent) -> TraceSample:
        topic = None if event.topic_id is None else self._catalog.topic_by_id(event.topic_id)
        return TraceSample(
            step=event.kind,
            at_ms=event.at_ms,
            instance=DEFAULT_INSTANCE if topic is None else topic.instance,
            topic=event.topic,
            partition=event.partition,
            offset=event.offset,
            message_id=event.message_id,
            keys=event.keys,
            group=event.group,
            client=event.client,
            value=event.value,
            **self._said,
        )

    def _range_sample(self, span: TraceRange, topic: Topic, partition: int) -> TraceSample:
        return TraceSample(
            step=span.kind,
            at_ms=span.at_ms,
            instance=topic.instance,
            topic=topic.name,
            partition=partition,
            first=span.first,
            until=span.until,
            group=span.group,
            client=span.client,
            message_ids=span.message_ids,
            **self._said,
        )

    # Turns.

    def metrics(self) -> Iterator[Metric]:
        """What became of samples on this node."""
        for name, text in (("written", "Samples that were written."), ("dropped", "Samples that were dropped.")):
            for topic, box in zip(("usage", "lag", "trace"), self._boxes, strict=True):
                value = getattr(box, name)
                yield Metric(f"braid_telemetry_{name}", MetricKind.COUNTER, text, value, {"topic": topic})

    @property
    def _boxes(self) -> tuple[Outbox, Outbox, Outbox]:
        return self._usage_box, self._lag_box, self._trace_box

    def _until_minute_ends(self) -> float:
        return MINUTE_MS - self._clock.now_ms() % MINUTE_MS

    async def _run(self, delay_ms: Callable[[], float], tell: Callable[[], Coroutine[Any, Any, None]]) -> None:
        while True:
            await self._pause(delay_ms())
            try:
                await tell()
            except Exception:  # reported; the next turn goes on, with what was counted since
                _logger.exception("telemetry failed")

    async def _run_trace(self) -> None:
        while True:
            await self._rung.wait()
            self._rung.clear()
            await self._trace_box.flush()

    async def _pause(self, delay_ms: float) -> None:
        over = asyncio.Event()
        timer = self._clock.call_later(delay_ms, over.set)
        try:
            await over.wait()
        finally:
            timer.cancel()
