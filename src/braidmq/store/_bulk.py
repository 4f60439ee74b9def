"""One statement for many rows, without what SQLAlchemy does for each of them. Hot path.

One idea: how values are bound follows from their columns and the database. So the statement is written once for each
kind of database, and a row is a tuple of what the driver takes.

SQLite is called without the interpreter's lock, and its driver asks for the lock again after every row: beside a busy
event loop, that takes longer than the row. So there, many rows are deleted as one.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
import sqlalchemy as sa

_Bind = Callable[[Any], Any]


class _Written(NamedTuple):
    """The statement as one kind of database reads it."""

    text: str
    binds: tuple[tuple[int, _Bind], ...]
    """What makes the driver's value of the one in this place, where the two differ."""


class Bulk:
    """A statement whose rows are the values of these columns, in this order."""

    def __init__(self, statement: sa.Insert | sa.Delete, columns: Iterable[sa.Column[Any]]) -> None:
        self._statement = statement
        self._columns = tuple(columns)
        self._written: dict[str, _Written] = {}

    def execute(self, connection: sa.Connection, rows: Sequence[Sequence[Any]]) -> None:
        """Carry it out for all the rows; there is at least one."""
        known = self._written.get(connection.dialect.name)
        text, binds = known or self._write(connection.dialect)
        bound: list[tuple[Any, ...]] = []
        for row in rows:
            values = list(row)
            for at, bind in binds:
                values[at] = bind(values[at])
            bound.append(tuple(values))
        connection.exec_driver_sql(text, bound)

    def _write(self, dialect: sa.Dialect) -> _Written:
        names = [column.name for column in self._columns] if isinstance(self._statement, sa.Insert) else None
        compiled = self._statement.compile(dialect=dialect, column_keys=names)
        assert names is None or getattr(compiled, "positiontup", None) == names, "values go by their places"
        binds = [column.type.dialect_impl(dialect).bind_processor(dialect) for column in self._columns]
        written = _Written(str(compiled), tuple((at, bind) for at, bind in enumerate(binds) if bind is not None))
        self._written[dialect.name] = written
        return written


class Removal:
    """Deletes rows by their `id`."""

    def __init__(self, table: sa.Table) -> None:
        self._each = Bulk(sa.delete(table).where(table.c.id == sa.bindparam("of_id")), (table.c.id,))
        listed: sa.Select[str] = sa.select(sa.column("value", sa.Text)).select_from(
            sa.func.json_each(sa.bindparam("ids", type_=sa.Text))
        )
        self._listed = sa.delete(table).where(sa.type_coerce(table.c.id, sa.Text).in_(listed))

    def execute(self, connection: sa.Connection, ids: Sequence[UUID]) -> None:
        """There is at least one; those that are gone already are no error."""
        if connection.dialect.name == "sqlite":
            connection.execute(self._listed, {"ids": msgspec.json.encode([each.hex for each in ids]).decode()})
        else:
            self._each.execute(connection, [(each,) for each in ids])


class Streamed:
    """Rows of a table that meet a condition, in an order, so many and of `size_bytes` so much: in a SQLite file, of
    which no more is read than is taken."""

    def __init__(self, table: sa.Table, condition: sa.ColumnElement[bool], order: Sequence[sa.Column[Any]]) -> None:
        most = sa.bindparam("rows_max", type_=sa.Integer)
        self._statement = sa.select(table).where(condition).order_by(*order).limit(most)
        self._size_at = list(table.c).index(table.c.size_bytes)
        self._uuids_at = [at for at, each in enumerate(table.c) if isinstance(each.type, sa.Uuid)]
        self._text = ""
        self._params: dict[str, Any] = {}
        self._places: tuple[str, ...] = ()

    def read(self, connection: sa.Connection, now_ms: int, rows_max: int, bytes_max: int) -> list[list[Any]]:
        """At least one row, however large, if there is one."""
        if not self._text:
            compiled = self._statement.compile(dialect=connection.dialect)
            self._text, self._params = str(compiled), dict(compiled.params)
            self._places = tuple(getattr(compiled, "positiontup", ()))
        asked = self._params | {"now_ms": now_ms, "rows_max": rows_max}
        taken: list[list[Any]] = []
        cursor = connection.connection.cursor()
        try:
            for found in cursor.execute(self._text, tuple(asked[name] for name in self._places)):
                bytes_max -= found[self._size_at]
                if bytes_max < 0 and taken:
                    break
                row = list(found)
                for at in self._uuids_at:
                    row[at] = UUID(row[at])
                taken.append(row)
        finally:
            cursor.close()
        return taken
