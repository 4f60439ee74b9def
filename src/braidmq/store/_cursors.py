"""What groups that take messages one by one have not done yet: for each cursor, changes in the order of their keeping.

A change's content is the business of those who keep it. Now and then a whole picture takes the place of all that was
kept of a cursor before.
"""

from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from braidmq.store import _tables as tables
from braidmq.store._store import Store

_CHANGES = tables.cursor_changes


class CursorChange(NamedTuple):
    """Of one group in one partition. `content` is None when the cursor is to be forgotten; `is_whole` says that what
    was kept before means nothing any more."""

    group: str
    number: int
    content: bytes | None
    is_whole: bool = False


class CursorRows:
    """Every call outlives the process when it returns, or raises StoreFailed. A loss of power may take the last
    moments, in their order: that costs deliveries again, and no message."""

    def __init__(self, store: Store) -> None:
        self._store = store
        columns = _CHANGES.c
        self._insert = sa.insert(_CHANGES)
        self._removal = sa.delete(_CHANGES).where(
            columns.group == sa.bindparam("of_group"), columns.number == sa.bindparam("of_number")
        )

    async def load(self) -> dict[tuple[str, int], list[bytes]]:
        """All changes, by group and partition number, in order."""
        return await self._store.read(_load)

    async def keep(self, changes: Sequence[CursorChange]) -> None:
        """All of them, or none."""

        def work(connection: sa.Connection) -> None:
            replaced = [each for each in changes if each.is_whole or each.content is None]
            if replaced:
                places = [{"of_group": each.group.encode(), "of_number": each.number} for each in replaced]
                connection.execute(self._removal, places)
            rows = [
                {"group": each.group.encode(), "number": each.number, "content": each.content}
                for each in changes
                if each.content is not None
            ]
            if rows:
                connection.execute(self._insert, rows)

        await self._store.write(work, synced=False)


def _load(connection: sa.Connection) -> dict[tuple[str, int], list[bytes]]:
    found: dict[tuple[str, int], list[bytes]] = {}
    columns = _CHANGES.c
    for group, number, content in connection.execute(
        sa.select(columns.group, columns.number, columns.content).order_by(columns.id)
    ):
        found.setdefault((group.decode(), number), []).append(content)
    return found
