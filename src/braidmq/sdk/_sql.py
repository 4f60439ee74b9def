"""Statements on the user's own connection: SQLAlchemy's, or that of any driver that follows the DB-API.

Statements name their parameters with a colon, and are rewritten to what the driver takes; values never become part of a
statement. Nothing here begins or ends a transaction unless it is told to.
"""

import inspect
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from braidmq.sdk.errors import Refused

_PARAMETER: Final = re.compile(r":(\w+)")
_TABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}(\.[A-Za-z_][A-Za-z0-9_]{0,62})?\Z")

Row = tuple[Any, ...]


def table_name(name: str) -> str:
    """The name itself; raises ValueError where it could be anything but a name."""
    if not _TABLE.match(name):
        raise ValueError(
            f"{name!r} cannot name a table: take letters, digits and _, with a schema before a dot if needed"
        )
    return name


def execute(connection: Any, statement: str, **values: Any) -> list[Row]:
    """The rows of a query; none for other statements."""
    if _is_alchemy(connection):
        return _rows(connection.execute(_text(statement), values))
    cursor = connection.cursor()
    try:
        cursor.execute(*_for_driver(connection, statement, values))
        return [tuple(row) for row in cursor.fetchall()] if cursor.description else []
    finally:
        cursor.close()


async def async_execute(connection: Any, statement: str, **values: Any) -> list[Row]:
    """For SQLAlchemy's AsyncConnection and AsyncSession; others block, and are taken all the same."""
    if not _is_alchemy(connection):
        return execute(connection, statement, **values)
    result = connection.execute(_text(statement), values)
    return _rows(await result if inspect.isawaitable(result) else result)


def opened(connect: Callable[[], Any]) -> Any:
    """A new connection."""
    return connect()


async def async_opened(connect: Callable[[], Any]) -> Any:
    return await _done(connect())


def commit(connection: Any) -> None:
    connection.commit()


async def async_commit(connection: Any) -> None:
    await _done(connection.commit())


def ended(connection: Any) -> None:
    """Closes it; what was not committed never was."""
    connection.close()


async def async_ended(connection: Any) -> None:
    await _done(connection.close())


async def _done(result: Any) -> Any:
    return await result if inspect.isawaitable(result) else result


def _is_alchemy(connection: Any) -> bool:
    return any(kind.__module__.split(".")[0] == "sqlalchemy" for kind in type(connection).__mro__)


def _text(statement: str) -> Any:
    from sqlalchemy import text

    return text(statement)


def _rows(result: Any) -> list[Row]:
    return [tuple(row) for row in result.fetchall()] if result.returns_rows else []


def _for_driver(connection: Any, statement: str, values: Mapping[str, Any]) -> tuple[str, Any]:
    """The statement and its parameters as the driver's `paramstyle` wants them."""
    style = _style(connection)
    names = _PARAMETER.findall(statement)
    if style == "named":
        return statement, values
    if style == "pyformat":
        return _PARAMETER.sub(r"%(\1)s", statement), values
    if style == "numeric":
        count = iter(range(1, len(names) + 1))
        return _PARAMETER.sub(lambda _: f":{next(count)}", statement), [values[name] for name in names]
    mark = "?" if style == "qmark" else "%s"
    return _PARAMETER.sub(mark, statement), [values[name] for name in names]


def _style(connection: Any) -> str:
    for kind in type(connection).__mro__:
        module = sys.modules.get(kind.__module__.split(".")[0])
        style = getattr(module, "paramstyle", None)
        if isinstance(style, str):
            return style
    raise Refused(
        f"{type(connection).__name__} is no connection of SQLAlchemy or of a DB-API driver",
        fix="Give the connection itself, as sqlite3.connect, psycopg.connect or engine.connect make it.",
    )
