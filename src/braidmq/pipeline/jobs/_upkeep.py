"""Upkeep of the jobs' tables: the small files of an hour become few, days that are over go, and what nothing refers to
is removed. All of it may run beside the jobs.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from braidmq.pipeline.jobs import dlq, lag, trace, usage
from braidmq.pipeline.jobs._ingest import DAY, Sources
from braidmq.pipeline.tables import Compacted, FileDamaged, FilesGone, Table, compact

APP: Final = "expire"
RESULTS_LAG: Final = timedelta(days=1)
"""Results of a day are made anew every minute: what they were before is kept only for who is reading it."""
BY_THE_MINUTE: Final = (usage.SAMPLES, "usage_1m", lag.SAMPLES, lag.MINUTES, lag.DISK, trace.EVENTS, dlq.LETTERS)
"""What grows with every minute. Tables by the hour and by the day stay small, and are kept."""


def compact_tables(sources: Sources, *, now: datetime | None = None) -> Compacted:
    """Few files in the place of the many that came before this hour, in every table. A table with a damaged file does
    not keep the others from it: FileDamaged comes at the end."""
    done, damage = Compacted(), None
    for table in _tables(sources):
        try:
            done += compact(table, now=now)
        except FileDamaged as error:
            damage = damage or error
    if damage is not None:
        raise damage
    return done


def expire(sources: Sources, *, now: datetime | None = None) -> int:
    """Takes out days that are over, of what grows with every minute. Gives how many files there were."""
    removed = 0
    for table in _tables(sources):
        if table.path.name not in BY_THE_MINUTE:
            continue
        over = [file for file in table.files() if sources.is_over(file.partition[DAY], now or datetime.now(UTC))]
        try:
            table.replace([], remove=over, app=APP, kind="expire")
        except FilesGone:
            continue  # they were just compacted: the next hour finds what became of them
        removed += len(over)
    return removed


def tidy(sources: Sources, *, lag: timedelta = RESULTS_LAG) -> int:
    """Removes files of the jobs' tables that were replaced, or never became part of one, at least so long ago, and cuts
    the tables' logs. Gives how many files there were."""
    removed = 0
    for table in _tables(sources):
        removed += len(table.vacuum(lag))
        table.trim()
    return removed


def _tables(sources: Sources) -> Iterator[Table]:
    for folder in sorted(Path(sources.root).iterdir()):
        if folder.is_dir() and Table.exists(folder):
            yield Table.open(folder)
