"""Reading a database address. What is shown of it, in errors and in the log, never holds the password."""

import msgspec
import sqlalchemy as sa

from braidmq.model.errors import StoreFailed

_SQLITE = "sqlite://"
_POSTGRESQL = ("postgresql", "postgres")
_EXAMPLES = "use sqlite:////absolute/path/braid.db or postgresql://user:password@host:5432/database"

# By the names that libpq gives them, and what asyncpg calls the same.
_POSTGRESQL_OPTIONS = {"host": "host", "sslmode": "ssl"}


class SqliteAddress(msgspec.Struct, frozen=True):
    """A file of this machine."""

    path: str

    def __str__(self) -> str:
        return f"{_SQLITE}/{self.path}"


class PostgresAddress(msgspec.Struct, frozen=True):
    """A database of a PostgreSQL server."""

    url: sa.URL

    def __str__(self) -> str:
        return self.url.set(drivername="postgresql").render_as_string(hide_password=True)


Address = SqliteAddress | PostgresAddress


def parse_address(text: str) -> Address:
    """Raises StoreFailed with the fix for an address that is not one."""
    if text.startswith(_SQLITE):
        return _sqlite(text)
    try:
        url = sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError):
        # The cause is left out on purpose: its message holds the whole address, password included.
        raise StoreFailed(f"the database address cannot be read; {_EXAMPLES}") from None
    if url.drivername not in _POSTGRESQL:
        raise StoreFailed(f"a database of the kind {url.drivername!r} is not supported; {_EXAMPLES}")
    return _postgresql(url)


def _sqlite(text: str) -> SqliteAddress:
    path = text.removeprefix(f"{_SQLITE}/")
    if not path.startswith("/") or path.endswith("/"):
        raise StoreFailed(
            f"the database address {text!r} does not name an absolute path; {_SQLITE}//data/braid.db, "
            "with four slashes, is the file /data/braid.db"
        )
    return SqliteAddress(path)


def _postgresql(url: sa.URL) -> PostgresAddress:
    unknown = sorted(set(url.query) - set(_POSTGRESQL_OPTIONS))
    if unknown:
        known = ", ".join(_POSTGRESQL_OPTIONS)
        raise StoreFailed(f"the database address has the unknown option {unknown[0]!r}; known are {known}")
    if not url.database:
        raise StoreFailed(f"the database address names no database; {_EXAMPLES}")
    options = {_POSTGRESQL_OPTIONS[name]: value for name, value in url.query.items()}
    return PostgresAddress(url.set(drivername="postgresql+asyncpg", query=options))
