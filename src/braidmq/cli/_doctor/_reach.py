"""What the node reaches for: its ports and its database."""

import asyncio
import contextlib
import fcntl
import sqlite3
from pathlib import Path

from braidmq.model.errors import ListenFailed
from braidmq.model.finding import Finding, fail, ok
from braidmq.protocols.listener import Address, bind
from braidmq.settings import Settings, redact_url

_CONNECT_TIMEOUT_S = 5.0
_SQLITE = "sqlite:///"


def check_ports(settings: Settings) -> list[Finding]:
    """One finding for each listener that is turned on."""
    chosen = [(name, address) for name, addresses in settings.listen.items() for address in addresses]
    return [asyncio.run(_check_port(name, address, settings.node.data)) for name, address in chosen]


async def _check_port(name: str, address: Address, data: Path) -> Finding:
    try:
        sockets = await bind(name, address)
    except ListenFailed as error:
        if owner := _running_node(data):
            return ok(f"{name} port", f"{address} is in use, and a node runs in this data folder: {owner}")
        return fail(f"{name} port", error.message, "or stop what listens there")
    for listening in sockets:
        listening.close()
    return ok(f"{name} port", f"{address} is free")


def _running_node(data: Path) -> str:
    """Who holds the log of this data folder; nothing where nobody does. The lock is only tried."""
    with contextlib.suppress(OSError), (data / "log" / "lock").open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return file.read().strip() or "an unknown process"
    return ""


def check_database(settings: Settings) -> Finding:
    """Reachable, and answering. Nothing is changed in it."""
    url = settings.store_url
    if url.startswith(_SQLITE):
        return _check_sqlite(Path(url.removeprefix(_SQLITE)))
    return asyncio.run(_check_postgresql(url))


def _check_sqlite(file: Path) -> Finding:
    if not file.exists():
        return ok("database", f"{file} (will be made)")
    try:
        opening = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=_CONNECT_TIMEOUT_S)
        with contextlib.closing(opening) as connection:
            connection.execute("PRAGMA schema_version").fetchone()
    except sqlite3.Error as error:
        return fail("database", f"{file}: {error}", "put back a copy of the data folder, or name another in store.url")
    return ok("database", str(file))


async def _check_postgresql(url: str) -> Finding:
    import asyncpg

    shown = redact_url(url)
    try:
        connection = await asyncpg.connect(url, timeout=_CONNECT_TIMEOUT_S)
        try:
            version = await connection.fetchval("SHOW server_version", timeout=_CONNECT_TIMEOUT_S)
        finally:
            await connection.close(timeout=_CONNECT_TIMEOUT_S)
    except (OSError, TimeoutError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        why = str(error) or type(error).__name__
        return fail("database", f"{shown}: {why}", "see that the server runs there and lets this user in")
    return ok("database", f"{shown}, PostgreSQL {version}")
