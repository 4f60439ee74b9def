"""The rows of transactions, one for each transactional id, and the ids of producers.

One idea: a row is always written whole. The coordinator knows what it should hold, so that the last write of an id is
its truth, whatever became of the writes before it.
"""

from functools import partial
from typing import Any

import msgspec
import sqlalchemy as sa

from braidmq.model import Transaction, TransactionState
from braidmq.store import _tables as tables
from braidmq.store._store import Store


class TransactionRows:
    """What a transaction coordinator keeps. Every call may raise StoreFailed."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def load(self) -> list[Transaction]:
        """All of them."""
        return await self._store.read(_load)

    async def save(self, transaction: Transaction) -> None:
        """Durable when this returns."""
        await self._store.write(partial(_save, row=_row(transaction)))

    async def delete(self, id: str) -> None:
        """Doing it again changes nothing."""
        await self._store.write(partial(_delete, id=id))

    async def take_producer_ids(self, count: int) -> range:
        """So many ids that nobody ever had, and nobody else will get."""
        return await self._store.write(partial(_take_producer_ids, count=count))


def _row(transaction: Transaction) -> dict[str, object]:
    row = msgspec.structs.asdict(transaction)
    return row | {"partitions": sorted(transaction.partitions), "groups": sorted(transaction.groups)}


def _load(connection: sa.Connection) -> list[Transaction]:
    return [_transaction(row) for row in connection.execute(sa.select(tables.transactions))]


def _transaction(row: sa.Row[Any]) -> Transaction:
    return Transaction(
        id=row.id,
        producer_id=row.producer_id,
        epoch=row.epoch,
        state=TransactionState(row.state),
        timeout_ms=row.timeout_ms,
        partitions=frozenset(row.partitions),
        groups=frozenset(row.groups),
        last_epoch=row.last_epoch,
        previous_producer_id=row.previous_producer_id,
        next_producer_id=row.next_producer_id,
        bumps_epoch=row.bumps_epoch,
        started_ms=row.started_ms,
        changed_ms=row.changed_ms,
    )


def _save(connection: sa.Connection, row: dict[str, object]) -> None:
    if connection.execute(_UPDATE, row | {"of_id": row["id"]}).rowcount == 0:
        connection.execute(_INSERT, row)


def _delete(connection: sa.Connection, id: str) -> None:
    connection.execute(sa.delete(tables.transactions).where(tables.transactions.c.id == id))


def _take_producer_ids(connection: sa.Connection, count: int) -> range:
    end: int = connection.execute(_TAKE_IDS, {"count": count}).scalar_one()
    return range(end - count, end)


_INSERT = sa.insert(tables.transactions)

_UPDATE = (
    sa.update(tables.transactions)
    .where(tables.transactions.c.id == sa.bindparam("of_id"))
    .values({column.name: sa.bindparam(column.name) for column in tables.transactions.c})
)

_TAKE_IDS = (
    sa.update(tables.counters)
    .where(tables.counters.c.name == tables.PRODUCER_ID)
    .values(value=tables.counters.c.value + sa.bindparam("count"))
    .returning(tables.counters.c.value)
)
