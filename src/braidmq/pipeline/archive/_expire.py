"""Retention: messages leave the archive when their topic's time is over, whole days at a time, and files that nothing
refers to are removed.

What is taken out is written into the commit, offset by offset in runs, so that an audit can tell it from a loss. The
index goes first: no entry ever points at a row that is gone.
"""

import shutil
import time
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braidmq.pipeline.archive._index import drop_dead_segments
from braidmq.pipeline.archive._layout import APP as ARCHIVE_APP
from braidmq.pipeline.archive._layout import Folders
from braidmq.pipeline.archive._rewriting import Rewritten, discard, read_file, write_rows
from braidmq.pipeline.tables import LOG_LAG, VACUUM_LAG, FilesGone, LiveFile, Table

APP: Final = "expire"
PRESSURE_RETENTION: Final = timedelta(days=1)
_DAY: Final = timedelta(days=1)

Runs = dict[str, dict[str, list[list[int]]]]
"""Topic, partition, and runs of offsets: first, and the one after the last."""


class Expiry(msgspec.Struct, frozen=True):
    """What was taken out."""

    rows: int
    files_removed: int
    files_rewritten: int


class Retention(msgspec.Struct, frozen=True):
    """How long messages are kept. None is for ever. Pressure-test traffic is kept no longer than its topic is."""

    default: timedelta | None = None
    topics: dict[str, timedelta | None] = {}
    pressure: timedelta | None = PRESSURE_RETENTION

    def of(self, topic: str, traffic: str) -> timedelta | None:
        kept = self.topics.get(topic, self.default)
        if traffic != "pressure" or self.pressure is None:
            return kept
        return self.pressure if kept is None else min(kept, self.pressure)

    def shortest(self, *, with_pressure: bool) -> timedelta | None:
        times = [self.default, *self.topics.values(), self.pressure if with_pressure else None]
        return min((each for each in times if each is not None), default=None)


def expire(path: str, retention: Retention, *, now: datetime | None = None) -> Expiry:
    """Takes out the messages of days that are over for their topic. Files with others in them are rewritten."""
    folders = Folders(path)
    table = Table.open(folders.messages)
    moment = now or datetime.now(UTC)
    rows, removed, rewritten_count = 0, 0, 0
    for file in table.files():
        if not _may_expire(file, retention, moment):
            continue
        runs, kept = _split(folders, file, retention, moment)
        if not runs:
            continue
        rewritten = Rewritten() if kept is None else write_rows(folders, table.layout, kept)
        try:
            table.replace(rewritten.files, remove=[file], app=APP, kind="expire", notes={"expired": runs})
        except FilesGone:
            # Compaction was first: its files have their turn the next time.
            discard(folders, rewritten)
            continue
        rows += _count(runs)
        removed += kept is None
        rewritten_count += kept is not None
    return Expiry(rows, removed, rewritten_count)


def _may_expire(file: LiveFile, retention: Retention, now: datetime) -> bool:
    """By what the table's log says alone, so that most files are never opened."""
    shortest = retention.shortest(with_pressure=file.high.get("traffic") != "normal")
    return shortest is not None and _day_end(file.partition["day"]) <= now - shortest


def _day_end(day: Any) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC) + _DAY


def _split(folders: Folders, file: LiveFile, retention: Retention, now: datetime) -> tuple[Runs, pa.Table | None]:
    """What is over, in runs; and the rows that stay, None when none does."""
    kinds = read_file(folders.messages, file, ["topic", "partition", "offset", "traffic"])
    pairs = kinds.group_by(["topic", "traffic"]).aggregate([]).to_pylist()
    end = _day_end(file.partition["day"])
    over = [
        (pair["topic"], pair["traffic"])
        for pair in pairs
        if (kept := retention.of(pair["topic"], pair["traffic"])) is not None and end <= now - kept
    ]
    if not over:
        return {}, None
    mask = pc.equal(kinds.column("topic"), pa.scalar(None, pa.string())).fill_null(False)
    for topic, traffic in over:
        mask = pc.or_(mask, pc.and_(pc.equal(kinds.column("topic"), topic), pc.equal(kinds.column("traffic"), traffic)))
    runs = runs_of(kinds.filter(mask))
    if len(over) == len(pairs):
        return runs, None
    return runs, read_file(folders.messages, file).filter(pc.invert(mask))


def runs_of(rows: pa.Table) -> Runs:
    """The offsets of these rows as runs, for each partition."""
    result: Runs = {}
    for place in rows.group_by(["topic", "partition"]).aggregate([("offset", "list")]).to_pylist():
        offsets = np.sort(np.array(place["offset_list"], dtype=np.int64))
        breaks = np.flatnonzero(np.diff(offsets) != 1)
        firsts = offsets[np.concatenate([[0], breaks + 1])]
        lasts = offsets[np.concatenate([breaks, [len(offsets) - 1]])]
        found = [[int(first), int(last) + 1] for first, last in zip(firsts, lasts, strict=True)]
        result.setdefault(place["topic"], {})[str(place["partition"])] = found
    return result


def _count(runs: Runs) -> int:
    return sum(end - first for places in runs.values() for found in places.values() for first, end in found)


def tidy(path: str, *, lag: timedelta = VACUUM_LAG, log_lag: timedelta = LOG_LAG) -> list[str]:
    """Removes what nothing refers to for at least so long: segments of the index, then data files, then commits of the
    tables' logs that are older than `log_lag`, then checkpoints of lineages that have ended. Gives the data files'
    paths."""
    folders = Folders(path)
    table = Table.open(folders.messages)
    live = [file.path for file in table.files()]
    drop_dead_segments(folders.index, live, older_than_s=lag.total_seconds(), now_s=time.time())
    removed = table.vacuum(lag)
    table.trim(log_lag)
    if Table.exists(folders.quarantine):
        quarantine = Table.open(folders.quarantine)
        removed += quarantine.vacuum(lag)
        quarantine.trim(log_lag)
    _remove_old_checkpoints(folders, table.state(ARCHIVE_APP).lineage)
    return removed


def _remove_old_checkpoints(folders: Folders, lineage: int) -> None:
    for found in folders.checkpoints.glob(f"{ARCHIVE_APP}-*"):
        number = found.name.removeprefix(f"{ARCHIVE_APP}-").removesuffix(".source")
        if number.isdigit() and int(number) < lineage:
            shutil.rmtree(found) if found.is_dir() else found.unlink(missing_ok=True)
