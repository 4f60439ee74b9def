"""The tables of jobs stay few files, and no longer than they are kept, whatever happens on the way."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from braidmq.pipeline.jobs import Sources, compact_tables, expire, lag, tidy, trace, usage
from braidmq.pipeline.tables import FileDamaged, FileWriter, Range, Table, compact

DAY = date(2026, 1, 2)
SCHEMA = pa.schema(
    [
        ("offset", pa.int64()),
        ("message_id", pa.string()),
        ("keys", pa.list_(pa.string())),
        ("latency_ms", pa.map_(pa.int32(), pa.int64())),
        ("at", pa.timestamp("us", tz="UTC")),
        ("day", pa.date32()),
    ]
)
LATER = datetime.now(UTC) + timedelta(hours=2)


class Samples:
    """A table as a job fills it, batch by batch."""

    def __init__(self, path: Path) -> None:
        self.table = Table(
            path, SCHEMA, ["day"], bloom=["message_id"], statistics=["at", "message_id"], sort_by=["message_id"]
        )
        self.app = path.name
        self.epoch = self.table.claim(self.app)
        self.next = 0

    def add(self, count: int = 3, day: date = DAY, batch: int | None = None) -> int | None:
        first, self.next = self.next, self.next + count
        made = [row_of(offset, day) for offset in range(first, self.next)]
        writer = FileWriter(self.table.path, SCHEMA, self.table.layout)
        writer.write(pa.RecordBatch.from_pylist(made, schema=SCHEMA))
        number = self.table.state(self.app).batch + 1 if batch is None else batch
        ranges = [Range("__braid.x", 0, first, self.next, count)]
        return self.table.append(writer.close(), ranges, self.app, self.epoch, number)

    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = DeltaTable(str(self.table.path)).to_pyarrow_table().to_pylist()
        return sorted(found, key=lambda row: row["offset"])


def row_of(offset: int, day: date) -> dict[str, Any]:
    at = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(seconds=offset)
    identity = f"{offset * 7919 % 1000:04d}"
    return {
        "offset": offset,
        "message_id": identity,
        "keys": [identity],
        "latency_ms": [(offset, 1)],
        "at": at,
        "day": day,
    }


def sources(root: Path, keep: timedelta | None = None) -> Sources:
    return Sources(bootstrap="", root=str(root), keep=keep)


def days_of(table: Table) -> list[date]:
    return sorted(file.partition["day"] for file in table.files())


def fill(samples: Samples, days: Sequence[date] = (DAY,), batches: int = 10) -> None:
    for _ in range(batches):
        for day in days:
            samples.add(day=day)


def test_files_of_hours_that_are_over_become_one_for_each_day_with_the_same_rows(tmp_path: Path) -> None:
    samples, other = Samples(tmp_path / trace.EVENTS), Samples(tmp_path / usage.SAMPLES)
    days = [DAY, DAY + timedelta(days=1)]
    fill(samples, days)
    fill(other)
    before = samples.rows()
    done = compact_tables(sources(tmp_path), now=LATER)
    assert (done.files_before, done.files_after, done.rows) == (30, 3, 90)
    assert days_of(samples.table) == days
    assert samples.rows() == before
    for file in samples.table.files():
        ids = pq.ParquetFile(samples.table.path / file.path).read(["message_id"]).column("message_id").to_pylist()
        assert ids == sorted(ids)
        assert (file.low["message_id"], file.high["message_id"]) == (ids[0], ids[-1])
    assert compact_tables(sources(tmp_path), now=LATER).files_before == 0


def test_what_came_in_this_hour_is_left_alone(tmp_path: Path) -> None:
    samples = Samples(tmp_path / lag.SAMPLES)
    fill(samples)
    assert compact_tables(sources(tmp_path), now=datetime.now(UTC)).files_before in (0, 10), "unless an hour just began"
    fill(samples)
    assert compact_tables(sources(tmp_path), now=datetime.now(UTC) - timedelta(hours=1)).files_before == 0


def test_the_job_goes_on_as_if_nothing_had_been_compacted(tmp_path: Path) -> None:
    samples = Samples(tmp_path / usage.SAMPLES)
    fill(samples)
    compact_tables(sources(tmp_path), now=LATER)
    samples.next -= 3
    assert samples.add(batch=9) is None, "the table has it already"
    assert samples.add() is not None
    assert [row["offset"] for row in samples.rows()] == list(range(33))
    assert samples.table.state(samples.app).covered.offsets() == {"__braid.x": {"0": 33}}


def test_who_reads_while_it_is_compacted_finds_all_files_until_they_are_old(tmp_path: Path) -> None:
    samples = Samples(tmp_path / usage.SAMPLES)
    fill(samples)
    read = [samples.table.path / file.path for file in samples.table.files()]
    compact_tables(sources(tmp_path), now=LATER)
    assert tidy(sources(tmp_path)) == 0
    assert all(path.exists() for path in read)
    assert tidy(sources(tmp_path), lag=timedelta(0)) == 10
    assert not any(path.exists() for path in read)
    assert len(samples.rows()) == 30


def test_a_damaged_file_is_not_copied_and_keeps_no_other_table_from_it(tmp_path: Path) -> None:
    damaged, sound = Samples(tmp_path / lag.SAMPLES), Samples(tmp_path / usage.SAMPLES)
    fill(damaged)
    fill(sound)
    path = damaged.table.path / damaged.table.files()[4].path
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(FileDamaged, match="is not what was written"):
        compact_tables(sources(tmp_path), now=LATER)
    assert len(damaged.table.files()) == 10
    assert len(sound.table.files()) == 1


def test_who_replaces_the_files_first_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = Samples(tmp_path / usage.SAMPLES)
    fill(samples)
    replace = samples.table.replace

    def second(*given: Any, **named: Any) -> int | None:
        monkeypatch.setattr(samples.table, "replace", replace)
        replace([], where={"day": str(DAY)}, app="retention")
        return replace(*given, **named)

    monkeypatch.setattr(samples.table, "replace", second)
    assert compact(samples.table, now=LATER).files_before == 0
    assert samples.table.files() == []
    assert len(list(samples.table.path.rglob("*.parquet"))) == 10, "what was written in vain is gone"


def test_history_by_the_minute_goes_when_its_time_is_over_and_the_rest_stays(tmp_path: Path) -> None:
    names = (usage.SAMPLES, "usage_1m", "usage_1h", "usage_1d", lag.MINUTES)
    tables = {name: Samples(tmp_path / name) for name in names}
    days = [DAY, DAY + timedelta(days=5)]
    for samples in tables.values():
        fill(samples, days, batches=2)
    now = datetime(2026, 1, 10, tzinfo=UTC)
    assert expire(sources(tmp_path), now=now) == 0, "nobody said how long"
    kept = sources(tmp_path, timedelta(days=3))
    assert expire(kept, now=now) == 6
    assert {name: sorted(set(days_of(samples.table))) for name, samples in tables.items()} == {
        usage.SAMPLES: days[1:],
        "usage_1m": days[1:],
        "usage_1h": days,
        "usage_1d": days,
        lag.MINUTES: days[1:],
    }
    assert [kept.is_over(day, now) for day in days] == [True, False]
    assert expire(kept, now=now) == 0
