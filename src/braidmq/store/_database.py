"""What a database of either kind does for the store: run synchronous Core statements away from the event
loop.

One idea: work is a plain function of a SQLAlchemy connection. SQLite runs it in a thread of its own;
PostgreSQL runs it in a greenlet that gives the loop back at every round trip. So every statement is written
once, for both.
"""

import sqlite3
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

import sqlalchemy as sa

from braidmq.model.errors import StoreFailed, StoreFull

T = TypeVar("T")

Work = Callable[[sa.Connection], T]

_SQLITE_FULL: Final = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)
_POSTGRESQL_FULL: Final = "53100"


DRIVER_ERRORS: tuple[type[Exception], ...] = (sa.exc.SQLAlchemyError, OSError)
"""What either driver may raise; a broken or silent connection is an OSError or a TimeoutError, which is one."""


class Database(Protocol):
    """Raises what the driver raises; `store_failure` turns that into an error of the house."""

    @property
    def driver_errors(self) -> tuple[type[Exception], ...]: ...

    async def write(self, work: Work[T], *, synced: bool = True) -> T:
        """Run the work on the connection for writing; the work begins and commits the transaction. Unsynced, what it
        commits may be lost with the power."""
        ...

    async def make_room(self) -> None:
        """The disk is full, and what is written next makes more room: give it what little was set aside."""
        ...

    async def read(self, work: Work[T]) -> T:
        """Run the work in a transaction that sees one moment and writes nothing."""
        ...

    async def listen(self, channel: str, heard: Callable[[], None]) -> None:
        """Call `heard` whenever others may have said something on the channel. Runs until it is cancelled."""
        ...

    async def close(self) -> None:
        """Let go of threads and connections."""
        ...


def store_failure(error: Exception, address: object, fix: str = "") -> StoreFailed:
    """A StoreFailed that says what the driver's error says, caused by it. Parameters are never part of it."""
    kind = StoreFull if is_full(error) else StoreFailed
    if isinstance(error, StoreFailed):
        said = error.message
    elif kind is StoreFull:
        said = f"the disk of the database {address} is full: nothing was changed"
    else:
        said = f"the database {address} failed: {first_line(error)}"
    shown = kind(f"{said}; {fix}" if fix else said)
    shown.__cause__ = error
    return shown


def is_full(error: Exception) -> bool:
    """Whether there was no room for it, so that nothing was changed."""
    if isinstance(error, StoreFull):
        return True
    cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
    return (
        getattr(cause, "sqlite_errorcode", None) in _SQLITE_FULL or getattr(cause, "sqlstate", None) == _POSTGRESQL_FULL
    )


def first_line(error: Exception) -> str:
    """What the driver says, without SQLAlchemy's statement and links."""
    cause = error.orig if isinstance(error, sa.exc.DBAPIError) and error.orig else error
    lines = str(cause).strip().splitlines()
    return lines[0] if lines else type(cause).__name__
