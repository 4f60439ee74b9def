"""Cuts a table's log: what is older than some time goes, once a checkpoint and the ledger have all that is in it.

The order is what makes it safe, and each step can be the last of a life. First a checkpoint, read back, so that the
table can be opened without its beginning. Then the ledger, so that what the commits said stays known. Only then commits
are removed, the oldest first. Who comes after a cut-off one finds leftovers below the ledger's end, and removes them.

The cut is never behind a commit that has the full state of all jobs: whoever asks how far a job has come goes back to
one, and stays in what is left.
"""

import os
import re
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from braidmq.pipeline.tables._errors import TableError
from braidmq.pipeline.tables._files import sync_file, sync_folder
from braidmq.pipeline.tables._ledger import PACK_VERSIONS_MAX, Ledger

if TYPE_CHECKING:
    from braidmq.pipeline.tables._table import Table

LOG_LAG: Final = timedelta(days=1)
"""For readers who have begun: they find what they have listed for so long."""
AT_LEAST: Final = 256
"""Fewer commits than these are not worth a pack."""
_COMMIT: Final = re.compile(r"(\d{20})\.json")
_CHECKPOINT: Final = re.compile(r"(\d{20})\.checkpoint\.parquet")


def trim(table: "Table", lag: timedelta = LOG_LAG, *, at_least: int | None = None) -> int:
    """Removes commits that are older than `lag`, if they are `at_least` so many; gives how many.

    Raises TableError where the log cannot be read.
    """
    log = table.path / "_delta_log"
    ledger = Ledger(table.path)
    versions = commit_versions(log)
    first = max(ledger.end(), versions[0])
    cut = _cut(table, log, [version for version in versions if version >= first], time.time() - lag.total_seconds())
    if cut is not None and cut - first >= (AT_LEAST if at_least is None else at_least):
        _check(table.path, write_checkpoint(table.path))
        for start in range(first, cut, PACK_VERSIONS_MAX):
            end = min(start + PACK_VERSIONS_MAX, cut)
            ledger.add(start, _commits(table, start, end), end)
    return _remove_below(log, ledger.end())


def commit_versions(log: Path) -> list[int]:
    """The versions whose commits are there, in order."""
    return sorted(int(found[1]) for name in os.listdir(log) if (found := _COMMIT.fullmatch(name)))


def _cut(table: "Table", log: Path, versions: list[int], oldest_s: float) -> int | None:
    """The newest version with a full state that is old enough; None when there is none."""
    old = [version for version in versions if (log / f"{version:020d}.json").stat().st_mtime <= oldest_s]
    for version in reversed(old):
        metadata = table.metadata(version)
        if metadata is not None and "state" in metadata:
            return version
    return None


def _commits(table: "Table", start: int, end: int) -> Iterator[tuple[int, dict[str, Any]]]:
    for version in range(start, end):
        metadata = table.metadata(version)
        if metadata is None:
            raise TableError(f"the log of the table at {table.path} lacks version {version}; it is not cut")
        yield version, metadata


def write_checkpoint(path: Path) -> int:
    """A checkpoint of the table as it is now, on disk; gives its version."""
    log = path / "_delta_log"
    delta = DeltaTable(str(path))
    version = delta.version()
    target = log / f"{version:020d}.checkpoint.parquet"
    if not target.exists():
        delta.create_checkpoint()
    sync_file(target)
    sync_file(log / "_last_checkpoint")
    sync_folder(log)
    return version


def _check(path: Path, version: int) -> None:
    """Reads a checkpoint back: all that the cut leaves of the table's beginning is in it."""
    target = path / "_delta_log" / f"{version:020d}.checkpoint.parquet"
    found = pq.ParquetFile(target).read(["add.path", "metaData.id", "protocol.minReaderVersion"]).to_pylist()
    kept = {row["add"]["path"] for row in found if row["add"] is not None}
    has_head = all(any(row[name] is not None for row in found) for name in ("metaData", "protocol"))
    actions = pa.table(DeltaTable(str(path), version=version).get_add_actions())
    if not has_head or kept != set(actions.column("path").to_pylist()):
        raise TableError(f"{target} was read back, and is not the table as it was then; the log is not cut")


def _remove_below(log: Path, end: int) -> int:
    """Checkpoints go before the commits that they need to be of use."""
    for name in os.listdir(log):
        found = _CHECKPOINT.fullmatch(name)
        if found and int(found[1]) < end:
            (log / name).unlink(missing_ok=True)
    gone = [version for version in commit_versions(log) if version < end]
    for version in gone:
        (log / f"{version:020d}.json").unlink(missing_ok=True)
    return len(gone)
