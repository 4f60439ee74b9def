"""Figures of the last day, as rows: one for a scope and a moment, with all its figures in it.

A scope is the node, a topic or a group, in the words of those who keep it. Many rows are added in one call, and the
oldest go in the same one.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import sqlalchemy as sa

from braidmq.store import _tables as tables
from braidmq.store._store import Store

_SAMPLES = tables.samples
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(dict[str, float]).decode


class SampleRow(NamedTuple):
    """The figures of one scope at one moment, by name."""

    scope: str
    at_ms: int
    figures: Mapping[str, float]


class SampleRows:
    """Every call may raise StoreFailed. A loss of power may take the last samples."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def add(self, samples: Sequence[SampleRow], *, before_ms: int, remove_max: int) -> int:
        """Keep these, and remove what is older than the time, about so many rows at most. How many were removed."""

        def work(connection: sa.Connection) -> int:
            rows = [
                {"scope": _scope(each.scope), "at_ms": each.at_ms, "content": _encode(each.figures)} for each in samples
            ]
            if rows:
                connection.execute(_insert(connection), rows)
            return _remove(connection, before_ms, remove_max)

        return await self._store.write(work, synced=False)

    async def read(self, scope: str, from_ms: int, until_ms: int, limit: int) -> list[SampleRow]:
        """Samples of a scope from the one time up to before the other, in order."""
        columns = _SAMPLES.c
        chosen = (
            sa.select(columns.at_ms, columns.content)
            .where(columns.scope == _scope(scope), columns.at_ms >= from_ms, columns.at_ms < until_ms)
            .order_by(columns.at_ms)
            .limit(limit)
        )
        rows = await self._store.read(lambda connection: connection.execute(chosen).all())
        return [SampleRow(scope, at_ms, _decode(content)) for at_ms, content in rows]

    async def read_many(self, scopes: Sequence[str], from_ms: int, until_ms: int, limit: int) -> list[SampleRow]:
        """Samples of several scopes, each scope's in order."""
        columns = _SAMPLES.c
        named = {_scope(scope): scope for scope in scopes}
        chosen = (
            sa.select(columns.scope, columns.at_ms, columns.content)
            .where(columns.scope.in_(list(named)), columns.at_ms >= from_ms, columns.at_ms < until_ms)
            .order_by(columns.scope, columns.at_ms)
            .limit(limit)
        )
        rows = await self._store.read(lambda connection: connection.execute(chosen).all())
        return [SampleRow(named[bytes(scope)], at_ms, _decode(content)) for scope, at_ms, content in rows]


def _scope(scope: str) -> bytes:
    return scope.encode(errors="replace")


def _insert(connection: sa.Connection) -> sa.Executable:
    """A clock that was put back may come to a moment again: the first sample of a moment stays."""
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as insert_there

        return insert_there(_SAMPLES).on_conflict_do_nothing()
    return sa.insert(_SAMPLES).prefix_with("OR IGNORE")


def _remove(connection: sa.Connection, before_ms: int, rows_max: int) -> int:
    at_ms = _SAMPLES.c.at_ms
    oldest = sa.select(at_ms).where(at_ms < before_ms).order_by(at_ms).limit(rows_max)
    found = list(connection.execute(oldest).scalars())
    return connection.execute(sa.delete(_SAMPLES).where(at_ms <= found[-1])).rowcount if found else 0
