"""What happened to messages, as rows: many are added in one call, and the oldest are removed a few at a time.

A note is written for every delayed message, so that a row has to be cheap: three columns, of which one is the note as
it is, and one a number made of the text that it is found by, the message's id or a key. Texts whose numbers are the
same are told apart when they are read.
"""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any

import msgspec
import sqlalchemy as sa

from braidmq.model import TRACE_SPAN_MAX, TraceEvent, TraceKind, TraceRange
from braidmq.store import _tables as tables
from braidmq.store._bulk import Bulk
from braidmq.store._store import Store

_NOTES = tables.trace_notes
_RANGES = tables.trace_ranges
_ADD_NOTES = Bulk(sa.insert(_NOTES), _NOTES.c)


class _Event(msgspec.Struct, array_like=True):
    """An event as it is kept. `nth` tells the order of those of one moment."""

    nth: int
    event: TraceEvent


class _Key(msgspec.Struct, array_like=True):
    """That a message has a key."""

    nth: int
    key: str
    message_id: str


class _Reader(msgspec.Struct, array_like=True):
    """What is kept of a range besides its numbers."""

    kind: TraceKind
    group: str
    client: str


_encode = msgspec.msgpack.Encoder().encode
_decode_event = msgspec.msgpack.Decoder(_Event).decode
_decode_key = msgspec.msgpack.Decoder(_Key).decode
_decode_reader = msgspec.msgpack.Decoder(_Reader).decode


class TraceRows:
    """Every call may raise StoreFailed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._count = 0

    async def add(
        self, events: Sequence[TraceEvent], ranges: Sequence[TraceRange], *, before_ms: int, remove_max: int
    ) -> int:
        """Keep these; and remove what is older than the time, about so many rows of each kind at most. How many rows
        were removed."""
        first, self._count = self._count, self._count + len(events)

        def work(connection: sa.Connection) -> int:
            notes = [row for nth, event in enumerate(events, first) for row in _note_rows(nth, event)]
            if notes:
                _ADD_NOTES.execute(connection, notes)
            if ranges:
                connection.execute(sa.insert(_RANGES), [_range_row(each) for each in ranges])
            return sum(_remove(connection, table, before_ms, remove_max) for table in (_NOTES, _RANGES))

        return await self._store.write(work, synced=False)

    async def events(self, message_id: str, limit: int) -> list[TraceEvent]:
        """The first events of a message, in the order of their times."""
        chosen = sa.select(_NOTES.c.content).where(_NOTES.c.mark == _mark(b"m", message_id)).order_by(_NOTES.c.at_ms)
        kept = [_decode_event(content) for content in await self._contents(chosen.limit(limit))]
        kept.sort(key=lambda each: (each.event.at_ms, each.nth))
        return [each.event for each in kept if each.event.message_id == message_id]

    async def ids(self, key: str, limit: int) -> list[str]:
        """The ids of messages that have events and this key, the latest first."""
        chosen = sa.select(_NOTES.c.content).where(_NOTES.c.mark == _mark(b"k", key))
        latest = chosen.order_by(_NOTES.c.at_ms.desc()).limit(limit)
        kept = [_decode_key(content) for content in await self._contents(latest)]
        return list(dict.fromkeys(each.message_id for each in kept if each.key == key))

    async def ranges(self, number: int, offset: int, limit: int) -> list[TraceRange]:
        """What happened to the messages around an offset, in the order of times."""
        columns = _RANGES.c
        chosen = (
            sa.select(_RANGES)
            .where(columns.number == number, columns.until > offset)
            .where(columns.first.between(offset - TRACE_SPAN_MAX + 1, offset))
            .order_by(columns.at_ms)
            .limit(limit)
        )
        return await self._store.read(lambda connection: [_range(row) for row in connection.execute(chosen)])

    async def _contents(self, chosen: sa.Select[Any]) -> list[bytes]:
        return await self._store.read(lambda connection: list(connection.execute(chosen).scalars()))


def _mark(kind: bytes, text: str) -> int:
    """A number for an id or a key, that nobody chooses so that it is another's."""
    digest = blake2b(text.encode(errors="replace"), digest_size=8, person=kind).digest()
    return int.from_bytes(digest, signed=True)


def _note_rows(nth: int, event: TraceEvent) -> Iterator[tuple[int, int, bytes]]:
    """An event, and each key that its message can be found by."""
    at_ms = event.at_ms
    content = _packed(_Event(nth, event))
    yield at_ms, _mark(b"m", event.message_id), content
    for key in event.keys:
        yield at_ms, _mark(b"k", key), _packed(_Key(nth, key, event.message_id))


def _range_row(span: TraceRange) -> dict[str, Any]:
    return {
        "at_ms": span.at_ms,
        "number": span.number,
        "first": span.first,
        "until": span.until,
        "content": _packed(_Reader(span.kind, span.group, span.client)),
    }


def _packed(note: _Event | _Key | _Reader) -> bytes:
    """A text that cannot be written must not cost the notes that are kept with it."""
    try:
        return _encode(note)
    except UnicodeEncodeError:
        return _encode(_writable(msgspec.to_builtins(note)))


def _writable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {name: _writable(each) for name, each in value.items()}
    return [_writable(each) for each in value] if isinstance(value, list | tuple) else value


def _range(row: sa.Row[Any]) -> TraceRange:
    kept = _decode_reader(row.content)
    return TraceRange(
        kind=kept.kind,
        at_ms=row.at_ms,
        group=kept.group,
        number=row.number,
        first=row.first,
        until=row.until,
        client=kept.client,
    )


def _remove(connection: sa.Connection, table: sa.Table, before_ms: int, rows_max: int) -> int:
    """The oldest moments, each as a whole."""
    at_ms = table.c.at_ms
    oldest = sa.select(at_ms).where(at_ms < before_ms).order_by(at_ms).limit(rows_max)
    found = list(connection.execute(oldest).scalars())
    return connection.execute(sa.delete(table).where(at_ms <= found[-1])).rowcount if found else 0
