"""What is SQLite's own: durability, its threads, and a disk that is full."""

import asyncio
import os
import sqlite3
import threading
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa

from braidmq.model.errors import StoreFailed, StoreFull
from braidmq.store import Catalog, Store, _sqlite, _writer


def pragma(connection: sa.Connection, name: str) -> object:
    return connection.execute(sa.text(f"PRAGMA {name}")).scalar_one()


async def test_a_commit_is_durable_and_references_are_held(store: Store) -> None:
    for call in (store.write, store.read):
        assert await call(lambda connection: pragma(connection, "journal_mode")) == "wal"
        assert await call(lambda connection: pragma(connection, "synchronous")) == 2
        assert await call(lambda connection: pragma(connection, "foreign_keys")) == 1


async def test_a_closed_store_leaves_no_thread_and_a_file_that_is_whole(tmp_path: Path, url: str) -> None:
    before = threading.active_count()
    store = await Store.open(url)
    await Catalog.open(store)
    await store.close()
    assert threading.active_count() == before
    assert sorted(os.listdir(tmp_path)) == ["store.db", "store.db-reserve"]


async def test_a_store_that_cannot_be_opened_leaves_no_thread(tmp_path: Path) -> None:
    before = threading.active_count()
    (tmp_path / "text.db").write_text("this is no database, however long the text may be " * 100)
    (tmp_path / "folder.db").mkdir()
    for name in ("missing/store.db", "text.db", "folder.db"):
        with pytest.raises(StoreFailed, match="in a folder that exists and is writable"):
            await Store.open(f"sqlite:///{tmp_path}/{name}")
    assert threading.active_count() == before


async def test_a_full_disk_fails_what_does_not_fit_and_keeps_what_was_answered(store: Store) -> None:
    def limit(connection: sa.Connection) -> None:
        connection.execute(sa.text("CREATE TABLE things (body BLOB)"))
        pages = pragma(connection, "page_count")
        connection.execute(sa.text(f"PRAGMA max_page_count = {pages}"))

    def insert(size_bytes: int, connection: sa.Connection) -> int:
        connection.execute(sa.text("INSERT INTO things VALUES (zeroblob(:size))"), {"size": size_bytes})
        return size_bytes

    await store.write(limit)
    sizes = [10, 1_000_000, 20, 2_000_000, 30]
    results = await asyncio.gather(
        *(store.write(partial(insert, size_bytes)) for size_bytes in sizes), return_exceptions=True
    )
    answered = [result for result in results if not isinstance(result, BaseException)]
    assert [type(result) for result in (results[1], results[3])] == [StoreFull, StoreFull]
    assert "full" in str(results[1])
    kept = await store.read(
        lambda connection: connection.execute(sa.text("SELECT length(body) FROM things")).scalars().all()
    )
    assert kept == answered
    assert await store.write(partial(insert, 40)) == 40


async def test_a_file_that_another_process_holds_is_waited_for_and_then_refused(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_sqlite, "BUSY_TIMEOUT_MS", 20)
    store = await Store.open(url)
    holder = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreFailed, match="locked"):
        await store.write(lambda _: None)
    holder.execute("ROLLBACK")
    holder.close()
    await store.write(lambda _: None)
    await store.close()


async def test_callers_wait_when_too_many_writes_are_under_way(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_writer, "WRITES_MAX", 10)
    store = await Store.open(url)
    most = 0

    def count(_connection: sa.Connection) -> None:
        nonlocal most
        most = max(most, len(store._writer._waiting))

    await asyncio.gather(*(store.write(count) for _ in range(100)))
    assert store.commits >= 10
    assert most <= 10
    await store.close()


async def test_a_reader_sees_one_moment_while_others_write(store: Store) -> None:
    def revision(connection: sa.Connection) -> int:
        value: int = connection.execute(sa.text("SELECT value FROM counters LIMIT 1")).scalar_one()
        return value

    def raise_it(connection: sa.Connection) -> None:
        connection.execute(sa.text("UPDATE counters SET value = value + 1"))

    loop = asyncio.get_running_loop()
    begun = asyncio.Event()
    between = threading.Event()

    def read_twice(connection: sa.Connection) -> tuple[int, int]:
        first = revision(connection)
        loop.call_soon_threadsafe(begun.set)
        assert between.wait(10)
        return first, revision(connection)

    reading = asyncio.create_task(store.read(read_twice))
    await begun.wait()
    await store.write(raise_it)
    between.set()
    first, second = await reading
    assert first == second
    assert await store.read(revision) == 1
