"""What groups remember: rows under a group and a key, and offsets that wait for the end of a transaction.

A row's content is the business of those who keep it. Names and ids are clients' text, any text: they are kept as bytes,
because a database's text does not take every character.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from braidmq.store import _tables as tables
from braidmq.store._store import Store

_ROWS = tables.group_rows
_PENDING = tables.group_pending_offsets


class PendingOffset(NamedTuple):
    """An offset that a group has committed in a transaction which has not ended."""

    producer_id: int
    group: str
    number: int
    offset: int
    metadata: str
    leader_epoch: int
    committed_ms: int


class GroupStates:
    """Every call is durable when it returns, or raises StoreFailed."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def load(self) -> dict[str, dict[str, bytes]]:
        """All rows, by group and key."""
        return await self._store.read(_load)

    async def replace(self, group: str, rows: Mapping[str, bytes]) -> None:
        """Make these all rows of the group."""

        def work(connection: sa.Connection) -> None:
            connection.execute(sa.delete(_ROWS).where(_ROWS.c.group == group.encode()))
            _insert(connection, group, rows)

        await self._store.write(work)

    async def change(self, group: str, rows: Mapping[str, bytes | None]) -> None:
        """Set these rows of the group; None removes one."""

        def work(connection: sa.Connection) -> None:
            keys = [key.encode() for key in rows]
            connection.execute(sa.delete(_ROWS).where(_ROWS.c.group == group.encode(), _ROWS.c.key.in_(keys)))
            _insert(connection, group, {key: content for key, content in rows.items() if content is not None})

        await self._store.write(work)

    async def delete(self, group: str) -> None:
        """Forget the group, and what it has pending."""

        def work(connection: sa.Connection) -> None:
            connection.execute(sa.delete(_ROWS).where(_ROWS.c.group == group.encode()))
            connection.execute(sa.delete(_PENDING).where(_PENDING.c.group == group.encode()))

        await self._store.write(work)

    async def load_pending(self) -> list[PendingOffset]:
        """All offsets that wait for the end of a transaction."""
        return await self._store.read(_load_pending)

    async def add_pending(self, offsets: Iterable[PendingOffset]) -> None:
        """Keep these, in place of what the same transaction had said of the same partitions."""
        rows = [_pending_row(offset) for offset in offsets]

        def work(connection: sa.Connection) -> None:
            for row in rows:
                connection.execute(
                    sa.delete(_PENDING).where(
                        _PENDING.c.producer_id == row["producer_id"],
                        _PENDING.c.group == row["group"],
                        _PENDING.c.number == row["number"],
                    )
                )
            if rows:
                connection.execute(sa.insert(_PENDING), rows)

        await self._store.write(work)

    async def delete_pending(self, producer_id: int) -> None:
        """Forget all that the producer's transaction has pending."""
        statement = sa.delete(_PENDING).where(_PENDING.c.producer_id == producer_id)
        await self._store.write(lambda connection: connection.execute(statement) and None)

    async def delete_pending_offsets(self, numbers: Iterable[int], group: str | None = None) -> None:
        """Forget what is pending for these partitions, of one group or of all."""
        statement = sa.delete(_PENDING).where(_PENDING.c.number.in_(list(numbers)))
        if group is not None:
            statement = statement.where(_PENDING.c.group == group.encode())
        await self._store.write(lambda connection: connection.execute(statement) and None)


def _load(connection: sa.Connection) -> dict[str, dict[str, bytes]]:
    groups: dict[str, dict[str, bytes]] = {}
    for group, key, content in connection.execute(sa.select(_ROWS.c.group, _ROWS.c.key, _ROWS.c.content)):
        groups.setdefault(group.decode(), {})[key.decode()] = content
    return groups


def _load_pending(connection: sa.Connection) -> list[PendingOffset]:
    columns = [_PENDING.c[name] for name in PendingOffset._fields]
    return [
        PendingOffset(*row)._replace(group=row.group.decode(), metadata=row.metadata.decode())
        for row in connection.execute(sa.select(*columns))
    ]


def _insert(connection: sa.Connection, group: str, rows: Mapping[str, bytes]) -> None:
    if rows:
        name = group.encode()
        values = [{"group": name, "key": key.encode(), "content": content} for key, content in rows.items()]
        connection.execute(sa.insert(_ROWS), values)


def _pending_row(offset: PendingOffset) -> dict[str, Any]:
    return offset._asdict() | {"group": offset.group.encode(), "metadata": offset.metadata.encode()}
