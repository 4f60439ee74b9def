"""What the store promises, on both databases."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
import sqlalchemy as sa

from braidmq.model.errors import StoreFailed
from braidmq.store import Store

Call = Callable[[Store, Callable[[sa.Connection], object]], Awaitable[object]]

marks = sa.table("marks", sa.column("name", sa.Text))

SLOW = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) SELECT max(i) FROM n",
    "postgresql": "SELECT pg_sleep(0.3)",
}


def create_marks(connection: sa.Connection) -> None:
    connection.execute(sa.text("CREATE TABLE marks (name TEXT PRIMARY KEY)"))


def mark(name: str) -> Callable[[sa.Connection], str]:
    def work(connection: sa.Connection) -> str:
        connection.execute(sa.insert(marks).values(name=name))
        return name

    return work


def names(connection: sa.Connection) -> set[str]:
    return set(connection.execute(sa.select(marks.c.name)).scalars())


def slow(connection: sa.Connection) -> None:
    connection.execute(sa.text(SLOW[connection.dialect.name]))


@pytest.fixture
async def marked(store: Store) -> Store:
    await store.write(create_marks)
    return store


async def test_a_write_is_answered_with_its_result_and_seen_by_every_later_read(marked: Store) -> None:
    assert await marked.write(mark("one")) == "one"
    assert await marked.read(names) == {"one"}


async def test_writes_that_arrive_together_share_one_transaction(marked: Store) -> None:
    before = marked.commits
    results = await asyncio.gather(*(marked.write(mark(str(number))) for number in range(100)))
    assert results == [str(number) for number in range(100)]
    assert marked.commits == before + 1
    assert len(await marked.read(names)) == 100


async def test_writes_that_arrive_during_a_transaction_share_the_next(marked: Store) -> None:
    before = marked.commits
    first = asyncio.create_task(marked.write(slow))
    await asyncio.sleep(0)
    await asyncio.gather(first, *(marked.write(mark(str(number))) for number in range(20)))
    assert marked.commits <= before + 2


async def test_a_batch_is_bounded(marked: Store) -> None:
    before = marked.commits
    await asyncio.gather(*(marked.write(mark(str(number))) for number in range(600)))
    assert marked.commits == before + 2


async def test_a_failing_write_spares_the_others_of_its_batch(marked: Store) -> None:
    def stumble(connection: sa.Connection) -> None:
        mark("half done")(connection)
        raise ValueError("mine")

    def run_dry(connection: sa.Connection) -> None:
        next(iter(connection.execute(sa.select(marks).where(sa.false()))))

    before = marked.commits
    works = (mark("first"), mark("twice"), mark("twice"), stumble, run_dry, mark("last"))
    results = await asyncio.gather(*(marked.write(work) for work in works), return_exceptions=True)
    assert results[:2] == ["first", "twice"]
    assert isinstance(results[2], StoreFailed)
    assert isinstance(results[2].__cause__, sa.exc.IntegrityError)
    assert isinstance(results[3], ValueError)
    assert isinstance(results[4], RuntimeError)
    assert results[5] == "last"
    assert marked.commits == before + 1
    assert await marked.read(names) == {"first", "twice", "last"}


async def test_a_commit_that_fails_is_told_to_every_caller_of_the_batch(marked: Store) -> None:
    def prepare(connection: sa.Connection) -> None:
        connection.execute(sa.text("CREATE TABLE notes (mark TEXT REFERENCES marks DEFERRABLE INITIALLY DEFERRED)"))

    def orphan(connection: sa.Connection) -> None:
        connection.execute(sa.text("INSERT INTO notes VALUES ('nobody')"))

    await marked.write(prepare)
    results = await asyncio.gather(marked.write(mark("innocent")), marked.write(orphan), return_exceptions=True)
    assert [type(result) for result in results] == [StoreFailed, StoreFailed]
    assert "not known" in str(results[0])
    assert results[0] is not results[1]
    assert await marked.write(mark("after")) == "after"
    assert await marked.read(names) == {"after"}


async def test_a_caller_cancelled_in_the_middle_breaks_nothing(marked: Store) -> None:
    committed: list[None] = []
    running = asyncio.create_task(marked.write(slow, committed.append))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    waiting = asyncio.create_task(marked.write(mark("never begun")))
    other = asyncio.create_task(marked.write(mark("other")))
    await asyncio.sleep(0)
    running.cancel()
    waiting.cancel()
    assert await other == "other"
    assert committed == [None]
    assert await marked.read(names) == {"other"}


async def test_what_is_to_happen_on_commit_happens_in_the_order_of_the_writes(marked: Store) -> None:
    seen: list[str] = []
    await asyncio.gather(*(marked.write(mark(str(number)), seen.append) for number in range(50)))
    assert seen == [str(number) for number in range(50)]


async def test_what_is_to_happen_on_commit_does_not_happen_for_a_write_that_failed(marked: Store) -> None:
    seen: list[str] = []
    await marked.write(mark("one"))
    with pytest.raises(StoreFailed):
        await marked.write(mark("one"), seen.append)
    assert seen == []


async def test_a_failure_in_what_is_to_happen_on_commit_harms_no_write(marked: Store) -> None:
    def stumble(_name: str) -> None:
        raise ValueError("mine")

    seen: list[str] = []
    await asyncio.gather(marked.write(mark("one"), stumble), marked.write(mark("two"), seen.append))
    assert seen == ["two"]
    assert await marked.read(names) == {"one", "two"}


@pytest.mark.parametrize("call", [Store.write, Store.read])
async def test_an_error_of_the_driver_comes_as_an_error_of_ours(store: Store, call: Call) -> None:
    with pytest.raises(StoreFailed, match=r"failed: .*nowhere") as caught:
        await call(store, lambda connection: connection.execute(sa.text("SELECT * FROM nowhere")))
    assert isinstance(caught.value.__cause__, sa.exc.SQLAlchemyError)


async def test_values_are_never_shown_in_an_error(marked: Store) -> None:
    await marked.write(mark("a secret"))
    with pytest.raises(StoreFailed) as caught:
        await marked.write(mark("a secret"))
    assert "a secret" not in f"{caught.value} {caught.value.__cause__}".replace("Key (name)=(a secret)", "")


@pytest.mark.parametrize("call", [Store.write, Store.read])
async def test_the_loop_goes_on_while_the_database_works(store: Store, call: Call) -> None:
    working = asyncio.ensure_future(call(store, slow))
    turns = 0
    while not working.done():
        await asyncio.sleep(0.005)
        turns += 1
    assert turns >= 5


async def test_many_readers_are_served_while_others_wait(marked: Store) -> None:
    await marked.write(mark("one"))
    results = await asyncio.gather(*(marked.read(names) for _ in range(50)))
    assert results == [{"one"}] * 50


async def test_closing_carries_out_what_was_accepted_and_refuses_the_rest(database_url: str) -> None:
    store = await Store.open(database_url)
    await store.write(create_marks)
    accepted = [asyncio.create_task(store.write(mark(str(number)))) for number in range(10)]
    await asyncio.sleep(0)
    await store.close()
    assert await asyncio.gather(*accepted) == [str(number) for number in range(10)]
    await store.close()
    with pytest.raises(StoreFailed, match="closed"):
        await store.write(mark("late"))
    with pytest.raises(StoreFailed, match="closed"):
        await store.read(names)
    again = await Store.open(database_url)
    assert len(await again.read(names)) == 10
    await again.close()
