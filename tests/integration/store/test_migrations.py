"""A database comes to the schema that the code expects, from wherever it was, and from nowhere else."""

import ast
import asyncio
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from braidmq.model import DEFAULT_INSTANCE, Group, Subscription, TopicKind
from braidmq.model.errors import StoreFailed
from braidmq.store import Catalog, Store, _schema, _store, _tables
from braidmq.store._address import parse_address

T = TypeVar("T")

Described = dict[str, dict[str, object]]

FIRST = "0001"
EARLIER = [f"{number:04}" for number in range(1, int(_schema.SCHEMA_REVISION))]
"""Every revision that there was before, the previous one last."""
ADDITIVE = {"create_table", "create_index", "add_column", "bulk_insert"}
"""What a migration may do: an older node that still runs finds all that it knows."""

# What these columns hold must mean something to those who read it; of the others only that it stays is of interest.
MEANINGFUL: dict[str, dict[str, object]] = {
    "topics": {"kind": "fifo", "retention_ms": 60_000, "retention_bytes": -1, "deleting": False},
    "partitions": {"index": 0},
    "groups": {"attempts_max": 4},
    "quotas": {"limits": {"published_bytes_per_s": 1024.0}},
    "scram_credentials": {"mechanism": "SCRAM-SHA-256"},
    "subscriptions": {"filter_kind": "all", "expression": "a || b", "event_code": ""},
}
VALUES: dict[type, object] = {
    str: "früher",
    int: 7,
    bool: True,
    bytes: b"\x00earlier\xff",
    object: {"braid.test": "20ms"},  # JSON
    UUID: UUID(int=77),
}


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


def fill(connection: sa.Connection) -> dict[str, list[dict[str, object]]]:
    """Put a row into every table that there is; all rows of each, by the columns that it has now."""
    present = sa.inspect(connection)
    rows: dict[str, dict[str, object]] = {}
    for table in _tables.metadata.sorted_tables:
        if not present.has_table(table.name):
            continue
        names = {column["name"] for column in present.get_columns(table.name)}
        row = {name: VALUES[table.c[name].type.python_type] for name in names} | MEANINGFUL.get(table.name, {})
        for key in table.foreign_keys:
            row[key.parent.name] = rows[key.column.table.name][key.column.name]
        connection.execute(sa.insert(table), row)
        rows[table.name] = row
    return {name: kept(connection, name, set(row)) for name, row in rows.items()}


def kept(connection: sa.Connection, name: str, columns: set[str]) -> list[dict[str, object]]:
    table = _tables.metadata.tables[name]
    found = connection.execute(sa.select(*(table.c[column] for column in sorted(columns)))).mappings()
    return sorted(map(dict, found), key=repr)


def test_migrations_only_add() -> None:
    calls = {
        (source.name, node.func.attr)
        for source in (Path(_schema.__file__).parent / "migrations" / "versions").glob("*.py")
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "op"
    }
    assert {name[:4] for name, _ in calls} == {*EARLIER, _schema.SCHEMA_REVISION}
    assert {(name, call) for name, call in calls if call not in ADDITIVE} == set()


@pytest.mark.parametrize("revision", EARLIER)
async def test_a_database_of_any_earlier_version_keeps_every_row_of_every_table(
    database_url: str, revision: str
) -> None:
    def earlier_version(connection: sa.Connection) -> dict[str, list[dict[str, object]]]:
        _schema.upgrade(connection, revision)
        return fill(connection)

    before = await in_transaction(database_url, earlier_version)
    assert len(before) >= len(EARLIER[: int(revision)]), "each migration has brought a table at least"
    store = await Store.open(database_url)
    try:
        assert await store.read(_schema.stored_revision) == _schema.SCHEMA_REVISION
        assert await differences(store) == []
        for name, rows in before.items():
            columns = set(rows[0])
            now = await store.read(partial(kept, name=name, columns=columns))
            assert [row for row in rows if row not in now] == [], name
        catalog = await Catalog.open(store)
        (topic,) = catalog.topics()
        assert (topic.name, topic.kind, topic.partition_numbers) == ("früher", TopicKind.FIFO, (7,))
        assert [group.attempts_max for group in catalog.groups()] == [4]
        grown = await catalog.expand_topic(topic.id, 2)
        assert len(grown.partition_numbers) == 2
    finally:
        await store.close()


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


async def test_a_database_of_the_first_version_is_migrated_and_keeps_what_it_holds(database_url: str) -> None:
    def first_version(connection: sa.Connection) -> None:
        _schema.upgrade(connection, FIRST)
        connection.execute(
            sa.insert(_tables.groups).values(
                instance=DEFAULT_INSTANCE, name="g", broadcast=False, ordered=True, attempts_max=4, settings={}
            )
        )

    await in_transaction(database_url, first_version)
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
        _schema.upgrade(connection, FIRST)
        connection.execute(sa.text("CREATE TABLE settings (mine INTEGER)"))

    await in_transaction(database_url, in_the_way)
    with pytest.raises(StoreFailed, match="settings"):
        await Store.open(database_url)
    assert await in_transaction(database_url, _schema.stored_revision) == FIRST
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
