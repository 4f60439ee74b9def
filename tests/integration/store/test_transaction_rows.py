"""The rows of transactions and the ids of producers, on both databases."""

import asyncio

from msgspec.structs import replace

from braidmq.model import Transaction, TransactionState
from braidmq.store import Store, TransactionRows

PLAIN = Transaction(id="plain", producer_id=1, epoch=-1, timeout_ms=1)
FULL = Transaction(
    id="full, and not plain: 'ünï\U0001f600'",
    producer_id=(1 << 62) + 1,
    epoch=32767,
    state=TransactionState.COMMITTING,
    timeout_ms=1 << 31,
    partitions=frozenset([3, 1, 2]),
    groups=frozenset(["b", "ä", ""]),
    last_epoch=32766,
    previous_producer_id=5,
    next_producer_id=1 << 62,
    bumps_epoch=True,
    started_ms=1 << 42,
    changed_ms=(1 << 42) + 1,
)


def by_id(transaction: Transaction) -> str:
    return transaction.id


async def test_what_is_saved_is_loaded_by_the_next_life(database_url: str) -> None:
    store = await Store.open(database_url)
    rows = TransactionRows(store)
    assert await rows.load() == []
    await asyncio.gather(rows.save(PLAIN), rows.save(FULL))
    await store.close()
    store = await Store.open(database_url)
    assert sorted(await TransactionRows(store).load(), key=by_id) == [FULL, PLAIN]
    await store.close()


async def test_the_last_save_counts(store: Store) -> None:
    rows = TransactionRows(store)
    for state in TransactionState:
        await rows.save(replace(FULL, state=state, partitions=frozenset()))
        assert await rows.load() == [replace(FULL, state=state, partitions=frozenset())]
    saves = [rows.save(replace(FULL, epoch=epoch)) for epoch in range(50)]
    await asyncio.gather(*saves)
    assert await rows.load() == [replace(FULL, epoch=49)]


async def test_what_is_deleted_is_gone_and_may_be_deleted_again(store: Store) -> None:
    rows = TransactionRows(store)
    await rows.save(PLAIN)
    await rows.save(FULL)
    for _ in range(2):
        await rows.delete(FULL.id)
    assert await rows.load() == [PLAIN]


async def test_ids_are_taken_once(database_url: str) -> None:
    taken: list[int] = []
    for _ in range(2):
        store = await Store.open(database_url)
        rows = TransactionRows(store)
        for block in await asyncio.gather(*(rows.take_producer_ids(10) for _ in range(20))):
            assert len(block) == 10
            taken += block
        await store.close()
    assert len(set(taken)) == len(taken) == 400
    assert min(taken) > 0
