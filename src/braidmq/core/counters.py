"""How much comes and goes: by partition, and by group and partition, with sums over the last minute, hour and day.

Hot path: counting is a look into a dictionary and two additions, for a whole batch or answer. A timer takes a sample of
every figure now and then; a sum over a time is what is counted now, less the sample that is as old. What nobody has
touched for a day is forgotten, and more figures than there may be are not begun.
"""

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol, TypeVar

from braidmq.core.metrics import Metric, MetricKind
from braidmq.core.timing import Clock, Timer
from braidmq.model import Message
from braidmq.records import Batch, Packed

SAMPLE_MS: Final = 10_000
MINUTE_MS: Final = 60_000
TEN_MINUTES_MS: Final = 600_000
HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
FIGURES_MAX: Final = 50_000

_HOURLY_EVERY: Final = TEN_MINUTES_MS // SAMPLE_MS
_DAILY_EVERY: Final = HOUR_MS // SAMPLE_MS


class Sum(NamedTuple):
    """What came in a time: messages, bytes, in how many goes, and how long the time was."""

    messages: int = 0
    size_bytes: int = 0
    times: int = 0
    passed_ms: float = 0.0

    @property
    def messages_per_s(self) -> float:
        return self.messages * 1000 / self.passed_ms if self.passed_ms > 0 else 0.0

    @property
    def bytes_per_s(self) -> float:
        return self.size_bytes * 1000 / self.passed_ms if self.passed_ms > 0 else 0.0


def together(sums: Sequence[Sum]) -> Sum:
    """All of them as one, over the longest of their times."""
    return Sum(
        sum(each.messages for each in sums),
        sum(each.size_bytes for each in sums),
        sum(each.times for each in sums),
        max(each.passed_ms for each in sums),
    )


class Tally(Protocol):
    """Who hears of what was stored, and of what was not."""

    def stored(self, number: int, batch: Batch) -> None:
        """A batch has come to a partition."""
        ...

    def refused(self, number: int, batch: Batch) -> None:
        """A batch for a partition was refused."""
        ...

    def refused_lots(self, number: int, lots: Iterable[Sequence[Message] | Packed]) -> None:
        """Messages for a partition were refused; those of a lot came together, from one sender."""
        ...


class _Uncounted:
    def stored(self, number: int, batch: Batch) -> None:
        """Nobody wants to know."""

    def refused(self, number: int, batch: Batch) -> None:
        """Nobody wants to know."""

    def refused_lots(self, number: int, lots: Iterable[Sequence[Message] | Packed]) -> None:
        """Nobody wants to know."""


UNCOUNTED: Final[Tally] = _Uncounted()

Key = TypeVar("Key", bound=Hashable)
_Sample = tuple[float, int, int, int]


