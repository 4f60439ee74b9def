"""One statement for many rows, without what SQLAlchemy does for each of them. Hot path.

One idea: how values are bound follows from their columns and the database. So the statement is written once for each
kind of database, and a row is a tuple of what the driver takes.

SQLite is called without the interpreter's lock, and its driver asks for the lock again after every row: beside a busy
event loop, that takes longer than the row. So there, many rows are deleted as one, and read as one.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
import sqlalchemy as sa

_Bind = Callable[[Any], Any]
_decode_list: Callable[[str], list[list[Any]]] = msgspec.json.Decoder(list[list[Any]]).decode


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


def fitting(sizes: Iterable[int], bytes_max: int) -> int:
    """How many of the first have no more than this together; at least one, if there is one."""
    count = 0
    for size in sizes:
        bytes_max -= size
        if bytes_max < 0 and count:
            break
        count += 1
    return count


class Gathered:
    """Rows of a table that meet a condition, in an order, so many and of `size_bytes` so much: in a SQLite file, as one
    row. Numbers and texts are a list in JSON; bytes, which JSON has no place for, lie one behind the other."""

    def __init__(self, table: sa.Table, condition: sa.ColumnElement[bool], order: Sequence[sa.Column[Any]]) -> None:
        columns = list(table.c)
        self._uuids_at = [at for at, each in enumerate(columns) if isinstance(each.type, sa.Uuid)]
        self._bytes_at = [at for at, each in enumerate(columns) if isinstance(each.type, sa.LargeBinary)]
        most = sa.bindparam("rows_max", type_=sa.Integer)
        self._sizes = _OneRow(_gathered(sa.select(table.c.size_bytes).where(condition).order_by(*order).limit(most)))
        self._rows = _OneRow(_gathered(sa.select(table).where(condition).order_by(*order).limit(most)))

    def read(self, connection: sa.Connection, now_ms: int, rows_max: int, bytes_max: int) -> list[list[Any]]:
        """At least one row, however large, if there is one."""
        asked = {"now_ms": now_ms, "rows_max": rows_max}
        (sizes,) = self._sizes.read(connection, asked)
        count = fitting((size for (size,) in _decode_list(sizes)), bytes_max)
        if not count:
            return []
        listed, *joined = self._rows.read(connection, asked | {"rows_max": count})
        rows = _decode_list(listed)
        for at, data in zip(self._bytes_at, joined, strict=True):
            begin = 0
            for row in rows:
                end = begin + row[at]
                row[at] = data[begin:end]
                begin = end
        for at in self._uuids_at:
            for row in rows:
                row[at] = UUID(row[at])
        return rows


class _OneRow:
    """A statement that has one row, written once for the driver itself."""

    def __init__(self, statement: sa.Select[Any]) -> None:
        self._statement = statement
        self._text = ""
        self._params: dict[str, Any] = {}
        self._places: tuple[str, ...] = ()

    def read(self, connection: sa.Connection, asked: dict[str, Any]) -> Sequence[Any]:
        if not self._text:
            compiled = self._statement.compile(dialect=connection.dialect)
            self._params, self._places = dict(compiled.params), tuple(getattr(compiled, "positiontup", ()))
            self._text = str(compiled)
        values = self._params | asked
        cursor = connection.connection.cursor()
        try:
            found: Sequence[Any] = cursor.execute(self._text, tuple(values[name] for name in self._places)).fetchone()
        finally:
            cursor.close()
        return found


def _gathered(rows: sa.Select[Any]) -> sa.Select[Any]:
    """One row for all: a list of theirs, with the lengths of bytes, and then the bytes of each such column together."""
    found = rows.subquery()
    listed: list[sa.ColumnElement[Any]] = []
    joined: list[sa.ColumnElement[Any]] = []
    for column in found.c:
        if isinstance(column.type, sa.LargeBinary):
            listed.append(sa.func.length(column))
            joined.append(sa.cast(sa.func.group_concat(column, sa.literal_column("''")), sa.LargeBinary))
        else:
            listed.append(sa.type_coerce(column, sa.Text))
    return sa.select(sa.func.json_group_array(sa.func.json_array(*listed)), *joined)
