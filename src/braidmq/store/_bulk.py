"""One statement for many rows, without what SQLAlchemy does for each of them. Hot path.

One idea: how values are bound follows from their columns and the database. So the statement is written once for each
kind of database, and a row is a tuple of what the driver takes.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

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
