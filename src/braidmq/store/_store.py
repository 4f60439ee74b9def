"""The store: metadata and small mutable state in a database, SQLite or PostgreSQL, behind two calls.

One idea: callers bring their statements as a function of a SQLAlchemy connection. `write` carries it out
together with all others that arrived, and answers after the commit; `read` sees one committed moment. Neither
ever blocks the event loop.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import sqlalchemy as sa

from braidmq.model.errors import StoreFailed
from braidmq.store import _schema
from braidmq.store._address import Address, SqliteAddress, parse_address
from braidmq.store._database import DRIVER_ERRORS, Database, Work, store_failure
from braidmq.store._watch import Watch
from braidmq.store._writer import Writer

ALEMBIC_RETRY_S = 0.01

T = TypeVar("T")


class Store:
    """Made by `open`. Every error is a StoreFailed, or what the caller's own function raised."""

    def __init__(self, database: Database, address: Address) -> None:
        self._database = database
        self._address = address
        self._writer = Writer(database, address)
        self._watches: list[Watch] = []
        self._closed = False

    @classmethod
    async def open(cls, url: str) -> "Store":
        """Connect, and migrate the schema where that is needed.

        Raises StoreFailed for an address that is wrong or does not answer, and for a database that newer code
        has migrated.
        """
        address = parse_address(url)
        database = await _connect(address)
        try:
            await _migrate(database, address)
        except BaseException:
            await database.close()
            raise
        return cls(database, address)

    @property
    def is_shared(self) -> bool:
        """Whether other nodes may use it at the same time; a SQLite file has only the one."""
        return not isinstance(self._address, SqliteAddress)

    @property
    def commits(self) -> int:
        """How many transactions `write` has committed."""
        return self._writer.commits

    async def write(
        self,
        work: Work[T],
        committed: Callable[[T], None] | None = None,
        *,
        synced: bool = True,
        frees: bool = False,
    ) -> T:
        """Carry out the work in a transaction; its result comes back once that is committed and durable. What need not
        outlive a loss of power, but only of the process, may go unsynced where the database knows that: it costs less.
        What `frees` room, directly or by what follows it, is still done on a disk that is full: there the work runs a
        second time, so that it must only compute and write.

        `committed` is called with the result right after the commit, before any later write's, even when the
        caller was cancelled meanwhile; it must not raise. A caller cancelled before its work began has
        changed nothing. Raises StoreFailed, and of its kinds StoreFull where nothing was changed for want of room;
        where a commit was not confirmed it says so, and the change may have been kept.
        """
        return await self._writer.write(work, committed, synced=synced, frees=frees)

    async def read(self, work: Work[T]) -> T:
        """Carry out work that only reads; it sees all that was committed before, and one moment throughout."""
        if self._closed:
            raise StoreFailed(f"the store {self._address} is closed")
        try:
            return await self._database.read(work)
        except self._database.driver_errors as error:
            raise store_failure(error, self._address) from error

    def watch(self, channel: str, look: Callable[[], Awaitable[None]]) -> Watch:
        """Call `look` after every wake, and when another node announces on the channel; ends with the store."""
        watch = Watch(self._database, channel, look)
        self._watches.append(watch)
        return watch

    async def close(self) -> None:
        """Carry out the writes that were accepted, then let go of the database. Doing it again changes nothing."""
        if self._closed:
            return
        self._closed = True
        for watch in self._watches:
            await watch.close()
        await self._writer.close()
        await self._database.close()


def announce(connection: sa.Connection, channel: str) -> None:
    """Wake the watches of all nodes once this transaction is committed. A SQLite file has only the one node."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_notify(channel, "")))


async def _connect(address: Address) -> Database:
    if isinstance(address, SqliteAddress):
        from braidmq.store._sqlite import SqliteDatabase

        connecting: Awaitable[Database] = SqliteDatabase.connect(address)
        fix = "it must be a SQLite file, or a new one in a folder that exists and is writable"
    else:
        from braidmq.store._postgres import PostgresDatabase

        connecting = PostgresDatabase.connect(address)
        fix = "see that the server runs there and lets this user in"
    try:
        return await connecting
    except Exception as error:  # whatever a driver raises while connecting, the address is what the user can mend
        raise store_failure(error, address, fix) from error


async def _migrate(database: Database, address: Address) -> None:
    try:
        if await database.read(_schema.stored_revision) == _schema.SCHEMA_REVISION:
            return
        while not _schema.alembic_in_use.acquire(blocking=False):  # noqa: ASYNC110 - held by threads and loops alike
            await asyncio.sleep(ALEMBIC_RETRY_S)
        try:
            await database.write(_in_transaction)
        finally:
            _schema.alembic_in_use.release()
    except DRIVER_ERRORS as error:
        raise store_failure(error, address) from error


def _in_transaction(connection: sa.Connection) -> None:
    with connection.begin():
        _schema.migrate(connection)
