"""PostgreSQL, through asyncpg.

One idea: a connection is tried before it is used (`pool_pre_ping`), so that one that died while idle is
replaced unseen; one that dies in use fails what was running on it, and is never tried again behind the
caller's back.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any, Final, TypeVar

import asyncpg
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from braidmq.logger import get_logger
from braidmq.store._address import PostgresAddress
from braidmq.store._database import DRIVER_ERRORS, Work, store_failure

CONNECTIONS_MAX = 6
CONNECT_TIMEOUT_S = 10.0
STATEMENT_TIMEOUT_S = 60.0
LISTEN_CHECK_S = 10.0
"""How often a listening connection is tried: a connection can die without a word."""
RECONNECT_DELAY_S = 0.5

T = TypeVar("T")

log = get_logger(__name__)


class PostgresDatabase:
    """See `Database`."""

    driver_errors: Final = (*DRIVER_ERRORS, asyncpg.PostgresError, asyncpg.InterfaceError)

    def __init__(self, address: PostgresAddress) -> None:
        self._address = address
        self._engine = _create_engine(address, pool_size=CONNECTIONS_MAX, max_overflow=0, pool_pre_ping=True)
        # A listening connection is held for ever, and must not be one less for those who read and write.
        self._listening = _create_engine(address, poolclass=sa.NullPool)
        self._reading = self._engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    @classmethod
    async def connect(cls, address: PostgresAddress) -> "PostgresDatabase":
        database = cls(address)
        try:
            async with database._engine.connect():
                return database
        except BaseException:
            await database.close()
            raise

    async def write(self, work: Work[T], *, synced: bool = True) -> T:  # noqa: ARG002 - whatever the server is set to
        async with self._engine.connect() as connection:
            return await connection.run_sync(work)

    async def make_room(self) -> None:
        """The server's disk is the server's business."""

    async def read(self, work: Work[T]) -> T:
        async with self._reading.connect() as connection:
            return await connection.run_sync(work)

    async def listen(self, channel: str, heard: Callable[[], None]) -> None:
        """LISTEN for ever. After every reconnect, and at every check, `heard` is called for what was missed."""
        while True:
            try:
                async with self._driver_connection() as driver:
                    await _listen_until_lost(driver, channel, heard)
            except Exception as error:  # reported and tried again: a listener that ended would never be missed
                log.warning("store_listener_lost", error=str(store_failure(error, self._address)))
            await asyncio.sleep(RECONNECT_DELAY_S)

    async def close(self) -> None:
        await self._engine.dispose()
        await self._listening.dispose()

    @contextlib.asynccontextmanager
    async def _driver_connection(self) -> AsyncIterator[Any]:
        """A connection as asyncpg knows it."""
        async with self._listening.connect() as connection:
            yield (await connection.get_raw_connection()).driver_connection


async def _listen_until_lost(driver: Any, channel: str, heard: Callable[[], None]) -> None:
    lost = asyncio.Event()
    driver.add_termination_listener(lambda _driver: lost.set())
    await driver.add_listener(channel, lambda *_notice: heard())
    while not lost.is_set():
        heard()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LISTEN_CHECK_S):  # unlike `wait_for` it never loses a cancellation
                await lost.wait()
        await driver.execute("SELECT 1", timeout=CONNECT_TIMEOUT_S)


def _create_engine(address: PostgresAddress, **pool: Any) -> AsyncEngine:
    arguments = {
        "timeout": CONNECT_TIMEOUT_S,
        "command_timeout": STATEMENT_TIMEOUT_S,
        # A node that stands still in a transaction holds locks that others wait for; the server then ends it.
        "server_settings": {
            "application_name": "braidmq",
            "idle_in_transaction_session_timeout": str(int(STATEMENT_TIMEOUT_S * 1000)),
        },
    }
    return create_async_engine(address.url, connect_args=arguments, hide_parameters=True, **pool)
