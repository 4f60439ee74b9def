"""The other half of an effect that happens once: the ids of messages whose work is done, in the user's own database.

The id is written in the same transaction as the work. A message that comes a second time finds its id there.
"""

import time
from typing import Any

from braidmq.sdk._sql import async_execute, execute, table_name
from braidmq.sdk.values import Message


class Inbox:
    """A table of ids. `name` tells consumers apart that work on the same messages in one database."""

    def __init__(self, name: str, *, table: str = "braid_inbox") -> None:
        """Raises ValueError for a table that cannot be."""
        self._name = name
        self._table = table_name(table)

    @property
    def ddl(self) -> str:
        """The statement that makes the table, for migrations."""
        return (
            f"CREATE TABLE IF NOT EXISTS {self._table} ("
            "name VARCHAR(255) NOT NULL, id VARCHAR(255) NOT NULL, done_ms BIGINT NOT NULL, PRIMARY KEY (name, id))"
        )

    def create_table(self, connection: Any) -> None:
        execute(connection, self.ddl)

    def first_time(self, connection: Any, message: Message) -> bool:
        """Whether the message's work is still to be done; noted in the connection's transaction. Two who ask at the
        same time cannot both commit: the second has the database's error, and its message comes again."""
        if execute(connection, self._find, name=self._name, id=_id(message)):
            return False
        execute(connection, self._add, name=self._name, id=_id(message), done_ms=_now_ms())
        return True

    async def first_time_async(self, connection: Any, message: Message) -> bool:
        """The same for SQLAlchemy's AsyncConnection and AsyncSession."""
        if await async_execute(connection, self._find, name=self._name, id=_id(message)):
            return False
        await async_execute(connection, self._add, name=self._name, id=_id(message), done_ms=_now_ms())
        return True

    def forget(self, connection: Any, *, older_than_s: float) -> None:
        """Removes ids of messages that will not come again."""
        before_ms = _now_ms() - int(older_than_s * 1000)
        statement = f"DELETE FROM {self._table} WHERE name = :name AND done_ms < :before_ms"  # noqa: S608 - a checked name
        execute(connection, statement, name=self._name, before_ms=before_ms)

    @property
    def _find(self) -> str:
        return f"SELECT id FROM {self._table} WHERE name = :name AND id = :id"  # noqa: S608 - a checked name

    @property
    def _add(self) -> str:
        return f"INSERT INTO {self._table} (name, id, done_ms) VALUES (:name, :id, :done_ms)"  # noqa: S608


def _id(message: Message) -> str:
    return message.id or f"{message.topic}/{message.partition}/{message.offset}"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
