"""The table of an outbox: the statements, each with its purpose. All names in them were checked."""

import time
from typing import Final

from braidmq.sdk._sql import table_name

DEFAULT_TABLE: Final = "braid_outbox"


class OutboxTable:
    """A row is a message; `batch` is the request that it goes out with, `problem` is why it does not."""

    def __init__(self, name: str) -> None:
        """Raises ValueError for a name that cannot be."""
        table = table_name(name)
        self.create = (
            f"CREATE TABLE IF NOT EXISTS {table} (id VARCHAR(255) PRIMARY KEY, position BIGINT NOT NULL, "
            "topic VARCHAR(255) NOT NULL, message TEXT NOT NULL, batch VARCHAR(64), problem TEXT)"
        )
        self.add = f"INSERT INTO {table} (id, position, topic, message) VALUES (:id, :position, :topic, :message)"  # noqa: S608
        # A batch that was begun goes first: its request may have been carried out, and is repeated as it was.
        self.begun = f"SELECT batch FROM {table} WHERE batch IS NOT NULL ORDER BY position, id LIMIT 1"  # noqa: S608
        self.waiting = (
            f"SELECT id, topic, message FROM {table} WHERE batch IS NULL AND problem IS NULL "  # noqa: S608
            "ORDER BY position, id LIMIT :most"
        )
        self.claim = f"UPDATE {table} SET batch = :batch WHERE id = :id AND batch IS NULL"  # noqa: S608
        self.of_batch = f"SELECT id, topic, message FROM {table} WHERE batch = :batch ORDER BY position, id"  # noqa: S608
        self.remove = f"DELETE FROM {table} WHERE id = :id AND batch = :batch"  # noqa: S608
        self.free = f"UPDATE {table} SET batch = NULL, problem = :problem WHERE id = :id AND batch = :batch"  # noqa: S608
        self.parked = f"SELECT id, topic, problem FROM {table} WHERE problem IS NOT NULL ORDER BY position, id"  # noqa: S608
        self.release = f"UPDATE {table} SET problem = NULL WHERE problem IS NOT NULL"  # noqa: S608


class _Positions:
    """Numbers that only grow: the time in nanoseconds, and never the same twice in a process."""

    def __init__(self) -> None:
        self._last = 0

    def next(self) -> int:
        self._last = max(self._last + 1, time.time_ns())
        return self._last


positions: Final = _Positions()
