"""The rows of messages that are not in their topic yet: timers and halves.

One idea: a row is only looked at when its `wake_ms` has come, which is one range of an index however many rows wait.
Whoever takes a row sets it to a later time in the same transaction: that is the claim, and it ends by itself when its
owner does. What becomes of a row is core's to say: it hands in a function from the row as it is to the row as it
shall be, or to None, which removes it. Such a function runs inside the transaction, and must only compute.
"""

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID

import sqlalchemy as sa

from braidmq.model import NEVER_MS, Half, HalfState, Timer
from braidmq.store import _tables as tables
from braidmq.store._bulk import Bulk, Gathered, Removal, fitting
from braidmq.store._database import Work
from braidmq.store._gathering import Gathering
from braidmq.store._store import Store

T = TypeVar("T")
RowT = TypeVar("RowT", bound=Timer | Half)

_BYTES_COLUMNS = ("message_id", "group")
"""Clients' text, any text: kept as bytes, because a database's text does not take every character."""


class Page(NamedTuple):
    """What a listing is to hold: rows after one, in the order of their ids, and so of their times."""

    after: UUID | None = None
    limit: int = 100
    topic_id: UUID | None = None
    instance: str | None = None
    from_id: UUID | None = None
    until_id: UUID | None = None
    """The first id that is too high."""
    parked: bool = False
    """Only those that wait for an operator."""


