"""Asking for samples: of the node, a topic or a group, over a time, in steps.

A step that has samples is their average or their maximum; one that has none is left out, so that gaps stay gaps.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal, NamedTuple, Protocol

import msgspec
from msgspec import Meta

from braidmq.core.samples._sight import FIGURES, NODE_SCOPE, group_scope, topic_scope
from braidmq.core.timing import Clock
from braidmq.model import DEFAULT_INSTANCE
from braidmq.model.errors import InvalidRequest
from braidmq.store import SampleRow

HOUR_MS: Final = 3_600_000
ROWS_MAX: Final = 10_000
"""A day of the node's samples, and some."""
SHORT_ROWS_MAX: Final = 100_000
"""An hour of the topics or groups on one page, and some."""
STEP_MIN_S: Final = 1
STEP_MAX_S: Final = 86_400
NAMES_MAX: Final = 64

How = Literal["average", "maximum"]


class Rows(Protocol):
    """Where samples are kept; see `store.SampleRows`."""

    async def read(self, scope: str, from_ms: int, until_ms: int, limit: int) -> list[SampleRow]: ...

    async def read_many(self, scopes: Sequence[str], from_ms: int, until_ms: int, limit: int) -> list[SampleRow]: ...


class SampleAsk(NamedTuple):
    """What is wanted. Without a topic or a group it is the node's; without names, all there are; without a time, the
    last hour; a step of 0 is every sample by itself."""

    names: tuple[str, ...] = ()
    topic: str = ""
    group: str = ""
    instance: str = DEFAULT_INSTANCE
    from_ms: int = -1
    until_ms: int = -1
    step_s: int = 0
    how: How = "average"


Point = tuple[int, float]
"""A moment, or the beginning of a step, and the value."""


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """One figure over time."""

    name: Annotated[str, Meta(examples=["messages_in.kafka"])]
    description: str
    points: Annotated[list[Point], Meta(examples=[[[1_767_225_600_000, 12.5]]])]


class SamplesView(msgspec.Struct, frozen=True, kw_only=True):
    """Samples of one thing, and which figures there are of its kind."""

    scope: Annotated[str, Meta(examples=["node", "topic", "group"])]
    from_ms: int
    until_ms: int
    step_s: int
    series: list[Series]
    names: Annotated[dict[str, str], Meta(description="What figures there are, and what each says.")]


class Samples:
    """Answers from the store."""

    def __init__(self, rows: Rows, clock: Clock) -> None:
        self._rows = rows
        self._clock = clock

    async def query(self, ask: SampleAsk) -> SamplesView:
        """Raises InvalidRequest for what cannot be asked, StoreFailed."""
        until_ms = self._clock.now_ms() + 1 if ask.until_ms < 0 else ask.until_ms
        from_ms = until_ms - HOUR_MS if ask.from_ms < 0 else ask.from_ms
        _check(ask, from_ms, until_ms)
        kind, scope = _scope(ask)
        rows = await self._rows.read(scope, from_ms, until_ms, ROWS_MAX)
        names = ask.names or tuple(sorted({name for row in rows for name in row.figures}))
        return SamplesView(
            scope=kind,
            from_ms=from_ms,
            until_ms=until_ms,
            step_s=ask.step_s,
            series=[_series(kind, name, rows, ask) for name in names],
            names=dict(FIGURES[kind]),
        )

    def now_ms(self) -> int:
        """By the clock that samples are taken by."""
        return self._clock.now_ms()

    async def last_hour(
        self,
        figure: str,
        *,
        topics: Sequence[str] = (),
        groups: Sequence[str] = (),
        instance: str = DEFAULT_INSTANCE,
    ) -> Mapping[str, list[Point]]:
        """One figure of many topics, or of many groups, by name; for the small pictures of lists. What was idle has
        none. Raises StoreFailed."""
        names = {topic_scope(instance, name): name for name in topics}
        names |= {group_scope(instance, name): name for name in groups}
        until_ms = self._clock.now_ms() + 1
        found: dict[str, list[Point]] = {}
        if names:
            for row in await self._rows.read_many(list(names), until_ms - HOUR_MS, until_ms, SHORT_ROWS_MAX):
                if figure in row.figures:
                    found.setdefault(names[row.scope], []).append((row.at_ms, row.figures[figure]))
        return found


def _check(ask: SampleAsk, from_ms: int, until_ms: int) -> None:
    if ask.topic and ask.group:
        raise InvalidRequest("samples are of a topic or of a group: leave one of the two out")
    if from_ms >= until_ms:
        raise InvalidRequest("from_ms must be before until_ms")
    if ask.step_s and not STEP_MIN_S <= ask.step_s <= STEP_MAX_S:
        raise InvalidRequest(f"step_s is {STEP_MIN_S} to {STEP_MAX_S}, or 0 for every sample by itself")
    if len(ask.names) > NAMES_MAX:
        raise InvalidRequest(f"{len(ask.names)} names were asked for; {NAMES_MAX} are taken at a time")


def _scope(ask: SampleAsk) -> tuple[str, str]:
    if ask.topic:
        return "topic", topic_scope(ask.instance, ask.topic)
    if ask.group:
        return "group", group_scope(ask.instance, ask.group)
    return "node", NODE_SCOPE


def _series(kind: str, name: str, rows: list[SampleRow], ask: SampleAsk) -> Series:
    found = [(row.at_ms, row.figures[name]) for row in rows if name in row.figures]
    description = FIGURES[kind].get(name.partition(".")[0], "")
    return Series(name=name, description=description, points=_points(found, ask.step_s * 1000, ask.how))


def _points(found: list[tuple[int, float]], step_ms: int, how: How) -> list[Point]:
    if not step_ms:
        return [(at_ms, value) for at_ms, value in found]
    steps: dict[int, list[float]] = {}
    for at_ms, value in found:
        steps.setdefault(at_ms - at_ms % step_ms, []).append(value)
    return [(at_ms, max(values) if how == "maximum" else sum(values) / len(values)) for at_ms, values in steps.items()]
