"""SQLite: one file, one thread that writes and one that reads.

One idea: a connection never leaves the thread that opened it. In WAL mode readers do not wait for the writer,
so that a long listing does not hold up a commit. `synchronous=FULL` makes a commit durable before it is
answered; `NORMAL`, for what may be lost with the power, leaves that to the next one that is.

A reserve file beside the database keeps some room aside for changes that make room on a full disk, and only for them.
"""

import asyncio
import contextlib
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

import sqlalchemy as sa

from braidmq.model.errors import StoreFailed
from braidmq.store._address import SqliteAddress
from braidmq.store._database import DRIVER_ERRORS, Work

BUSY_TIMEOUT_MS = 10_000
"""How long a statement waits for another process that holds the file, a backup for instance."""
CACHE_KIB = 8192
"""How much of the file each connection keeps in memory, at most."""
WAL_PAGES = 4000
"""How long the write-ahead log grows before its pages go to the file: those that change again and again go once."""

RESERVE_SUFFIX = "-reserve"
RESERVE_BYTES = 1 << 20
"""More than deleting a topic takes, whatever must be rewritten for it."""

T = TypeVar("T")


class SqliteDatabase:
    """See `Database`."""

    driver_errors: Final = DRIVER_ERRORS

    def __init__(self, address: SqliteAddress) -> None:
        self._writing = _ConnectionThread(address.path, "BEGIN IMMEDIATE")
        self._reading = _ConnectionThread(address.path, "BEGIN")
        self._reserve = _Reserve(Path(address.path + RESERVE_SUFFIX))

    @classmethod
    async def connect(cls, address: SqliteAddress) -> "SqliteDatabase":
        database = cls(address)
        try:
            await database.write(_use_wal)
            await database._set_reserve_aside()
        except BaseException:
            await database.close()
            raise
        return database

    async def write(self, work: Work[T], *, synced: bool = True) -> T:
        done = await self._writing.run(work, synced=synced)
        if not self._reserve.is_there:
            await self._set_reserve_aside()
        return done

    async def _set_reserve_aside(self) -> None:
        await self._writing.run(lambda _: self._reserve.set_aside())

    async def make_room(self) -> None:
        self._reserve.give_up()
        with contextlib.suppress(*self.driver_errors):  # it helps where it can
            await self._writing.run(_empty_wal)

    async def read(self, work: Work[T]) -> T:
        def in_transaction(connection: sa.Connection) -> T:
            with connection.begin():
                return work(connection)

        return await self._reading.run(in_transaction)

    async def listen(self, channel: str, heard: Callable[[], None]) -> None:  # noqa: ARG002
        """A SQLite file has one node, and that one hears of its own changes from the writer."""
        await asyncio.Event().wait()

    async def close(self) -> None:
        await self._reading.close()
        await self._writing.close()


class _Reserve:
    """A file that only takes room."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.is_there = False

    def set_aside(self) -> None:
        """Make it; not on a disk that has no room to spare."""
        try:
            if not self._path.exists() or self._path.stat().st_size != RESERVE_BYTES:
                if shutil.disk_usage(self._path.parent).free < 2 * RESERVE_BYTES:
                    return
                self._path.write_bytes(bytes(RESERVE_BYTES))
            self.is_there = True
        except OSError:
            self.give_up()

    def give_up(self) -> None:
        self.is_there = False
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)


class _ConnectionThread:
    """A thread and the connection that lives in it, opened by the first use."""

    def __init__(self, path: str, begin: str) -> None:
        self._engine = _create_engine(path, begin)
        self._connection: sa.Connection | None = None
        self._synced = True
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store-sqlite")

    async def run(self, work: Work[T], *, synced: bool = True) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._run, work, synced)

    def _run(self, work: Work[T], synced: bool) -> T:
        if self._connection is None:
            self._connection = self._engine.connect()
            self._synced = True
        try:
            if synced is not self._synced:
                _sync_commits(self._connection, synced=synced)
                self._synced = synced
            return work(self._connection)
        except BaseException:
            # Whatever state this left the transaction in, closing ends it, and the next use opens a clean one.
            self._disconnect()
            raise

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._disconnect)
        self._thread.shutdown()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _create_engine(path: str, begin: str) -> sa.Engine:
    engine = sa.create_engine(
        sa.URL.create("sqlite+pysqlite", database=path), poolclass=sa.NullPool, hide_parameters=True
    )

    def prepare(connection: Any, _record: object) -> None:
        # sqlite3 begins transactions too late and not for every statement, so it must not begin any.
        connection.isolation_level = None
        connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        # Some builds write zeroes over what is deleted: twice the writes for messages that go as they came.
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")

    def begin_transaction(connection: sa.Connection) -> None:
        connection.exec_driver_sql(begin)

    sa.event.listen(engine, "connect", prepare)
    sa.event.listen(engine, "begin", begin_transaction)
    return engine


def _sync_commits(connection: sa.Connection, *, synced: bool) -> None:
    """Not within a transaction. A commit that is not synced is on the disk with the next one that is."""
    driver: Any = connection.connection.driver_connection
    driver.execute(f"PRAGMA synchronous = {'FULL' if synced else 'NORMAL'}")


def _empty_wal(connection: sa.Connection) -> None:
    """Bring what is in the write-ahead log to the database, and cut it: what it had taken is room for others."""
    driver: Any = connection.connection.driver_connection
    driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _use_wal(connection: sa.Connection) -> None:
    """WAL is a property of the file, and cannot be set in a transaction."""
    driver: Any = connection.connection.driver_connection
    (mode,) = driver.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StoreFailed("SQLite cannot share memory with its file there; put the database on a local disk")