class DeferredRows(Generic[RowT]):
    """Every call is durable when it returns, or raises StoreFailed, or what a function that was handed in raises. With
    `synced` off, durable means that it outlives the process, as it does for messages of a log that is not synced."""

    def __init__(self, store: Store, table: sa.Table, kind: type[RowT], *, synced: bool = True) -> None:
        self._store = store
        self._synced = synced
        self._adding: Gathering[RowT, None] = Gathering(self._add)
        self._deleting: Gathering[list[UUID], None] = Gathering(self._delete)
        self._table = table
        self._kind = kind
        self._changing = [column.name for column in table.c if column.name != "id"]
        self._updates: dict[tuple[str, ...], sa.Update] = {}
        names = [column.name for column in table.c]
        self._names = tuple(names)
        self._names_but_content = tuple(name for name in names if name != "content")
        self._taken = attrgetter(*names)
        self._told_otherwise = [(at, name) for at, name in enumerate(names) if name in (*_BYTES_COLUMNS, "state")]
        self._insert = Bulk(sa.insert(table), table.c)
        self._removal = Removal(table)
        order = (table.c.wake_ms, table.c.id)
        is_due = table.c.wake_ms <= sa.bindparam("now_ms")
        most = sa.bindparam("rows_max", type_=sa.Integer)
        self._due = Gathered(table, is_due, order)
        self._due_ids = (
            sa.select(table.c.id, table.c.size_bytes)
            .where(is_due)
            .order_by(*order)
            .limit(most)
            .with_for_update(skip_locked=True)
        )
        self._first_wake = sa.select(table.c.wake_ms).order_by(*order).limit(1)
        self._wake_behind = self._first_wake.where(
            sa.tuple_(*order) > sa.tuple_(sa.bindparam("wake_ms"), sa.bindparam("of_id", type_=sa.Uuid))
        )

    async def add(self, row: RowT) -> None:
        await self._adding.put(row)

    async def _add(self, rows: list[RowT]) -> list[None]:
        await self._write(lambda connection: self._insert.execute(connection, [self._values(row) for row in rows]))
        return [None] * len(rows)

    def _values(self, row: RowT) -> list[Any]:
        values = list(self._taken(row))
        for at, name in self._told_otherwise:
            values[at] = _value(name, values[at])
        return values

    async def _write(self, work: Work[T]) -> T:
        return await self._store.write(work, synced=self._synced)

    async def next_wake_ms(self) -> int:
        """When the next row is to be looked at; NEVER_MS if there is none."""
        return await self._store.read(self._next_wake_ms)

    async def claim(
        self,
        now_ms: int,
        change: Callable[[RowT], RowT | None],
        *,
        rows_max: int,
        bytes_max: int,
        for_others: bool = False,
        without: Sequence[UUID] = (),
    ) -> tuple[list[RowT], int]:
        """Change rows whose time has come, the oldest first: so many, and of contents so much, but at least one. The
        rows as they are now, in order, and when the next is to be looked at behind them. The rows
        `without` are deleted first, in the same transaction.

        Rows that another node is claiming at this moment are passed over, not waited for. A change that is made only
        `for_others` to see, by a caller who knows it without the row, is not written where there are no others.
        """
        is_written = self._store.is_shared or not for_others
        gone = list(without)

        def work(connection: sa.Connection) -> tuple[list[RowT], int]:
            if gone:
                self._removal.execute(connection, gone)
            find = self._due_locked if self._store.is_shared else self._due_gathered
            rows = find(connection, now_ms, rows_max, bytes_max)
            if is_written:
                return self._change(connection, rows, change), self._next_wake_ms(connection)
            changed = [new for row in rows if (new := change(row)) is not None]
            return changed, self._next_wake_ms(connection, behind=rows[-1] if rows else None)

        return await self._write(work)

    async def revise(self, ids: Iterable[UUID], change: Callable[[RowT], RowT | None]) -> list[RowT]:
        """Change those of these rows that exist; the rows as they are now, in the order of their ids."""
        wanted = sorted(set(ids))

        def work(connection: sa.Connection) -> list[RowT]:
            return self._change(connection, self._rows(connection, wanted, lock=True), change)

        return await self._write(work)

    async def delete(self, ids: Iterable[UUID]) -> None:
        """Doing it again changes nothing."""
        await self._deleting.put(list(ids))

    async def _delete(self, lots: list[list[UUID]]) -> list[None]:
        ids = [each for lot in lots for each in lot]
        if ids:
            await self._write(lambda connection: self._removal.execute(connection, ids))
        return [None] * len(lots)

    async def wake_claims(self, owner: str, now_ms: int, lease_ms: int) -> None:
        """Let what this owner has claimed in an earlier life be looked at now."""
        wake = self._table.c.wake_ms
        statement = (
            sa.update(self._table)
            .where(wake > now_ms, wake <= now_ms + lease_ms, self._table.c.owner == owner)
            .values(wake_ms=now_ms)
        )
        await self._store.write(lambda connection: connection.execute(statement) and None)

    async def find(self, id: UUID) -> RowT | None:
        """One row, whole."""
        found = await self._store.read(lambda connection: self._rows(connection, [id]))
        return found[0] if found else None

    async def latest_id(self) -> UUID | None:
        """The highest id, and so that of the latest time; None if there are no rows."""
        ids = self._table.c.id
        statement = sa.select(ids).order_by(ids.desc()).limit(1)
        return await self._store.read(lambda connection: connection.execute(statement).scalar_one_or_none())

    async def page(self, page: Page) -> list[RowT]:
        """Rows without their contents."""
        return await self._store.read(lambda connection: self._page(connection, page))

    def _update_of(self, names: tuple[str, ...]) -> sa.Update:
        """Of these columns only: most changes are of two or three, and a row has a dozen."""
        if (known := self._updates.get(names)) is None:
            known = self._updates[names] = (
                sa.update(self._table)
                .where(self._table.c.id == sa.bindparam("of_id"))
                .values({name: sa.bindparam(name) for name in names})
            )
        return known

    def _next_wake_ms(self, connection: sa.Connection, behind: RowT | None = None) -> int:
        if behind is None:
            found = connection.execute(self._first_wake).scalar_one_or_none()
        else:
            place = {"wake_ms": behind.wake_ms, "of_id": behind.id}
            found = connection.execute(self._wake_behind, place).scalar_one_or_none()
        return NEVER_MS if found is None else int(found)

    def _due_gathered(self, connection: sa.Connection, now_ms: int, rows_max: int, bytes_max: int) -> list[RowT]:
        return [self._row(found) for found in self._due.read(connection, now_ms, rows_max, bytes_max)]

    def _due_locked(self, connection: sa.Connection, now_ms: int, rows_max: int, bytes_max: int) -> list[RowT]:
        """First which, then what is in them: a server sends all that a statement finds."""
        found = connection.execute(self._due_ids, {"now_ms": now_ms, "rows_max": rows_max}).all()
        taken = [each.id for each in found[: fitting((each.size_bytes for each in found), bytes_max)]]
        by_id = {row.id: row for row in self._rows(connection, taken)}
        return [by_id[each] for each in taken]

    def _rows(self, connection: sa.Connection, ids: Sequence[UUID], *, lock: bool = False) -> list[RowT]:
        if not ids:
            return []
        chosen = sa.select(self._table).where(self._table.c.id.in_(ids)).order_by(self._table.c.id)
        return [self._row(found) for found in connection.execute(chosen.with_for_update() if lock else chosen)]

    def _change(
        self, connection: sa.Connection, rows: Sequence[RowT], change: Callable[[RowT], RowT | None]
    ) -> list[RowT]:
        pairs = [(row, change(row)) for row in rows]
        kept = [(old, new) for old, new in pairs if new is not None]
        gone = [row.id for row, new in pairs if new is None]
        if gone:
            connection.execute(sa.delete(self._table).where(self._table.c.id.in_(gone)))
        by_columns: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for old, new in kept:
            names = tuple(name for name in self._changing if getattr(old, name) != getattr(new, name))
            if names:
                values = {name: _value(name, getattr(new, name)) for name in names}
                by_columns.setdefault(names, []).append(values | {"of_id": new.id})
        for names, rows_values in by_columns.items():
            connection.execute(self._update_of(names), rows_values)
        return [new for _, new in kept]

    def _page(self, connection: sa.Connection, page: Page) -> list[RowT]:
        columns = self._table.c
        chosen = sa.select(*(column for column in columns if column.name != "content"))
        if page.after is not None:
            chosen = chosen.where(columns.id > page.after)
        if page.from_id is not None:
            chosen = chosen.where(columns.id >= page.from_id)
        if page.until_id is not None:
            chosen = chosen.where(columns.id < page.until_id)
        if page.topic_id is not None:
            chosen = chosen.where(columns.topic_id == page.topic_id)
        if page.instance is not None:
            chosen = chosen.where(columns.instance == page.instance)
        if page.parked:
            chosen = chosen.where(columns.wake_ms == NEVER_MS)
        return [self._row(found) for found in connection.execute(chosen.order_by(columns.id).limit(page.limit))]

    def _row(self, found: Sequence[Any]) -> RowT:
        names = self._names if len(found) == len(self._names) else self._names_but_content
        values = dict(zip(names, found, strict=True))
        for name in _BYTES_COLUMNS:
            if name in values:
                values[name] = values[name].decode()
        if "state" in values:
            values["state"] = HalfState(values["state"])
        return self._kind(**values)


class TimerRows(DeferredRows[Timer]):
    """Messages that wait for their time."""

    def __init__(self, store: Store, *, synced: bool = True) -> None:
        super().__init__(store, tables.timers, Timer, synced=synced)


class HalfRows(DeferredRows[Half]):
    """Messages that wait for their producer's word."""

    def __init__(self, store: Store, *, synced: bool = True) -> None:
        super().__init__(store, tables.halves, Half, synced=synced)


def _value(name: str, value: Any) -> Any:
    if name in _BYTES_COLUMNS:
        return value.encode()
    return str(value) if name == "state" else value
