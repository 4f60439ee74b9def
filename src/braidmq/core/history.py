"""What the pipeline has kept: messages of long ago, and reports of who used what.

The tables are the pipeline's, and so is the software that reads them; it comes in as `HistoryPort`. Where there is
none, everybody is told how to get it.
"""

import asyncio
import base64
from datetime import datetime
from typing import Annotated, Any, Final, NamedTuple, Protocol

import msgspec
from msgspec import Meta

from braidmq.core.timing import Clock
from braidmq.model import DEFAULT_INSTANCE, HTTP_HEADER
from braidmq.model.errors import InvalidRequest, UnknownReport
from braidmq.model.saying import say

LIMIT_MAX: Final = 1_000
AT_ONCE: Final = 2
"""How many questions are worked on; more wait."""
_HOUR_MS: Final = 3_600_000

SPANS: Final = {
    "usage-hour": ("Who used what in the last hour", _HOUR_MS),
    "usage-day": ("Who used what in the last day", 24 * _HOUR_MS),
    "usage-week": ("Who used what in the last week", 7 * 24 * _HOUR_MS),
    "usage-month": ("Who used what in the last 30 days", 30 * 24 * _HOUR_MS),
}


class ArchiveAsk(NamedTuple):
    """What to look for; at least an id, a key or a topic. Times are those of storing; the later one is not included."""

    id: str = ""
    key: str = ""
    topic: str = ""
    from_ms: int | None = None
    until_ms: int | None = None
    limit: int = 50
    instance: str = DEFAULT_INSTANCE


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A message as the archive has it."""

    instance: str
    topic: str
    partition: int
    offset: int
    message_id: str | None
    keys: list[str | None] | None
    tag: str | None
    store_time: datetime
    born_time: datetime | None
    headers: dict[str, bytes | None] | None
    key: bytes | None
    value: bytes | None
    protocol: str
    traffic: str
    trace_id: str | None
    repeated_headers: list[tuple[str, bytes | None]] | None = None
    """All headers in their order, where a name comes more than once."""


class ArchivedHeader(msgspec.Struct, frozen=True, kw_only=True):
    """`value` is null where it is no text; then it is in `value_base64`."""

    name: str
    value: str | None
    value_base64: str | None = None


class ArchivedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message of long ago. Texts are null where bytes are none; then they are in the field with `_base64`."""

    instance: str
    topic: Annotated[str, Meta(examples=["orders"])]
    partition: int
    offset: int
    id: str | None
    tag: str | None
    keys: list[str]
    key: str | None
    key_base64: str | None
    body: str | None
    body_base64: str | None
    size_bytes: int
    stored_ms: int
    born_ms: int | None
    protocol: str
    traffic: str
    trace_id: str | None
    headers: list[ArchivedHeader]


class ArchivedMessages(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, the oldest first."""

    items: list[ArchivedMessage]
    more: Annotated[bool, Meta(description="Whether there are more than were asked for.")]


class ReportEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A report that can be had."""

    name: Annotated[str, Meta(examples=["usage-day"])]
    title: str
    from_ms: int
    until_ms: int


class HistoryPort(Protocol):
    """Who reads the pipeline's tables. Every call raises ArchiveOff where there are none, and a BraidError that says
    why where they cannot be read."""

    def check(self) -> None: ...

    async def find(self, ask: ArchiveAsk) -> list[Kept]: ...

    async def report(self, from_ms: int, until_ms: int, *, pressure: bool) -> dict[str, Any]: ...


class History:
    """Answers what is asked of the past."""

    def __init__(self, port: HistoryPort, clock: Clock) -> None:
        self._port = port
        self._clock = clock
        self._turn = asyncio.Semaphore(AT_ONCE)

    async def find(self, ask: ArchiveAsk) -> ArchivedMessages:
        """Raises InvalidRequest, ArchiveOff."""
        if not (ask.id or ask.key or ask.topic):
            raise InvalidRequest("say what to look for: an id, a key, or a topic")
        if not 1 <= ask.limit < LIMIT_MAX:
            raise InvalidRequest(say("limit is 1 to {value}", value=LIMIT_MAX - 1))
        self._port.check()
        async with self._turn:
            found = await self._port.find(ask._replace(limit=ask.limit + 1))
        return ArchivedMessages(items=[_shown(each) for each in found[: ask.limit]], more=len(found) > ask.limit)

    def reports(self) -> list[ReportEntry]:
        """Raises ArchiveOff."""
        self._port.check()
        now_ms = self._clock.now_ms()
        return [
            ReportEntry(name=name, title=title, from_ms=now_ms - span_ms, until_ms=now_ms)
            for name, (title, span_ms) in SPANS.items()
        ]

    async def report(
        self, name: str, from_ms: int | None, until_ms: int | None, *, pressure: bool = False
    ) -> dict[str, Any]:
        """The report's span, or the one that is given. Raises UnknownReport, InvalidRequest, ArchiveOff."""
        if name not in SPANS:
            raise UnknownReport(
                say("there is no report {name}; there are {choices}", name=repr(name[:64]), choices=", ".join(SPANS))
            )
        until_ms = self._clock.now_ms() if until_ms is None else until_ms
        from_ms = until_ms - SPANS[name][1] if from_ms is None else from_ms
        if from_ms >= until_ms:
            raise InvalidRequest("from_ms must be before until_ms")
        self._port.check()
        async with self._turn:
            return await self._port.report(from_ms, until_ms, pressure=pressure)


def _shown(kept: Kept) -> ArchivedMessage:
    (key, key_base64), (body, body_base64) = _text(kept.key), _text(kept.value)
    return ArchivedMessage(
        instance=kept.instance,
        topic=kept.topic,
        partition=kept.partition,
        offset=kept.offset,
        id=kept.message_id,
        tag=kept.tag,
        keys=[each for each in kept.keys or () if each is not None],
        key=key,
        key_base64=key_base64,
        body=body,
        body_base64=body_base64,
        size_bytes=len(kept.value or b""),
        stored_ms=_ms(kept.store_time),
        born_ms=None if kept.born_time is None else _ms(kept.born_time),
        protocol=kept.protocol,
        traffic=kept.traffic,
        trace_id=kept.trace_id,
        headers=[
            _header(name, value)
            for name, value in kept.repeated_headers or (kept.headers or {}).items()
            if name != HTTP_HEADER
        ],
    )


def _header(name: str, value: bytes | None) -> ArchivedHeader:
    text, encoded = _text(value)
    return ArchivedHeader(name=name, value=text, value_base64=encoded)


def _text(value: bytes | None) -> tuple[str | None, str | None]:
    if value is None:
        return None, None
    try:
        return value.decode(), None
    except UnicodeDecodeError:
        return None, base64.b64encode(value).decode()


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
