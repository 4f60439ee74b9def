"""The rows of timers and halves, on both databases."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from braidmq.model import NEVER_MS, Half, HalfState, Timer, deferred_id
from braidmq.model.errors import TooLateToRecall
from braidmq.store import HalfRows, Page, Store, TimerRows

TOPIC, OTHER = uuid4(), uuid4()
MANY: dict[str, Any] = {"rows_max": 100, "bytes_max": 1 << 20}


def timer(due_ms: int, counter: int = 0, topic_id: UUID = TOPIC, content: bytes = b"content") -> Timer:
    return Timer(
        id=deferred_id(due_ms, counter, 7),
        topic_id=topic_id,
        instance="default",
        topic="orders",
        message_id="any text\0 ünï\U0001f600",
        due_ms=due_ms,
        wake_ms=due_ms,
        size_bytes=len(content),
        content=content,
    )


def half(prepared_ms: int) -> Half:
    return Half(
        id=deferred_id(prepared_ms, 0, 7),
        topic_id=TOPIC,
        instance="default",
        topic="orders",
        group="g\0ü",
        message_id="m",
        prepared_ms=prepared_ms,
        wake_ms=prepared_ms + 5,
        size_bytes=3,
        content=b"abc",
    )


def taken(row: Timer) -> Timer:
    return replace(row, owner="me", wake_ms=row.wake_ms + 1000, attempts=row.attempts + 1)


async def test_what_is_added_is_found_whole_by_the_next_life(database_url: str) -> None:
    store = await Store.open(database_url)
    await asyncio.gather(TimerRows(store).add(timer(1 << 42)), HalfRows(store).add(half(1 << 42)))
    await store.close()
    store = await Store.open(database_url)
    assert await TimerRows(store).find(timer(1 << 42).id) == timer(1 << 42)
    assert await HalfRows(store).find(half(1 << 42).id) == half(1 << 42)
    assert await HalfRows(store).find(uuid4()) is None
    await store.close()


async def test_what_is_due_is_claimed_in_order_and_once(store: Store) -> None:
    rows = TimerRows(store)
    assert await rows.next_wake_ms() == NEVER_MS
    for due_ms, counter in ((30, 0), (20, 1), (10, 0), (20, 0)):
        await rows.add(timer(due_ms, counter))
    assert await rows.next_wake_ms() == 10
    claimed, next_ms = await rows.claim(20, taken, **MANY)
    assert claimed == [taken(timer(10)), taken(timer(20, 0)), taken(timer(20, 1))]
    assert next_ms == 30
    assert await rows.claim(20, taken, **MANY) == ([], 30)
    assert [row.attempts for row in (await rows.claim(1010, taken, **MANY))[0]] == [1, 2]


async def test_a_claim_for_others_to_see_is_written_only_where_there_are_others(store: Store) -> None:
    rows = TimerRows(store)
    for due_ms, counter in ((10, 0), (20, 0), (20, 1), (30, 0)):
        await rows.add(timer(due_ms, counter))
    claimed, next_ms = await rows.claim(20, taken, rows_max=2, bytes_max=1 << 20, for_others=True)
    assert claimed == [taken(timer(10)), taken(timer(20, 0))]
    assert next_ms == 20
    kept = [await rows.find(row.id) for row in claimed]
    assert kept == (claimed if store.is_shared else [timer(10), timer(20, 0)])
    await rows.delete(row.id for row in claimed)
    assert (await rows.claim(20, taken, **MANY, for_others=True))[1] == 30


async def test_what_is_over_goes_with_the_next_claim_and_is_not_claimed_again(store: Store) -> None:
    rows = TimerRows(store)
    for due_ms in (10, 20, 30):
        await rows.add(timer(due_ms))
    first, _ = await rows.claim(20, taken, rows_max=1, bytes_max=1 << 20, for_others=True)
    second, next_ms = await rows.claim(20, taken, **MANY, for_others=True, without=[row.id for row in first])
    assert ([row.due_ms for row in second], next_ms) == ([20], 30)
    assert await rows.find(first[0].id) is None


async def test_a_claim_is_bounded_in_rows_and_bytes_but_always_takes_one(store: Store) -> None:
    rows = TimerRows(store)
    for due_ms in range(10):
        await rows.add(timer(due_ms, content=b"x" * 100))
    first, _ = await rows.claim(20, taken, rows_max=3, bytes_max=1 << 20)
    second, _ = await rows.claim(20, taken, rows_max=100, bytes_max=250)
    third, _ = await rows.claim(20, taken, rows_max=100, bytes_max=1)
    assert [[row.due_ms for row in claimed] for claimed in (first, second, third)] == [[0, 1, 2], [3, 4], [5]]


async def test_two_nodes_never_claim_the_same(postgres_url: str) -> None:
    stores = [await Store.open(postgres_url) for _ in range(2)]
    nodes = [TimerRows(store) for store in stores]
    await asyncio.gather(*(nodes[0].add(timer(due_ms)) for due_ms in range(200)))
    claims = await asyncio.gather(
        *(node.claim(200, taken, rows_max=15, bytes_max=1 << 20) for node in nodes for _ in range(10))
    )
    claimed = [row.due_ms for rows, _ in claims for row in rows]
    assert sorted(claimed) == list(range(200))
    for store in stores:
        await store.close()


async def test_a_change_may_remove_rows_or_refuse_and_then_nothing_is_changed(store: Store) -> None:
    rows = TimerRows(store)
    await rows.add(timer(1))
    await rows.add(timer(2))

    def refuse(_: Timer) -> None:
        raise TooLateToRecall

    with pytest.raises(TooLateToRecall):
        await rows.revise([timer(1).id], refuse)
    assert await rows.revise([timer(1).id, uuid4()], lambda _: None) == []
    assert await rows.find(timer(1).id) is None
    for _ in range(2):
        await rows.delete([timer(2).id])
    assert await rows.page(Page()) == []


async def test_a_half_gives_up_its_content_with_its_end(store: Store) -> None:
    rows = HalfRows(store)
    await rows.add(half(1))
    ended = replace(half(1), state=HalfState.ROLLED_BACK, content=b"", checks=3)
    assert await rows.revise([half(1).id], lambda _: ended) == [ended]
    assert await rows.find(half(1).id) == ended


async def test_only_the_owners_own_claims_are_woken(store: Store) -> None:
    rows = TimerRows(store)
    for due_ms, owner in ((1, "me"), (2, "other"), (3, "")):
        await rows.add(replace(timer(due_ms), owner=owner, wake_ms=500))
    await rows.wake_claims("me", 100, 1000)
    assert [row.due_ms for row in (await rows.claim(100, taken, **MANY))[0]] == [1]


async def test_listings_are_paged_and_chosen_by_topic_and_time(store: Store) -> None:
    rows = TimerRows(store)
    for due_ms in range(10):
        await rows.add(timer(due_ms, topic_id=TOPIC if due_ms % 2 else OTHER))
    await rows.add(replace(timer(50), wake_ms=NEVER_MS, parked="why"))
    listed = await rows.page(Page(limit=3))
    assert listed == [
        replace(timer(due_ms, topic_id=OTHER if due_ms != 1 else TOPIC), content=b"") for due_ms in range(3)
    ]
    assert [row.due_ms for row in await rows.page(Page(after=listed[-1].id, topic_id=TOPIC))] == [3, 5, 7, 9, 50]
    between = Page(from_id=deferred_id(4, 0, 0), until_id=deferred_id(7, 0, 0))
    assert [row.due_ms for row in await rows.page(between)] == [4, 5, 6]
    assert [row.due_ms for row in await rows.page(Page(parked=True))] == [50]


@pytest.mark.parametrize("table", ["timers", "halves"])
@pytest.mark.parametrize(
    ("rest", "index"),
    [
        ("WHERE wake_ms <= 1 ORDER BY wake_ms, id LIMIT 5", "wake_ms_id"),
        ("ORDER BY wake_ms LIMIT 1", "wake_ms_id"),
        ("WHERE wake_ms = 1 ORDER BY id LIMIT 5", "wake_ms_id"),
        ("WHERE topic_id = 'x' AND id > 'y' ORDER BY id LIMIT 5", "topic_id_id"),
    ],
)
async def test_a_scan_reads_a_range_of_an_index_and_sorts_nothing(
    sqlite_url: str, table: str, rest: str, index: str
) -> None:
    def plan(connection: sa.Connection) -> list[str]:
        query = f"EXPLAIN QUERY PLAN SELECT id, size_bytes FROM {table} {rest}"  # noqa: S608 - the test's own words
        return [row[3] for row in connection.execute(sa.text(query))]

    store = await Store.open(sqlite_url)
    (step,) = await store.read(plan)
    assert f"INDEX ix_{table}_{index}" in step
    await store.close()
