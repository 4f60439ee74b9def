"""The life of a message, put together from what was noted of it, from the log, and from where readers have come.

A message may lie in several places: in its topic, in retry topics, among dead letters, and twice where a node died.
Places are known from notes, and from whoever asks (a query has found them). For each, the log says whether it is still
there, and ranges say who was given it. A message that came to its topic as an ended half says that itself. What brought
it there is told with the time of its record, because it is noted only when the log has answered, and readers may have
been given the message before.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol
from uuid import UUID

import msgspec

from braidmq.core.lookup import message_at
from braidmq.log import Log
from braidmq.model import (
    ATTEMPT_HEADER,
    BORN_HEADER,
    DEAD_TOPIC_HEADER,
    GROUP_HEADER,
    HALF_HEADER,
    RETRY_TOPIC_HEADER,
    Message,
    Topic,
    TraceEvent,
    TraceKind,
    TraceRange,
)
from braidmq.model.errors import DamagedLog, OffsetOutOfRange, UnknownMessage, UnknownPartition
from braidmq.model.numbers import TIME_DIGITS_MAX, whole_number

EVENTS_MAX: Final = 1_000
"""The most of each kind of source that a timeline is made of."""
PLACES_MAX: Final = 100

_ORDER: Final = {kind: nth for nth, kind in enumerate(TraceKind)}
_OF_HALVES: Final = frozenset({TraceKind.PREPARED, TraceKind.COMMITTED})
_ARRIVALS: Final = frozenset({TraceKind.DUE, TraceKind.COMMITTED})
_OF_COPIES: Final = (ATTEMPT_HEADER, RETRY_TOPIC_HEADER, DEAD_TOPIC_HEADER)


class Rows(Protocol):
    """Where notes are kept; see `store.TraceRows`."""

    async def events(self, message_id: str, limit: int) -> list[TraceEvent]: ...

    async def ids(self, key: str, limit: int) -> list[str]: ...

    async def ranges(self, number: int, offset: int, limit: int) -> list[TraceRange]: ...


class Catalog(Protocol):
    """Which topics there are; see `store.Catalog`."""

    def topic_by_id(self, topic_id: UUID) -> Topic | None: ...


class Stored(NamedTuple):
    """A place where a message lies, or lay."""

    topic_id: UUID
    partition: int
    offset: int


class Timelines:
    """Tells what happened to messages."""

    def __init__(self, rows: Rows, catalog: Catalog, log: Log) -> None:
        self._rows = rows
        self._catalog = catalog
        self._log = log

    async def timeline(self, message_id: str, places: Iterable[Stored] = ()) -> list[TraceEvent]:
        """All that is known of the message, in order; `places` are those that the caller knows of. Raises
        StoreFailed."""
        events = await self._rows.events(message_id, EVENTS_MAX)
        known = dict.fromkeys(places) | dict.fromkeys(place for each in events if (place := _place(each)) is not None)
        noted = {event.kind for event in events}
        for place in list(known)[:PLACES_MAX]:
            events += [event for event in await self._at(message_id, place) if event.kind not in noted & _OF_HALVES]
        return in_order(_as_they_came(events))

    async def ids(self, key: str) -> list[str]:
        """The ids of messages with this key of which something was noted, the latest first: messages that are in no
        topic yet among them. Raises StoreFailed."""
        return await self._rows.ids(key, EVENTS_MAX)

    async def _at(self, message_id: str, place: Stored) -> list[TraceEvent]:
        """What happened at one place; nothing where another message lies there."""
        topic = self._catalog.topic_by_id(place.topic_id)
        if topic is None or not 0 <= place.partition < len(topic.partition_numbers):
            return []
        number = topic.partition_numbers[place.partition]
        message = await self._message(number, place.offset)
        if message is not None and message.id not in (None, message_id):
            return []
        here = {"message_id": message_id, "topic": topic.name, **place._asdict()}
        events = [
            TraceEvent(kind=span.kind, at_ms=span.at_ms, group=span.group, client=span.client, **here)
            for span in await self._rows.ranges(number, place.offset, EVENTS_MAX)
        ]
        if message is not None:
            events.append(TraceEvent(kind=TraceKind.STORED, at_ms=message.born_ms, **here))
            events += _as_half(message, here)
        return events

    async def _message(self, number: int, offset: int) -> Message | None:
        try:
            return await message_at(self._log, number, offset)
        except (UnknownMessage, UnknownPartition, OffsetOutOfRange, DamagedLog):
            return None  # what was noted of it is told all the same


def in_order(events: Sequence[TraceEvent]) -> list[TraceEvent]:
    """By time; what happened in the same millisecond, in the order in which it can have happened."""
    return sorted(events, key=lambda event: (event.at_ms, _ORDER[event.kind]))


def _as_they_came(events: Sequence[TraceEvent]) -> list[TraceEvent]:
    """With the time of its record for what brought a message to its place."""
    came_ms = {_place(event): event.at_ms for event in events if event.kind is TraceKind.STORED}
    return [
        msgspec.structs.replace(event, at_ms=came_ms.get(_place(event), event.at_ms))
        if event.kind in _ARRIVALS
        else event
        for event in events
    ]


def _place(event: TraceEvent) -> Stored | None:
    if event.topic_id is None or event.offset < 0:
        return None
    return Stored(event.topic_id, event.partition, event.offset)


def _as_half(message: Message, here: Mapping[str, Any]) -> list[TraceEvent]:
    """That a message was prepared and committed, as it says itself: of halves that end at once, nothing is noted."""
    born_ms = whole_number((message.header(BORN_HEADER) or b"").decode("ascii", "replace"), TIME_DIGITS_MAX)
    if (
        born_ms is None
        or (message.header(HALF_HEADER) or b"").lower() != b"true"
        or any(message.header(name) is not None for name in _OF_COPIES)
    ):
        return []
    group = (message.header(GROUP_HEADER) or b"").decode("utf-8", "replace")
    said = {"message_id": here["message_id"], "topic_id": here["topic_id"], "topic": here["topic"], "group": group}
    place = {"partition": here["partition"], "offset": here["offset"]}
    return [
        TraceEvent(kind=TraceKind.PREPARED, at_ms=born_ms, **said),
        TraceEvent(kind=TraceKind.COMMITTED, at_ms=message.born_ms, **said, **place),
    ]
