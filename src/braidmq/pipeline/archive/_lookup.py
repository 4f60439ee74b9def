"""Looks messages up in the archive with DuckDB. Runs in a process of its own (see `_search`), which holds the table's
files, the index and DuckDB open, so that a question costs milliseconds.

The index says where an id or a key may be; that row is read and compared. Files that no index covers yet, keys that
many messages have, and questions by topic and time, are for DuckDB, which uses the files' own statistics and Bloom
filters. It may read the table's folder and nothing else, and a user's words reach it as parameters only.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import duckdb
import msgspec
import numpy as np
import pyarrow.parquet as pq
from deltalake import DeltaTable

from braidmq.pipeline.archive._hashing import ID, KEY, hash_of
from braidmq.pipeline.archive._index import Index
from braidmq.pipeline.archive._layout import Folders, by_schema
from braidmq.pipeline.columns import ADDED, MESSAGE
from braidmq.pipeline.tables import LiveFile, Table

LIMIT_MAX: Final = 1_000
LIMIT: Final = 100
MEMORY: Final = "512MB"
THREADS: Final = 2
_NEAR_ROWS_MAX: Final = 64
"""So many rows that the index names are read one by one; a key that more messages have is searched for in the files
that the index names."""
_OPEN_FILES_MAX: Final = 256


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is looked for; all that is given must hold."""

    id: str | None = None
    key: str | None = None
    topic: str | None = None
    instance: str | None = None
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
    repeated_headers: list[tuple[str, bytes | None]] | None = None
    """All headers in their order, where a name comes more than once."""


_COLUMNS: Final = ", ".join(f'"{name}"' for name in MESSAGE.names)
_OLD_COLUMNS: Final = ", ".join(f'NULL AS "{name}"' if name in ADDED else f'"{name}"' for name in MESSAGE.names)
"""Of files that were written before the schema got its newest columns."""


class Lookup:
    """One archive, open for questions."""

    def __init__(self, path: str | Path) -> None:
        folders = Folders(path)
        self._table = Table.open(folders.messages)
        self._delta = DeltaTable(str(folders.messages))
        self._index = Index(folders.index)
        self._files: dict[str, _File] = {}
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
        if self._version >= 0 and self._is_newest(self._version):
            return
        self._delta = DeltaTable(str(self._table.path))
        self._live = {file.path: file for file in self._table.files()}
        self._index.refresh()
        covered = self._index.covered()
        self._uncovered = [file for path, file in self._live.items() if path not in covered]
        self._version = self._delta.version()

    def _is_newest(self, version: int) -> bool:
        """By two names, without reading the log. It is cut now and then, but never behind its newest commit."""
        log = self._table.path / "_delta_log"
        return (log / f"{version:020d}.json").exists() and not (log / f"{version + 1:020d}.json").exists()

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
        return [
            found
            for file in files
            for found in self._opened(file.path).rows(sorted(by_file[file.path]))
            if _answers(found, question)
        ]

    def _opened(self, path: str) -> "_File":
        """A file with its footer read; those that were used last stay open."""
        file = self._files.pop(path, None) or _File(self._table.path / path)
        self._files[path] = file
        if len(self._files) > _OPEN_FILES_MAX:
            self._files.pop(next(iter(self._files))).close()
        return file

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

    def _scan(self, files: Sequence[LiveFile], question: Question) -> list[Found]:
        new, old = by_schema(files)
        return self._selected(_COLUMNS, new, question) + self._selected(_OLD_COLUMNS, old, question)

    def _selected(self, columns: str, files: Sequence[LiveFile], question: Question) -> list[Found]:
        if not files:
            return []
        conditions, parameters = _conditions(question)
        paths = [str(self._table.path / file.path) for file in files]
        # The words of this statement are all ours; what a user said is in the parameters.
        statement = (
            f"SELECT {columns} FROM read_parquet(?, hive_partitioning = false) "  # noqa: S608
            f'WHERE {" AND ".join(conditions) or "true"} ORDER BY store_time, topic, partition, "offset" LIMIT ?'
        )
        fetched = self._connection.execute(statement, [paths, *parameters, question.limit]).fetchall()
        return [_found(dict(zip(MESSAGE.names, row, strict=True))) for row in fetched]


class _File:
    """A file of the table, from which single rows are read: the row group that holds one, and no more."""

    def __init__(self, path: Path) -> None:
        self._file = pq.ParquetFile(path)
        counts = [self._file.metadata.row_group(number).num_rows for number in range(self._file.num_row_groups)]
        self._ends = np.cumsum(counts)
        self._names = [name for name in MESSAGE.names if name in self._file.schema_arrow.names]

    def rows(self, numbers: Sequence[int]) -> Iterator[Found]:
        """The rows of these numbers, which are sorted."""
        for group, members in groupby(numbers, key=lambda number: int(np.searchsorted(self._ends, number, "right"))):
            first = int(self._ends[group - 1]) if group else 0
            table = self._file.read_row_group(group, columns=self._names, use_threads=False)
            for values in table.take([number - first for number in members]).to_pylist():
                values["headers"] = None if values["headers"] is None else dict(values["headers"])
                yield _found(dict.fromkeys(MESSAGE.names) | values)

    def close(self) -> None:
        self._file.close()


def _answers(found: Found, question: Question) -> bool:
    return (
        (question.id is None or found.message_id == question.id)
        and (question.key is None or question.key in (found.keys or ()))
        and (question.topic is None or found.topic == question.topic)
        and (question.instance is None or found.instance == question.instance)
        and (question.start is None or found.store_time >= question.start)
        and (question.end is None or found.store_time < question.end)
    )


def _conditions(question: Question) -> tuple[list[str], list[Any]]:
    asked = [
        ("message_id = ?", question.id),
        ("list_contains(keys, ?)", question.key),
        ("topic = ?", question.topic),
        ("instance = ?", question.instance),
        ("store_time >= ?", question.start),
        ("store_time < ?", question.end),
    ]
    return [text for text, value in asked if value is not None], [value for _, value in asked if value is not None]


def _may_hold(file: LiveFile, topic: str) -> bool:
    low, high = file.low.get("topic"), file.high.get("topic")
    return low is None or high is None or low <= topic <= high


def _found(values: dict[str, Any]) -> Found:
    for name in ("store_time", "born_time"):
        if values[name] is not None:
            values[name] = values[name].astimezone(UTC)
    if values["repeated_headers"] is not None:
        values["repeated_headers"] = [(each["name"], each["value"]) for each in values["repeated_headers"]]
    return Found(**values)
