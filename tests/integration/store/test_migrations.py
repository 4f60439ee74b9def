"""A database comes to the schema that the code expects, from wherever it was, and from nowhere else."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from typing import TypeVar

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from braidmq.model import DEFAULT_INSTANCE, Group, Subscription
from braidmq.model.errors import StoreFailed
from braidmq.store import Catalog, Store, _schema, _store, _tables
from braidmq.store._address import parse_address

T = TypeVar("T")

Described = dict[str, dict[str, object]]

PREVIOUS = "0001"


async def in_transaction(url: str, work: Callable[[sa.Connection], T]) -> T:
    """Run the work without the migration that `Store.open` would do first."""

    def run(connection: sa.Connection) -> T:
        with connection.begin():
            return work(connection)

    database = await _store._connect(parse_address(url))
    try:
        return await database.write(run)
    finally:
        await database.close()


def set_revision(revision: str) -> Callable[[sa.Connection], None]:
    def work(connection: sa.Connection) -> None:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})

    return work


async def differences(store: Store) -> list[object]:
    return await store.read(
        lambda connection: compare_metadata(
            MigrationContext.configure(connection, opts={"compare_type": True}), _tables.metadata
        )
    )


def described(connection: sa.Connection) -> Described:
    """Everything that the database itself knows of its tables, and what is in them."""
    inspector = sa.inspect(connection)
    found = sa.MetaData()
    found.reflect(connection)
    return {
        table.name: {
            "columns": [repr(column) for column in inspector.get_columns(table.name)],
            # By its columns: some migrations left the naming of it to the database, and nothing refers to the name.
            "primary key": inspector.get_pk_constraint(table.name)["constrained_columns"],
            "foreign keys": sorted(map(repr, inspector.get_foreign_keys(table.name))),
            "unique": sorted(map(repr, inspector.get_unique_constraints(table.name))),
            "indexes": sorted(map(repr, inspector.get_indexes(table.name))),
            "rows": sorted(map(tuple, connection.execute(sa.select(table)))),
        }
        for table in found.sorted_tables
    }


def test_the_revision_that_the_code_expects_is_the_newest_migration() -> None:
    config = Config()
    config.set_main_option("script_location", _schema._MIGRATIONS)
    config.set_main_option("path_separator", "os")
    assert ScriptDirectory.from_config(config).get_current_head() == _schema.SCHEMA_REVISION


async def test_an_empty_database_is_migrated_to_the_tables_that_the_code_knows(store: Store) -> None:
    assert await store.read(_schema.stored_revision) == _schema.SCHEMA_REVISION
    assert await differences(store) == []


async def test_an_empty_database_is_given_at_once_what_all_migrations_would_leave(database_url: str) -> None:
    migrated: list[Described] = []

    def migrate_and_take_back(connection: sa.Connection) -> None:
        with connection.begin_nested() as trying:
            _schema.upgrade(connection, _schema.SCHEMA_REVISION)
            migrated.append(described(connection))
            trying.rollback()

    await in_transaction(database_url, migrate_and_take_back)
    store = await Store.open(database_url)
    assert [await store.read(described)] == migrated
    await store.close()


async def test_a_database_with_tables_of_unknown_origin_is_refused_and_left_alone(database_url: str) -> None:
    await in_transaction(
        database_url, lambda connection: connection.execute(sa.text("CREATE TABLE topics (mine INTEGER)"))
    )
    with pytest.raises(StoreFailed, match="topics"):
        await Store.open(database_url)
    names = await in_transaction(database_url, lambda connection: sa.inspect(connection).get_table_names())
    assert names == ["topics"]


async def test_a_database_of_the_previous_version_is_migrated_and_keeps_what_it_holds(database_url: str) -> None:
    def previous_version(connection: sa.Connection) -> None:
        _schema.upgrade(connection, PREVIOUS)
        connection.execute(
            sa.insert(_tables.groups).values(
                instance=DEFAULT_INSTANCE, name="g", broadcast=False, ordered=True, attempts_max=4, settings={}
            )
        )

    await in_transaction(database_url, previous_version)
    store = await Store.open(database_url)
    catalog = await Catalog.open(store)
    assert await store.read(_schema.stored_revision) == _schema.SCHEMA_REVISION
    assert await differences(store) == []
    assert list(catalog.groups()) == [Group(name="g", ordered=True, attempts_max=4)]
    await catalog.save_subscription(Subscription(group="g", topic="t"))
    await store.close()


async def test_a_database_that_newer_code_has_migrated_is_refused(database_url: str) -> None:
    await (await Store.open(database_url)).close()
    await in_transaction(database_url, set_revision("0999"))
    with pytest.raises(StoreFailed, match="schema 0999, but this version of BraidMQ knows only up to"):
        await Store.open(database_url)


async def test_a_database_with_a_schema_of_unknown_origin_is_refused(database_url: str) -> None:
    await (await Store.open(database_url)).close()
    await in_transaction(database_url, set_revision("0000x"))
    with pytest.raises(StoreFailed, match="cannot be migrated to schema"):
        await Store.open(database_url)


async def test_a_migration_that_fails_leaves_the_database_as_it_was(database_url: str) -> None:
    def in_the_way(connection: sa.Connection) -> None:
        _schema.upgrade(connection, PREVIOUS)
        connection.execute(sa.text("CREATE TABLE settings (mine INTEGER)"))

    await in_transaction(database_url, in_the_way)
    with pytest.raises(StoreFailed, match="settings"):
        await Store.open(database_url)
    assert await in_transaction(database_url, _schema.stored_revision) == PREVIOUS
    has_subscriptions = await in_transaction(
        database_url, lambda connection: sa.inspect(connection).has_table("subscriptions")
    )
    assert not has_subscriptions


async def test_nodes_that_start_together_migrate_once(database_url: str) -> None:
    stores = await asyncio.gather(*(Store.open(database_url) for _ in range(5)))
    for store in stores:
        assert await store.read(_schema.stored_revision) == _schema.SCHEMA_REVISION
        await store.close()


async def test_processes_that_start_together_migrate_once(database_url: str) -> None:
    program = (
        "import asyncio, sys; from braidmq.store import Store\n"
        "async def main(): await (await Store.open(sys.argv[1])).close()\n"
        "asyncio.run(main())"
    )
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, database_url, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        for _ in range(3)
    ]
    outputs = await asyncio.gather(*(process.communicate() for process in processes))
    assert [process.returncode for process in processes] == [0, 0, 0], outputs


@pytest.mark.parametrize("is_new", [True, False])
async def test_alembic_is_not_loaded_for_a_database_that_is_new_or_up_to_date(database_url: str, is_new: bool) -> None:
    if not is_new:
        await (await Store.open(database_url)).close()
    program = (
        "import asyncio, sys; from braidmq.store import Catalog, Store\n"
        "async def main():\n"
        "    store = await Store.open(sys.argv[1]); await Catalog.open(store); await store.close()\n"
        "asyncio.run(main()); print('alembic' in sys.modules)"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, database_url, stdout=subprocess.PIPE)
    output, _ = await process.communicate()
    assert output.split() == [b"False"]
