"""What happened to messages, as rows: many are added in one call, and the oldest are removed a few at a time.

Ids begin with the time of what they stand for, so that rows which are too old are the first of the primary key. Message
ids, keys and names are clients' text, any text: they are kept as bytes.
"""

import random
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from braidmq.model import TRACE_SPAN_MAX, TraceEvent, TraceKind, TraceRange, deferred_id
from braidmq.store import _tables as tables
from braidmq.store._store import Store

_EVENTS = tables.trace_events
_KEYS = tables.trace_keys
_RANGES = tables.trace_ranges


class TraceRows:
    """Every call may raise StoreFailed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._count = 0

    async def add(
        self, events: Sequence[TraceEvent], ranges: Sequence[TraceRange], *, before_ms: int, remove_max: int
    ) -> int:
        """Keep these; and remove what is older than the time, so many rows of each kind at most. How many rows were
        removed."""
        event_rows, key_rows = self._event_rows(events)
        range_rows = [_range_row(each) | {"id": self._id(each.at_ms)} for each in ranges]
        too_low = deferred_id(max(before_ms, 0), 0, 0)

        def work(connection: sa.Connection) -> int:
            for table, rows in ((_EVENTS, event_rows), (_KEYS, key_rows), (_RANGES, range_rows)):
                if rows:
                    connection.execute(sa.insert(table), rows)
            return sum(_remove(connection, table, too_low, remove_max) for table in (_EVENTS, _KEYS, _RANGES))

        return await self._store.write(work)

    async def events(self, message_id: str, limit: int) -> list[TraceEvent]:
        """The first events of a message, in the order of their times."""
        chosen = (
            sa.select(_EVENTS).where(_EVENTS.c.message_id == _bytes(message_id)).order_by(_EVENTS.c.id).limit(limit)
        )
        return await self._store.read(lambda connection: [_event(row) for row in connection.execute(chosen)])

    async def ids(self, key: str, limit: int) -> list[str]:
        """The ids of messages that have events and this key, the latest first."""
        chosen = (
            sa.select(_KEYS.c.message_id).where(_KEYS.c.key == _bytes(key)).order_by(_KEYS.c.id.desc()).limit(limit)
        )
        found = await self._store.read(lambda connection: [row.message_id for row in connection.execute(chosen)])
        return list(dict.fromkeys(each.decode() for each in found))

    async def ranges(self, number: int, offset: int, limit: int) -> list[TraceRange]:
        """What happened to the messages around an offset, in the order of times."""
        chosen = (
            sa.select(_RANGES)
            .where(
                _RANGES.c.number == number,
                _RANGES.c.first <= offset,
                _RANGES.c.first > offset - TRACE_SPAN_MAX,
                _RANGES.c.until > offset,
            )
            .order_by(_RANGES.c.id)
            .limit(limit)
        )
        return await self._store.read(lambda connection: [_range(row) for row in connection.execute(chosen)])

    def _event_rows(self, events: Sequence[TraceEvent]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        rows, keys = [], []
        for event in events:
            message_id = _bytes(event.message_id)
            rows.append(_event_row(event) | {"id": self._id(event.at_ms), "message_id": message_id})
            keys += [{"id": self._id(event.at_ms), "key": _bytes(key), "message_id": message_id} for key in event.keys]
        return rows, keys

    def _id(self, at_ms: int) -> UUID:
        self._count += 1
        return deferred_id(at_ms, self._count, random.getrandbits(63))


def _bytes(text: str) -> bytes:
    """A text that cannot be written must not cost the others that are kept with it."""
    return text.encode(errors="replace")


def _event_row(event: TraceEvent) -> dict[str, Any]:
    return {
        "kind": str(event.kind),
        "at_ms": event.at_ms,
        "topic_id": event.topic_id,
        "topic": event.topic,
        "partition": event.partition,
        "offset": event.offset,
        "group": _bytes(event.group),
        "client": _bytes(event.client),
        "value": event.value,
    }


def _event(row: sa.Row[Any]) -> TraceEvent:
    return TraceEvent(
        kind=TraceKind(row.kind),
        at_ms=row.at_ms,
        message_id=row.message_id.decode(),
        topic_id=row.topic_id,
        topic=row.topic,
        partition=row.partition,
        offset=row.offset,
        group=row.group.decode(),
        client=row.client.decode(),
        value=row.value,
    )


def _range_row(span: TraceRange) -> dict[str, Any]:
    return {
        "kind": str(span.kind),
        "at_ms": span.at_ms,
        "group": _bytes(span.group),
        "number": span.number,
        "first": span.first,
        "until": span.until,
        "client": _bytes(span.client),
    }


def _range(row: sa.Row[Any]) -> TraceRange:
    return TraceRange(
        kind=TraceKind(row.kind),
        at_ms=row.at_ms,
        group=row.group.decode(),
        number=row.number,
        first=row.first,
        until=row.until,
        client=row.client.decode(),
    )


def _remove(connection: sa.Connection, table: sa.Table, too_low: UUID, rows_max: int) -> int:
    oldest = sa.select(table.c.id).where(table.c.id < too_low).order_by(table.c.id).limit(rows_max)
    found = list(connection.execute(oldest).scalars())
    if found:
        connection.execute(sa.delete(table).where(table.c.id <= found[-1]))
    return len(found)
