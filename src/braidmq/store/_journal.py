"""The order of the catalog's changes, kept in the database: who changes what, in which revision.

One idea: every change takes the lock on the revision's row first, and writes one line (revision, kind, key)
for each thing it touched, in the same transaction. So revisions have no gaps, appear in order, and a reader
who knows where it was finds what it missed; or that too much was missed, and then it reads everything.
"""

from collections.abc import Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar
from uuid import UUID

import sqlalchemy as sa

from braidmq.store import _tables as tables
from braidmq.store._store import announce
from braidmq.store._things import Key, Kind, Thing, key_of, read_thing, read_things

CHANNEL = "braid_catalog"

LINES_KEPT = 10_000
CATCH_UP_MAX = 200
"""Behind by more than this, reading everything is cheaper than reading thing by thing."""

T = TypeVar("T")


class Entry(NamedTuple):
    """One thing as it is since a revision; `new` is None when it is gone.

    `kind` is None for a kind that only newer code knows, as while nodes are upgraded one by one.
    """

    revision: int
    kind: Kind | None
    key: Key
    new: Thing | None


class Changed(NamedTuple, Generic[T]):
    """What a change gives to its caller, and what it did to the catalog."""

    value: T
    entries: Sequence[Entry]


class Snapshot(NamedTuple):
    """The whole catalog at a revision."""

    revision: int
    things: Mapping[Kind, Sequence[Thing]]


def lock_catalog(connection: sa.Connection) -> None:
    """Wait for the changes of other nodes; none can come between this and the commit. SQLite has one writer anyway."""
    connection.execute(_SELECT_REVISION.with_for_update())


def record_saved(connection: sa.Connection, thing: Thing) -> Entry:
    """Note that the thing is now like this."""
    kind, key = key_of(thing)
    return Entry(_record(connection, kind, key), kind, key, thing)


def record_deleted(connection: sa.Connection, thing: Thing) -> Entry:
    """Note that the thing is gone."""
    kind, key = key_of(thing)
    return Entry(_record(connection, kind, key), kind, key, None)


def read_revision(connection: sa.Connection) -> int:
    revision: int = connection.execute(_SELECT_REVISION).scalar_one()
    return revision


def read_snapshot(connection: sa.Connection) -> Snapshot:
    return Snapshot(read_revision(connection), {kind: read_things(connection, kind) for kind in Kind})


def read_since(connection: sa.Connection, revision: int) -> Snapshot | Sequence[Entry]:
    """What has changed after the revision, each thing as it is now; everything, where that cannot be told any more."""
    behind = read_revision(connection) - revision
    if behind <= 0:
        return ()
    if behind > CATCH_UP_MAX:
        return read_snapshot(connection)
    lines = connection.execute(_SELECT_LINES, {"after": revision}).all()
    if len(lines) != behind:
        return read_snapshot(connection)
    return [_read_entry(connection, line.revision, line.kind, line.key) for line in lines]


_KINDS = {kind.value: kind for kind in Kind}

_SELECT_REVISION = sa.select(tables.counters.c.value).where(tables.counters.c.name == tables.CATALOG_REVISION)

_RAISE_REVISION = (
    sa.update(tables.counters)
    .where(tables.counters.c.name == tables.CATALOG_REVISION)
    .values(value=tables.counters.c.value + 1)
    .returning(tables.counters.c.value)
)

_SELECT_LINES = (
    sa.select(tables.catalog_changes)
    .where(tables.catalog_changes.c.revision > sa.bindparam("after"))
    .order_by(tables.catalog_changes.c.revision)
)

_FORGET_LINES = sa.delete(tables.catalog_changes).where(tables.catalog_changes.c.revision <= sa.bindparam("until"))


def _record(connection: sa.Connection, kind: Kind, key: Key) -> int:
    revision: int = connection.execute(_RAISE_REVISION).scalar_one()
    line = {"revision": revision, "kind": kind, "key": [str(part) for part in key]}
    connection.execute(sa.insert(tables.catalog_changes), line)
    if revision % CATCH_UP_MAX == 0:
        connection.execute(_FORGET_LINES, {"until": revision - LINES_KEPT})
    announce(connection, CHANNEL)
    return revision


def _read_entry(connection: sa.Connection, revision: int, kind_name: str, texts: Sequence[str]) -> Entry:
    kind = _KINDS.get(kind_name)
    if kind is None:
        return Entry(revision, None, (), None)
    key = (UUID(texts[0]),) if kind is Kind.TOPIC else tuple(texts)
    return Entry(revision, kind, key, read_thing(connection, kind, key))
