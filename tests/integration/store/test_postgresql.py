"""What only PostgreSQL can show: several nodes on one database, and connections that die."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol

import pytest
import sqlalchemy as sa

from braidmq.model import DEFAULT_INSTANCE, Group, Instance, Subscription
from braidmq.model.errors import StoreFailed
from braidmq.store import Catalog, Change, Store, _changes, _journal

Eventually = Callable[[Callable[[], bool]], Awaitable[None]]


class Server(Protocol):
    def url(self, database: str) -> str: ...

    async def execute(self, statement: str, database: str = "postgres") -> str: ...


class Node:
    """A store and its catalog, as another node of the cluster would have them."""

    def __init__(self, store: Store, catalog: Catalog) -> None:
        self.store = store
        self.catalog = catalog
        self.heard: list[Change] = []
        catalog.subscribe(self.heard.append)

    @classmethod
    async def start(cls, url: str) -> "Node":
        store = await Store.open(url)
        return cls(store, await Catalog.open(store))

    def same_as(self, other: "Node") -> bool:
        mine, theirs = self.catalog._memory, other.catalog._memory
        return mine.revision == theirs.revision and mine.things == theirs.things


@pytest.fixture
async def nodes(postgres_url: str) -> AsyncIterator[tuple[Node, Node]]:
    pair = (await Node.start(postgres_url), await Node.start(postgres_url))
    yield pair
    for node in pair:
        await node.store.close()


async def end_connections(node: Node) -> None:
    """End every connection of this database but the one that asks."""

    def work(connection: sa.Connection) -> None:
        connection.execute(
            sa.text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )

    await node.store.write(work)


async def test_a_node_sees_what_another_has_changed(nodes: tuple[Node, Node], eventually: Eventually) -> None:
    one, two = nodes
    topic = await one.catalog.create_topic("orders", partitions=2, settings={"a": "b"})
    await one.catalog.create_instance(Instance(name="bank"))
    await one.catalog.save_group(Group(name="g"))
    await one.catalog.save_subscription(Subscription(group="g", topic="orders"))
    await one.catalog.set_setting("a", "b", changed_by="ann")
    await eventually(lambda: two.same_as(one))
    assert two.catalog.topic(DEFAULT_INSTANCE, "orders") == topic
    assert {type(change) for change in two.heard} == {type(change) for change in one.heard}
    await two.catalog.begin_topic_deletion(topic.id)
    await two.catalog.finish_topic_deletion(topic.id)
    await two.catalog.delete_group(DEFAULT_INSTANCE, "g")
    await eventually(lambda: one.same_as(two))
    assert one.catalog.topic_by_id(topic.id) is None


async def test_each_node_sees_its_own_change_at_once_while_others_change_too(
    nodes: tuple[Node, Node], eventually: Eventually
) -> None:
    async def work(node: Node, name: str) -> None:
        for number in range(25):
            topic = await node.catalog.create_topic(f"{name}-{number}", partitions=1)
            assert node.catalog.topic(DEFAULT_INSTANCE, topic.name) == topic

    one, two = nodes
    await asyncio.gather(work(one, "a"), work(two, "b"), work(one, "c"))
    await eventually(lambda: one.same_as(two))
    numbers = [number for topic in one.catalog.topics() for number in topic.partition_numbers]
    assert sorted(numbers) == list(range(75))
    for node in nodes:
        revisions = [change.revision for change in node.heard]
        assert revisions == sorted(revisions)


async def test_of_two_nodes_that_create_the_same_topic_exactly_one_succeeds(nodes: tuple[Node, Node]) -> None:
    for number in range(10):
        results = await asyncio.gather(
            *(node.catalog.create_topic(f"same-{number}", partitions=1) for node in nodes), return_exceptions=True
        )
        assert sum(isinstance(result, BaseException) for result in results) == 1


async def test_after_all_connections_were_ended_everything_works_and_nothing_was_missed(
    nodes: tuple[Node, Node], eventually: Eventually
) -> None:
    one, two = nodes
    for number in range(3):
        await end_connections(one)
        await one.catalog.create_topic(f"after-{number}", partitions=1)
        await eventually(lambda: two.same_as(one))
        await two.catalog.create_topic(f"back-{number}", partitions=1)
        await eventually(lambda: one.same_as(two))
    assert len(one.catalog.topics()) == 6


async def test_a_node_that_missed_more_than_is_kept_reads_everything_again(
    nodes: tuple[Node, Node], eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = nodes
    group = await one.catalog.save_group(Group(name="to be deleted"))
    await eventually(lambda: two.same_as(one))
    monkeypatch.setattr(_journal, "CATCH_UP_MAX", 5)
    monkeypatch.setattr(_journal, "announce", lambda *_: None)
    await one.catalog.delete_group(DEFAULT_INSTANCE, group.name)
    for number in range(12):
        await one.catalog.create_topic(f"t{number}", partitions=1)
    assert not two.same_as(one)
    await end_connections(one)
    await eventually(lambda: two.same_as(one))
    assert two.catalog.group(DEFAULT_INSTANCE, group.name) is None
    assert len(two.heard) == 14


async def test_a_node_whose_missed_changes_are_no_longer_listed_reads_everything_again(
    nodes: tuple[Node, Node], eventually: Eventually
) -> None:
    one, two = nodes
    await one.catalog.save_group(Group(name="seen"))
    await eventually(lambda: two.same_as(one))

    def change_and_forget(connection: sa.Connection) -> None:
        _changes.save_group(connection, Group(name="missed"))
        connection.execute(sa.text("DELETE FROM catalog_changes"))

    await one.store.write(change_and_forget)
    await eventually(lambda: one.same_as(two) and len(two.catalog.groups()) == 2)


async def test_old_lines_of_the_journal_are_forgotten(
    nodes: tuple[Node, Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_journal, "CATCH_UP_MAX", 5)
    monkeypatch.setattr(_journal, "LINES_KEPT", 10)
    for number in range(22):
        await nodes[0].catalog.set_setting("a", str(number), changed_by="ann")
    lines = await nodes[0].store.read(
        lambda connection: connection.execute(sa.text("SELECT revision FROM catalog_changes")).scalars().all()
    )
    assert sorted(lines) == list(range(11, 23))


async def test_a_change_of_a_kind_that_only_newer_code_knows_is_passed_over(
    nodes: tuple[Node, Node], eventually: Eventually
) -> None:
    one, two = nodes

    def of_newer_code(connection: sa.Connection) -> None:
        connection.execute(sa.text("UPDATE counters SET value = value + 1 WHERE name = 'catalog_revision'"))
        connection.execute(sa.text("INSERT INTO catalog_changes VALUES (1, 'robot', '[\"r2\"]')"))

    await one.store.write(of_newer_code)
    topic = await one.catalog.create_topic("orders", partitions=1)
    assert one.catalog.topic(DEFAULT_INSTANCE, "orders") == topic
    await eventually(lambda: two.same_as(one))


async def test_a_connection_that_dies_in_a_transaction_fails_its_writes_and_keeps_nothing(
    nodes: tuple[Node, Node],
) -> None:
    one, two = nodes
    asking = asyncio.Event()
    loop = asyncio.get_running_loop()

    def begin_and_wait(connection: sa.Connection) -> None:
        connection.execute(sa.text("CREATE TABLE half (done INTEGER)"))
        loop.call_soon(asking.set)
        connection.execute(sa.text("SELECT pg_sleep(30)"))

    writes = [asyncio.create_task(one.store.write(work)) for work in (begin_and_wait, lambda _: None)]
    await asking.wait()
    await end_connections(two)
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert [type(result) for result in results] == [StoreFailed, StoreFailed]
    assert not await one.store.read(lambda connection: sa.inspect(connection).has_table("half"))
    await one.catalog.create_topic("afterwards", partitions=1)


async def test_a_commit_whose_answer_was_lost_is_reported_as_unknown_and_not_tried_again(
    nodes: tuple[Node, Node],
) -> None:
    one, two = nodes
    tries = 0

    def slow_commit(connection: sa.Connection) -> None:
        connection.execute(sa.text("CREATE TABLE slow (id INTEGER)"))
        connection.execute(
            sa.text(
                "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS "
                "'BEGIN PERFORM pg_sleep(30); RETURN NULL; END'"
            )
        )
        connection.execute(
            sa.text(
                "CREATE CONSTRAINT TRIGGER waits AFTER INSERT ON slow DEFERRABLE INITIALLY DEFERRED "
                "FOR EACH ROW EXECUTE FUNCTION wait()"
            )
        )

    def insert(connection: sa.Connection) -> None:
        nonlocal tries
        tries += 1
        connection.execute(sa.text("INSERT INTO slow VALUES (1)"))

    def committing(connection: sa.Connection) -> bool:
        query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query = 'COMMIT;' "
        return bool(connection.execute(sa.text(query + "AND state = 'active'")).scalar_one())

    await one.store.write(slow_commit)
    writing = asyncio.create_task(one.store.write(insert))
    async with asyncio.timeout(10):
        while not await two.store.read(committing):  # noqa: ASYNC110 - only the server knows
            await asyncio.sleep(0.01)
    await end_connections(two)
    with pytest.raises(StoreFailed, match="not known whether the change was kept"):
        await writing
    assert tries == 1


async def test_a_server_that_is_not_there_or_refuses_is_named_without_the_password(
    postgres_server: Server, postgres_url: str
) -> None:
    for url in (
        "postgresql://ann:hidden@127.0.0.1:1/braid",
        "postgresql://ann:hidden@no-such-host.invalid/braid",
        postgres_url.replace("postgres@", "ann:hidden@"),
        postgres_server.url("no_such_database").replace("postgres@", "postgres:hidden@"),
    ):
        with pytest.raises(StoreFailed, match="see that the server runs there") as caught:
            await Store.open(url)
        assert "hidden" not in f"{caught.value} {caught.value.__cause__}"
        assert ":***@" in str(caught.value)
