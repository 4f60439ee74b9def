"""Taking note: what is said of messages is gathered in memory, and kept in the store once a second at most, in lots.

One idea: tracing may lose notes, but never holds up a message. What is gathered is bounded; when the store is slow or
fails, notes are dropped and counted. A step that all messages take (being delivered, being acknowledged) is noted as a
range of offsets, and ranges of one client that follow on each other within a second are one: so the cost goes with the
time and the clients, not with the messages. What a service does with many messages that lie side by side is one range,
too. That a message was stored is not noted at all: the log knows.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol
from uuid import UUID

from braidmq.core.metrics import Metric, MetricKind
from braidmq.core.timing import Clock, Deadline
from braidmq.logger import get_logger
from braidmq.model import TRACE_SPAN_MAX, BraidError, TraceEvent, TraceKind, TraceRange

KEEP_MS: Final = 3 * 24 * 60 * 60 * 1000
TURN_MS: Final = 1_000
IDLE_MS: Final = 60_000
"""How often old rows are looked for while nothing is noted."""
EVENTS_MAX: Final = 10_000
RANGES_MAX: Final = 10_000
"""How many may wait to be kept, and so how many are kept in a second at most."""
LOT_MESSAGES_MAX: Final = 50_000
"""How many messages the lots among them may have together."""
LOT: Final = 250
"""How many events, and how many ranges, are kept at a time: some milliseconds of the store's."""
REMOVE_MIN: Final = 1_000
"""How many old rows of each table a turn removes, besides as many as it adds: so removing keeps up with adding."""

_logger = get_logger(__name__)


class Rows(Protocol):
    """Where notes are kept; see `store.TraceRows`."""

    async def add(
        self, events: Sequence[TraceEvent], ranges: Sequence[TraceRange], *, before_ms: int, remove_max: int
    ) -> int: ...


Told = Callable[[Sequence[TraceEvent], Sequence[TraceRange]], None]
"""Somebody who is told of all notes of a turn, whether they could be kept or not."""


def _nobody(_: Sequence[TraceEvent], __: Sequence[TraceRange]) -> None:
    """Nobody else wants to know."""


