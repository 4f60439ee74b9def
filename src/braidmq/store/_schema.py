"""Bringing a database to the schema that this code expects.

One idea: an up-to-date database is recognised by comparing one text with SCHEMA_REVISION, and an empty one is given
the tables as they are today, so that alembic, which is slow to import, is only loaded where an older version left
something to migrate. Tests hold the constant equal to alembic's newest revision, and what is made at once equal to what
all migrations leave.
"""

import threading

import sqlalchemy as sa

from braidmq.logger import get_logger
from braidmq.model.errors import StoreFailed
from braidmq.store import _tables

SCHEMA_REVISION = "0010"
"""The newest migration. Revisions are numbers of four digits, so that they compare as texts."""

_MIGRATIONS = "braidmq.store:migrations"
_ADVISORY_LOCK = 0x42524149444D51  # "BRAIDMQ": any number that no other user of the database takes

_VERSION = sa.Table(
    "alembic_version",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
"""Alembic's own table, as it would make it."""

alembic_in_use = threading.Lock()
"""Alembic keeps the current migration in module globals: one migration at a time in a process."""

log = get_logger(__name__)


def stored_revision(connection: sa.Connection) -> str | None:
    """The database's schema revision; None while it is empty. Raises StoreFailed for one that newer code has made."""
    if not sa.inspect(connection).has_table(_VERSION.name):
        return None
    revision = connection.execute(sa.select(_VERSION.c.version_num)).scalar_one_or_none()
    if revision is not None and revision > SCHEMA_REVISION:
        raise StoreFailed(
            f"the database has schema {revision}, but this version of BraidMQ knows only up to {SCHEMA_REVISION}: "
            "start the newer version again, or restore the backup from before the upgrade"
        )
    return revision


def migrate(connection: sa.Connection) -> None:
    """Migrate in the transaction that is open on this connection; nothing to do where another node was first."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
    before = stored_revision(connection)
    if before is None:
        create(connection)
    elif before != SCHEMA_REVISION:
        upgrade(connection, SCHEMA_REVISION)
        log.info("store_migrated", before=before, after=SCHEMA_REVISION)


def create(connection: sa.Connection) -> None:
    """Make all tables at once, inside the connection's transaction; none of them may be there."""
    _tables.metadata.create_all(connection, checkfirst=False)
    for table, rows in _tables.FIRST_ROWS.items():
        connection.execute(sa.insert(table), rows)
    _VERSION.create(connection, checkfirst=True)
    connection.execute(sa.insert(_VERSION).values(version_num=SCHEMA_REVISION))


def upgrade(connection: sa.Connection, revision: str) -> None:
    """Run alembic up to the revision, inside the connection's transaction."""
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", _MIGRATIONS)
    config.set_main_option("path_separator", "os")
    try:
        command.upgrade(config, revision)
    except CommandError as error:
        raise StoreFailed(f"the database cannot be migrated to schema {revision}: {error}") from error