class Figure:
    """One thing that is counted."""

    __slots__ = ("_days", "_hours", "_minutes", "messages", "size_bytes", "times")

    def __init__(self, now_ms: float, minutes: int = 1) -> None:
        self.messages = 0
        self.size_bytes = 0
        self.times = 0
        first: _Sample = (now_ms, 0, 0, 0)
        self._minutes: deque[_Sample] = deque((first,), maxlen=minutes * MINUTE_MS // SAMPLE_MS + 1)
        self._hours: deque[_Sample] = deque((first,), maxlen=HOUR_MS // TEN_MINUTES_MS + 1)
        self._days: deque[_Sample] = deque((first,), maxlen=DAY_MS // HOUR_MS + 1)

    def add(self, messages: int, size_bytes: int) -> None:
        self.messages += messages
        self.size_bytes += size_bytes
        self.times += 1

    def sample(self, now_ms: float, turn: int) -> None:
        taken = (now_ms, self.messages, self.size_bytes, self.times)
        self._minutes.append(taken)
        if turn % _HOURLY_EVERY == 0:
            self._hours.append(taken)
        if turn % _DAILY_EVERY == 0:
            self._days.append(taken)

    def over(self, window_ms: float, now_ms: float) -> Sum:
        """What came in about the last so many milliseconds, or in as much of them as this is counted."""
        ring = self._minutes
        if window_ms > (ring.maxlen or 0) * SAMPLE_MS:
            ring = self._hours if window_ms <= HOUR_MS else self._days
        begun_ms = now_ms - window_ms
        # The sample nearest to the window's beginning: the samples are not taken to the millisecond.
        at_ms, messages, size_bytes, times = min(ring, key=lambda sample: abs(sample[0] - begun_ms))
        return Sum(self.messages - messages, self.size_bytes - size_bytes, self.times - times, max(now_ms - at_ms, 0.0))

    def is_idle(self) -> bool:
        """Whether nothing has come for a day."""
        return len(self._days) == self._days.maxlen and self._days[0][3] == self.times


class Day(NamedTuple):
    """Messages in and out, up to a moment."""

    stored: int = 0
    delivered: int = 0


class Counters:
    """All figures of a node. Counted since it was started."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.started_ms = clock.now_ms()
        now_ms = clock.passed_ms()
        self.stored_all = Figure(now_ms, minutes=10)
        self.delivered_all = Figure(now_ms, minutes=10)
        self.protocols_in: dict[str, Figure] = {}
        self.protocols_out: dict[str, Figure] = {}
        """What clients brought and were given, by the protocol that they speak; each is made with its listener."""
        self._stored: dict[int, Figure] = {}
        self._delivered: dict[tuple[str, int], Figure] = {}
        self._turn = 0
        self._timer: Timer | None = None
        self.this_morning = self.last_morning = Day()
        self._day = self._day_now()

    def start(self) -> None:
        self._timer = self._clock.call_later(SAMPLE_MS, self._sample)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def stored(self, number: int, messages: int, size_bytes: int) -> None:
        """A batch has come to a partition."""
        self.stored_all.add(messages, size_bytes)
        figure = self._stored.get(number) or self._begin(self._stored, number)
        if figure is not None:
            figure.add(messages, size_bytes)

    def delivered(self, group: str, number: int, messages: int, size_bytes: int) -> None:
        """A group was given messages of a partition."""
        self.delivered_all.add(messages, size_bytes)
        figure = self._delivered.get((group, number)) or self._begin(self._delivered, (group, number))
        if figure is not None:
            figure.add(messages, size_bytes)

    def protocol_in(self, protocol: str) -> Figure:
        """What clients of this protocol bring."""
        return self.protocols_in.setdefault(protocol, Figure(self._clock.passed_ms()))

    def protocol_out(self, protocol: str) -> Figure:
        """What clients of this protocol are given."""
        return self.protocols_out.setdefault(protocol, Figure(self._clock.passed_ms()))

    def by_protocol(self, window_ms: float) -> dict[str, tuple[Sum, Sum]]:
        """What came in and went out, by protocol."""
        now_ms = self._clock.passed_ms()
        found = {}
        for name in sorted({*self.protocols_in, *self.protocols_out}):
            brought, given = self.protocols_in.get(name), self.protocols_out.get(name)
            found[name] = (
                Sum() if brought is None else brought.over(window_ms, now_ms),
                Sum() if given is None else given.over(window_ms, now_ms),
            )
        return found

    def given_partitions(self) -> list[tuple[str, int]]:
        """The groups and partitions of which deliveries were counted; the group is empty where readers name none."""
        return list(self._delivered)

    def stored_over(self, window_ms: float, numbers: Iterable[int]) -> Sum | None:
        """What came to these partitions; None where nothing was ever counted."""
        return self._over(window_ms, (self._stored.get(number) for number in numbers))

    def delivered_over(self, window_ms: float, group: str, numbers: Iterable[int]) -> Sum | None:
        """What the group was given of these partitions; None where nothing was ever counted."""
        return self._over(window_ms, (self._delivered.get((group, number)) for number in numbers))

    def all_over(self, window_ms: float) -> tuple[Sum, Sum]:
        """What came, and what was given, in all."""
        now_ms = self._clock.passed_ms()
        return self.stored_all.over(window_ms, now_ms), self.delivered_all.over(window_ms, now_ms)

    def metrics(self) -> Iterator[Metric]:
        for name, figure in (("stored", self.stored_all), ("delivered", self.delivered_all)):
            yield Metric(f"braid_messages_{name}", MetricKind.COUNTER, f"Messages {name}.", figure.messages)
            yield Metric(f"braid_messages_{name}_bytes", MetricKind.COUNTER, f"Bytes {name}.", figure.size_bytes)

    def _over(self, window_ms: float, figures: Iterable[Figure | None]) -> Sum | None:
        now_ms = self._clock.passed_ms()
        sums = [figure.over(window_ms, now_ms) for figure in figures if figure is not None]
        return together(sums) if sums else None

    def _begin(self, figures: dict[Key, Figure], key: Key) -> Figure | None:
        if len(self._stored) + len(self._delivered) >= FIGURES_MAX:
            return None
        figure = figures[key] = Figure(self._clock.passed_ms())
        return figure

    def _sample(self) -> None:
        self._turn += 1
        now_ms = self._clock.passed_ms()
        for figures in (self._stored, self._delivered, self.protocols_in, self.protocols_out):
            for figure in figures.values():
                figure.sample(now_ms, self._turn)
        for figure in (self.stored_all, self.delivered_all):
            figure.sample(now_ms, self._turn)
        if self._turn % _DAILY_EVERY == 0:
            self._stored = {key: figure for key, figure in self._stored.items() if not figure.is_idle()}
            self._delivered = {key: figure for key, figure in self._delivered.items() if not figure.is_idle()}
        if (today := self._day_now()) != self._day:
            self._day, self.last_morning = today, self.this_morning
            self.this_morning = Day(self.stored_all.messages, self.delivered_all.messages)
        self.start()

    def _day_now(self) -> int:
        """Days begin at midnight in UTC."""
        return self._clock.now_ms() // DAY_MS