class Trace:
    """Takes note of what happens on this node. Make it, then `start`. Where it is off, old notes still go when their
    time has come."""

    def __init__(
        self, rows: Rows, clock: Clock, *, on: bool = True, keep_ms: int = KEEP_MS, tell: Told = _nobody
    ) -> None:
        self.on = on
        self._tell = tell
        self._rows = rows
        self._clock = clock
        self.keep_ms = keep_ms
        self._events: list[TraceEvent] = []
        self._open: dict[tuple[TraceKind, str, int, str], list[int]] = {}
        """Ranges that may still grow: first, until, and the time of the first note."""
        self._closed: list[TraceRange] = []
        self._lot_messages = 0
        self._is_behind = True
        """Whether there may be more to remove than a turn removes."""
        self._counts = dict.fromkeys(_COUNTERS, 0)
        self._rung = asyncio.Event()
        self._deadline = Deadline(clock, self._rung.set)
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="trace")

    async def close(self) -> None:
        """Keeps what was noted."""
        self._closing = True
        self._rung.set()
        if self._task is not None:
            await asyncio.wait([self._task])
        self._deadline.cancel()

    def note(
        self,
        kind: TraceKind,
        message_id: str,
        *,
        keys: tuple[str, ...] = (),
        topic_id: UUID | None = None,
        topic: str = "",
        partition: int = -1,
        offset: int = -1,
        group: str = "",
        client: str = "",
        value: int = -1,
        at_ms: int | None = None,
        is_pressure: bool = False,  # noqa: ARG002 - the message itself says it, to whoever looks at its life
    ) -> None:
        """See `Tracer`."""
        if not self.on:
            return
        if len(self._events) >= EVENTS_MAX:
            self._counts["dropped"] += 1
            return
        self._wake()
        self._events.append(
            TraceEvent(
                kind=kind,
                at_ms=self._clock.now_ms() if at_ms is None else at_ms,
                message_id=message_id,
                keys=keys,
                topic_id=topic_id,
                topic=topic,
                partition=partition,
                offset=offset,
                group=group,
                client=client,
                value=value,
            )
        )

    def note_range(self, kind: TraceKind, group: str, number: int, first: int, until: int, client: str = "") -> None:
        """See `Tracer`."""
        if not self.on or first >= until:
            return
        key = kind, group, number, client
        known = self._open.get(key)
        if known is not None and known[0] <= first <= known[1] and until - known[0] <= TRACE_SPAN_MAX:
            known[1] = max(known[1], until)
            return
        if len(self._open) + len(self._closed) >= RANGES_MAX:
            self._counts["dropped"] += 1
            return
        self._wake()
        if known is not None:
            self._closed.append(_range(key, known))
        self._open[key] = [max(first, until - TRACE_SPAN_MAX), until, self._clock.now_ms()]

    def note_lot(self, kind: TraceKind, number: int, first: int, message_ids: Sequence[str]) -> None:
        """See `Tracer`."""
        if not self.on or not message_ids:
            return
        count = len(message_ids)
        if len(self._open) + len(self._closed) >= RANGES_MAX or self._lot_messages + count > LOT_MESSAGES_MAX:
            self._counts["dropped"] += 1
            return
        self._wake()
        self._lot_messages += count
        self._closed.append(
            TraceRange(
                kind=kind,
                at_ms=self._clock.now_ms(),
                group="",
                number=number,
                first=first,
                until=first + count,
                message_ids=tuple(message_ids),
            )
        )

    @property
    def dropped(self) -> int:
        """How many notes were dropped since the start."""
        return self._counts["dropped"]

    def metrics(self) -> Iterator[Metric]:
        """What became of notes on this node."""
        for name, text in _COUNTERS.items():
            yield Metric(f"braid_trace_{name}", MetricKind.COUNTER, text, self._counts[name])

    @property
    def _has_notes(self) -> bool:
        return bool(self._events or self._open or self._closed)

    def _wake(self) -> None:
        """The first note after a pause ends the pause within a second."""
        if not self._has_notes:
            self._deadline.set(TURN_MS)

    async def _run(self) -> None:
        while not self._closing:
            await self._pause()
            await self._turn()
        if self._has_notes:
            await self._turn()

    async def _pause(self) -> None:
        self._rung.clear()
        if not self._closing:
            self._deadline.set(TURN_MS if self._is_behind or self._has_notes else IDLE_MS)
            await self._rung.wait()

    async def _turn(self) -> None:
        """Keep what was noted, and remove some of what is too old: a lot in each transaction, so that others who write
        to the store have their turns in between."""
        events, self._events = self._events, []
        ranges = [*self._closed, *(_range(key, known) for key, known in self._open.items())]
        self._open, self._closed, self._lot_messages = {}, [], 0
        self._tell(events, ranges)
        self._is_behind = False
        for begin in range(0, max(len(events), len(ranges), 1), LOT):
            lot = slice(begin, begin + LOT)
            if not await self._keep(events[lot], ranges[lot], REMOVE_MIN if begin == 0 else 0):
                self._counts["dropped"] += len(events[lot.stop :]) + len(ranges[lot.stop :])
                return

    async def _keep(self, events: Sequence[TraceEvent], ranges: Sequence[TraceRange], remove_min: int) -> bool:
        """False where they were dropped."""
        count = len(events) + len(ranges)
        remove_max = remove_min + count
        before_ms = self._clock.now_ms() - self.keep_ms
        try:
            removed = await self._rows.add(events, ranges, before_ms=before_ms, remove_max=remove_max)
        except BraidError as error:
            # Notes are not worth holding up the messages that they are about.
            self._counts["dropped"] += count
            _logger.warning("trace_dropped", notes=count, code=error.code, reason=error.message)
            return False
        except Exception:  # reported; only the notes of this turn are lost, and the next one goes on
            self._counts["dropped"] += count
            _logger.exception("trace_dropped", notes=count)
            return False
        self._counts["kept"] += count
        self._counts["removed"] += removed
        self._is_behind = self._is_behind or removed >= remove_max
        return True


_COUNTERS: Final = {
    "kept": "Notes of what happened to messages that were kept.",
    "dropped": "Notes that were dropped, because the store was slow or failed.",
    "removed": "Notes that were removed, because their time was over.",
}


def _range(key: tuple[TraceKind, str, int, str], known: list[int]) -> TraceRange:
    kind, group, number, client = key
    first, until, at_ms = known
    return TraceRange(kind=kind, at_ms=at_ms, group=group, number=number, first=first, until=until, client=client)
