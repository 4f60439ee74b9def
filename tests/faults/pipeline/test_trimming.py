"""The log of a table is cut, and nothing that anybody asks it is answered otherwise than before."""

import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archive_support import TIME, Archived, row
from braidmq.pipeline.archive import Retention, compact, expire, quarantine_table, tidy
from braidmq.pipeline.archive._lookup import Lookup, Question
from braidmq.pipeline.audit import audit
from braidmq.pipeline.jobs import Sources
from braidmq.pipeline.jobs import tidy as tidy_jobs
from braidmq.pipeline.tables import (
    Commit,
    CoverageBroken,
    DataFile,
    Fenced,
    FileWriter,
    Range,
    Table,
    TableError,
    _ledger,
    _table,
    _trimming,
    settle_quarantine,
)

NOW = timedelta(0)
LATER = TIME + timedelta(hours=3)


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full state and a pack in every few commits, so that a short test meets many."""
    monkeypatch.setattr(_table, "FULL_STATE_EVERY", 4)
    monkeypatch.setattr(_trimming, "AT_LEAST", 1)
    monkeypatch.setattr(_trimming, "PACK_VERSIONS_MAX", 5)


def filled(folder: Path, batches: int = 23) -> Archived:
    made = Archived(folder)
    for number in range(batches):
        made.add([row("orders", 0, offset) for offset in range(number * 10, number * 10 + 10)])
    return made


def logged(table: Table) -> list[str]:
    return sorted(name for name in os.listdir(table.path / "_delta_log") if name.endswith(".json"))


def told(table: Table) -> list[Commit]:
    """What commits said of offsets and rows."""
    return [commit for commit in table.commits() if commit.ranges or commit.notes]


def reached(table: Table) -> tuple[int, int, int, object]:
    state = table.state("archive")
    return state.epoch, state.lineage, state.batch, state.covered.intervals


def offsets(path: Path) -> list[int]:
    return sorted(DeltaTable(str(path)).to_pyarrow_table(columns=["offset"]).column("offset").to_pylist())


def test_the_log_is_cut_and_all_that_it_said_is_known(tmp_path: Path) -> None:
    made = filled(tmp_path)
    before, state = told(made.table), reached(made.table)
    assert made.table.trim(timedelta(days=1)) == 0, "nothing is so old yet"
    removed = made.table.trim(NOW)
    assert removed > 15
    assert len(logged(made.table)) < 10
    fresh = Table.open(made.table.path)
    assert told(fresh) == before
    assert reached(fresh) == state
    assert fresh.unknown_commits() is None
    assert list(fresh.commits(since=9)) == [commit for commit in fresh.commits() if commit.version >= 9]
    assert offsets(made.table.path) == list(range(230))
    assert audit(tmp_path).findings == []


def test_who_held_the_table_open_goes_on(tmp_path: Path) -> None:
    made = filled(tmp_path)
    old = Lookup(tmp_path)
    assert len(old.find(Question(topic="orders", limit=1000))) == 230
    Table.open(made.table.path).trim(NOW)
    made.add([row("orders", 0, offset) for offset in range(230, 240)])
    for _ in range(6):
        made.table.claim("other")
    Table.open(made.table.path).trim(NOW)
    assert f"{made.table.version:020d}.json" in logged(made.table)
    assert len(old.find(Question(topic="orders", limit=1000))) == 240
    assert offsets(made.table.path) == list(range(240))


def test_a_lost_checkpoint_of_the_stream_after_a_cut_loses_and_doubles_nothing(tmp_path: Path) -> None:
    made = filled(tmp_path)
    run = made.table.begin("archive", tmp_path / "checkpoints")
    made.table.trim(NOW)
    shutil.rmtree(run.checkpoint, ignore_errors=True)
    table = Table.open(made.table.path)
    again = table.begin("archive", tmp_path / "checkpoints")
    assert again.fresh
    assert again.resumes == {"orders": {"0": 230}}
    assert table.append([], [Range("orders", 0, 220, 230, 10)], "archive", again.epoch, 0) is None
    with pytest.raises(CoverageBroken):
        table.append([], [Range("orders", 0, 225, 235, 10)], "archive", again.epoch, 0)
    with pytest.raises(Fenced):
        made.add([row("orders", 0, 230)])
    assert audit(tmp_path).findings == []


class Cut(BaseException):
    """The power went."""


def _cutting(whole: Callable[..., Any], *, after: bool, calls: int) -> Callable[..., Any]:
    left = [calls]

    def cut(*arguments: Any, **named: Any) -> Any:
        left[0] -= 1
        if left[0] and left[0] > 0:
            return whole(*arguments, **named)
        if after:
            whole(*arguments, **named)
        raise Cut

    return cut


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    ("where", "name", "calls"),
    [
        (_trimming, "write_checkpoint", 1),
        (_trimming, "_check", 1),
        (_ledger.Ledger, "add", 1),
        (_ledger.Ledger, "add", 3),
        (_ledger, "sync_folder", 1),
        (_trimming, "_remove_below", 1),
        (Path, "unlink", 1),
        (Path, "unlink", 7),
        (Path, "rename", 1),
    ],
)
def test_a_cut_that_is_cut_off_anywhere_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: Any, name: str, calls: int, after: bool
) -> None:
    made = filled(tmp_path)
    before = told(made.table)
    with monkeypatch.context() as patched:
        patched.setattr(where, name, _cutting(getattr(where, name), after=after, calls=calls))
        with pytest.raises(Cut):
            made.table.trim(NOW)
    assert told(Table.open(made.table.path)) == before
    assert offsets(made.table.path) == list(range(230))
    made.add([row("orders", 0, offset) for offset in range(230, 240)])
    Table.open(made.table.path).trim(NOW)
    assert told(made.table)[:-1] == before
    assert len(logged(made.table)) < 12
    assert audit(tmp_path).findings == []
    assert offsets(made.table.path) == list(range(240))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.sampled_from(["append", "append", "claim", "compact", "expire", "trim", "open"]), max_size=40))
def test_no_order_of_doings_shows_whether_the_log_was_cut(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    """The twin does all the same, and is never cut."""
    folder = tmp_path_factory.mktemp("twins")
    twins = [Archived(folder / name) for name in ("cut", "whole")]
    for step in steps:
        for made, is_cut in zip(twins, (True, False), strict=True):
            if step == "append":
                first = made.batch * 3
                made.add([row("orders", 0, offset) for offset in range(first, first + 3)])
            elif step == "claim":
                made.epoch = made.table.claim("archive")
            elif step == "compact":
                compact(made.path, now=LATER)
            elif step == "expire":
                expire(made.path, Retention(default=timedelta(days=1)), now=TIME + timedelta(days=3))
            elif step == "trim" and is_cut:
                made.table.trim(NOW)
            elif step == "open":
                made.table = Table.open(made.table.path)
    cut, whole = (made.table for made in twins)
    assert told(cut) == told(whole)
    assert reached(cut) == reached(whole)
    assert offsets(cut.path) == offsets(whole.path)
    assert audit(twins[0].path).findings == []


def test_what_expired_and_what_is_in_quarantine_is_told_apart_from_a_loss_after_a_cut(tmp_path: Path) -> None:
    made = filled(tmp_path)
    made.add([row("stock", 0, offset) for offset in range(10)])
    quarantine = quarantine_table(tmp_path)
    quarantine.claim("archive")
    (bad,) = _written(quarantine, {**row("orders", 0, 230), "reason": "odd"})
    notes = {"quarantined": [{"path": bad.path, "size": bad.size, "rows": 1, "partition": {}}]}
    made.table.append([], [Range("orders", 0, 230, 231, 1)], "archive", made.epoch, made.batch, notes=notes)
    expire(made.path, Retention(topics={"stock": timedelta(days=1)}), now=TIME + timedelta(days=3))
    for _ in range(5):
        made.table.claim("other")
    assert made.table.trim(NOW) > 20
    assert {finding.kind for finding in audit(tmp_path).findings} == {"row_missing"}, "not in the quarantine yet"
    settle_quarantine(made.table, quarantine, "archive")
    report = audit(tmp_path)
    assert report.findings == []
    places = {(each.topic, each.quarantined, each.expired) for each in report.partitions}
    assert places == {("orders", 1, 0), ("stock", 0, 10)}


def _written(table: Table, values: dict[str, Any]) -> list[DataFile]:
    writer = FileWriter(table.path, table.schema, table.layout)
    writer.write(pa.RecordBatch.from_pylist([values], schema=table.schema))
    return writer.close()


def test_a_ledger_that_is_lost_or_damaged_is_said(tmp_path: Path) -> None:
    made = filled(tmp_path)
    made.table.trim(NOW)
    packs = sorted((made.table.path / "_ledger").iterdir())
    assert len(packs) > 1
    packs[0].write_bytes(packs[0].read_bytes() + b"x")
    with pytest.raises(TableError, match="is not what was written"):
        list(made.table.commits())
    packs[1].unlink()
    assert made.table.unknown_commits() == (5, 10), "a pack in the middle"
    shutil.rmtree(made.table.path / "_ledger")
    kinds = {finding.kind for finding in audit(tmp_path).findings}
    assert kinds == {"commits_missing", "row_unexpected"}


def test_tidying_removes_files_and_commits_and_leaves_the_ledger(tmp_path: Path) -> None:
    made = filled(tmp_path)
    compact(made.path, now=LATER)
    for _ in range(6):
        made.table.claim("other")
    old = (datetime.now(UTC) - timedelta(days=40)).timestamp()
    for found in tmp_path.rglob("*"):
        if found.is_file():
            os.utime(found, (old, old))
    before = told(made.table)
    assert len(tidy(made.path, lag=NOW)) == 23
    assert (made.table.path / "_ledger").is_dir()
    assert len(logged(made.table)) < 15
    assert told(made.table) == before
    made.table.trim(NOW)
    assert tidy(made.path, lag=NOW) == []
    assert audit(tmp_path).findings == []


def test_nobody_else_cuts_the_log(tmp_path: Path) -> None:
    """The wheel would: behind each of its own commits, what is older than thirty days."""
    made = filled(tmp_path)
    (made.table.path / "left.parquet").write_bytes(b"left")
    old = (datetime.now(UTC) - timedelta(days=40)).timestamp()
    for found in made.table.path.rglob("*"):
        os.utime(found, (old, old))
    DeltaTable(str(made.table.path)).create_checkpoint()
    assert made.table.vacuum(timedelta(days=1)) == ["left.parquet"]
    DeltaTable(str(made.table.path)).alter.set_table_properties({"braid.note": "x"}, raise_if_not_exists=False)
    assert logged(made.table)[0] == f"{0:020d}.json"


def test_results_that_were_made_anew_and_old_commits_go_from_every_table_of_the_jobs(tmp_path: Path) -> None:
    schema = pa.schema([("n", pa.int64()), ("day", pa.string())])
    tables = [Table(tmp_path / name, schema, ["day"]) for name in ("usage_1m", "lag_1m")]
    (tmp_path / "audits").mkdir()
    for table in tables:
        for number in range(12):
            writer = FileWriter(table.path, table.schema, table.layout)
            writer.write(pa.RecordBatch.from_pylist([{"n": number, "day": "2026-01-02"}], schema=table.schema))
            table.replace(writer.close(), where={"day": "2026-01-02"}, app="usage")
    old = (datetime.now(UTC) - timedelta(days=2)).timestamp()
    for found in tmp_path.rglob("*.json"):
        os.utime(found, (old, old))
    sources = Sources(bootstrap="", root=str(tmp_path))
    assert tidy_jobs(sources) == 0, "they were replaced just now"
    assert tidy_jobs(sources, lag=NOW) == 22
    for table in tables:
        assert DeltaTable(str(table.path)).to_pyarrow_table().column("n").to_pylist() == [11]
        assert len(list(table.path.rglob("*.parquet"))) <= 2, "one file, and a checkpoint"
        assert len(logged(table)) < 12
