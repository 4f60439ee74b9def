"""Looks messages up in the archive with DuckDB. Runs in a process of its own (see `_search`), which holds the table's
files, the index and DuckDB open, so that a question costs milliseconds.

The index says where an id or a key may be; DuckDB reads that row and compares. Files that no index covers yet, and
questions by topic and time, are read by DuckDB with the files' own statistics and Bloom filters. DuckDB may read the
table's folder and nothing else, and a user's words reach it as parameters only.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import duckdb
import msgspec
from deltalake import DeltaTable

from braidmq.pipeline.archive._hashing import ID, KEY, hash_of
from braidmq.pipeline.archive._index import Index
from braidmq.pipeline.archive._layout import Folders
from braidmq.pipeline.columns import MESSAGE
from braidmq.pipeline.tables import LiveFile, Table

LIMIT_MAX: Final = 1_000
LIMIT: Final = 100
MEMORY: Final = "512MB"
THREADS: Final = 2
_NEAR_ROWS_MAX: Final = 10_000
"""So many rows that the index names are read one by one; a key that more messages have is searched for."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is looked for; all that is given must hold."""

    id: str | None = None
    key: str | None = None
    topic: str | None = None
    start: datetime | None = None
    end: datetime | None = None
    """Exclusive."""
    limit: int = LIMIT


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A message as it is archived."""

    instance: str
    topic: str
    partition: int
    offset: int
    message_id: str | None
    keys: list[str] | None
    tag: str | None
    store_time: datetime
    born_time: datetime | None
    headers: dict[str, bytes | None] | None
    key: bytes | None
    value: bytes | None
    protocol: str
    traffic: str
    trace_id: str | None


_COLUMNS: Final = ", ".join(f'"{name}"' for name in MESSAGE.names)


class Lookup:
    """One archive, open for questions."""

    def __init__(self, path: str | Path) -> None:
        folders = Folders(path)
        self._table = Table.open(folders.messages)
        self._delta = DeltaTable(str(folders.messages))
        self._index = Index(folders.index)
        self._version = -1
        self._live: dict[str, LiveFile] = {}
        self._uncovered: list[LiveFile] = []
        self._connection = duckdb.connect(":memory:", config={"autoload_known_extensions": "false"})
        for statement in (
            f"SET memory_limit = '{MEMORY}'",
            f"SET threads = {THREADS}",
            "SET TimeZone = 'UTC'",
            "SET enable_object_cache = true",
        ):
            self._connection.execute(statement)
        self._connection.execute("SET allowed_directories = ?", [[str(folders.messages)]])
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def find(self, question: Question) -> list[Found]:
        """At most `limit` messages: the oldest first."""
        self._refresh()
        if question.id is not None or question.key is not None:
            rows = self._by_name(question)
        else:
            rows = self._scan(self._pruned(self._live.values(), question), question)
        return sorted(rows, key=lambda row: (row.store_time, row.topic, row.partition, row.offset))[: question.limit]

    def _refresh(self) -> None:
        following = self._table.path / "_delta_log" / f"{self._version + 1:020d}.json"
        if self._version >= 0 and not following.exists():
            return
        self._delta.update_incremental()
        self._live = {file.path: file for file in self._table.files()}
        self._index.refresh()
        covered = self._index.covered()
        self._uncovered = [file for path, file in self._live.items() if path not in covered]
        self._version = self._delta.version()

    def _by_name(self, question: Question) -> list[Found]:
        wanted = hash_of(question.id, ID) if question.id is not None else hash_of(question.key or "", KEY)
        places = [place for place in self._index.find(wanted) if place[0] in self._live]
        rows = self._rows(places, question)
        uncovered = self._pruned(self._uncovered, question)
        return rows + (self._scan(uncovered, question) if uncovered else [])

    def _rows(self, places: Sequence[tuple[str, int]], question: Question) -> list[Found]:
        """The rows at these places that are what was asked for: two texts can have one hash."""
        by_file: dict[str, list[int]] = {}
        for path, row in places:
            by_file.setdefault(path, []).append(row)
        files = self._pruned([self._live[path] for path in by_file], question)
        if len(places) > _NEAR_ROWS_MAX:
            return self._scan(files, question)
        result: list[Found] = []
        for file in sorted(files, key=lambda each: each.low["store_time"]):
            if len(result) >= question.limit and file.low["store_time"] > max(row.store_time for row in result):
                break
            result += self._scan([file], question, by_file[file.path])
        return result

    def _pruned(self, files: Any, question: Question) -> list[LiveFile]:
        result = []
        for file in files:
            if question.start is not None and file.high["store_time"] < question.start:
                continue
            if question.end is not None and file.low["store_time"] >= question.end:
                continue
            if question.topic is not None and not _may_hold(file, question.topic):
                continue
            result.append(file)
        return result

    def _scan(self, files: Sequence[LiveFile], question: Question, rows: Sequence[int] | None = None) -> list[Found]:
        if not files:
            return []
        conditions, parameters = _conditions(question)
        if rows is not None:
            conditions.append(f"file_row_number IN ({', '.join('?' * len(rows))})")
            parameters += rows
        paths = [str(self._table.path / file.path) for file in files]
        where = " AND ".join(conditions) or "true"
        # The words of this statement are all ours; what a user said is in the parameters.
        statement = (
            f"SELECT {_COLUMNS} FROM read_parquet(?, file_row_number = true, hive_partitioning = false) "  # noqa: S608
            f'WHERE {where} ORDER BY store_time, topic, partition, "offset" LIMIT ?'
        )
        fetched = self._connection.execute(statement, [paths, *parameters, question.limit]).fetchall()
        return [_found(row) for row in fetched]


def _conditions(question: Question) -> tuple[list[str], list[Any]]:
    asked = [
        ("message_id = ?", question.id),
        ("list_contains(keys, ?)", question.key),
        ("topic = ?", question.topic),
        ("store_time >= ?", question.start),
        ("store_time < ?", question.end),
    ]
    return [text for text, value in asked if value is not None], [value for _, value in asked if value is not None]


def _may_hold(file: LiveFile, topic: str) -> bool:
    low, high = file.low.get("topic"), file.high.get("topic")
    return low is None or high is None or low <= topic <= high


def _found(row: Sequence[Any]) -> Found:
    values = dict(zip(MESSAGE.names, row, strict=True))
    for name in ("store_time", "born_time"):
        if values[name] is not None:
            values[name] = values[name].astimezone(UTC)
    return Found(**values)
