"""The driver without Spark: what it refuses, what it tells, and how it goes on."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from braidmq.cli._pipeline import exit_status, retention_of
from braidmq.model.errors import InvalidSetting
from braidmq.pipeline import archive, run
from braidmq.pipeline.audit import Finding, Report
from braidmq.pipeline.errors import InvalidOption
from braidmq.pipeline.jobs import Outcome, lag, trace, usage
from braidmq.pipeline.run import Driver, Plan
from braidmq.pipeline.status import SILENT_S, JobState, JobStatus, read_status
from braidmq.pipeline.tables import DataFile, FileWriter, NewerTable, Range, Table, TableError
from running_node import WaitFor

SCHEMA = pa.schema([("offset", pa.int64()), ("day", pa.date32())])
NO_SPARK = cast("SparkSession", None)


def plan(root: Path | str, *jobs: str, **more: Any) -> Plan:
    return Plan(bootstrap="127.0.0.1:1", root=str(root), jobs=jobs or run.JOBS, **more)


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    """They answer, and have the topic orders."""
    monkeypatch.setattr(run, "topics_at", lambda *_: {"orders": [0]})


@pytest.mark.parametrize("root", ["s3://bucket/x", "hdfs://host/x", "s3a:/bucket"])
def test_tables_in_an_object_store_are_refused_wherever_they_are_named(root: str) -> None:
    for refused in (lambda: plan(root).checked(), lambda: archive.Folders(root)):
        with pytest.raises(InvalidOption, match="object stores are not served"):
            refused()


@pytest.mark.parametrize("prefix", ["file://", "file:", ""])
def test_an_address_of_a_folder_of_this_machine_is_that_folder(tmp_path: Path, prefix: str) -> None:
    assert plan(f"{prefix}{tmp_path}/tables").checked().root == f"{tmp_path}/tables"
    assert (tmp_path / "tables").is_dir()
    assert archive.Folders(f"{prefix}{tmp_path}").root == tmp_path


def test_a_setting_that_the_source_does_not_have_is_refused_before_anything_begins(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match=r"the source does not have kafka\.message\.max\.bytes"):
        plan(tmp_path / "x", kafka={"message.max.bytes": "1000000"}).checked()
    assert not (tmp_path / "x").exists()


@pytest.mark.usefixtures("brokers")
@pytest.mark.parametrize("begin", [Driver.run_once, lambda driver: driver.run(threading.Event())])
def test_a_topic_that_does_not_exist_is_named_before_anything_begins(tmp_path: Path, begin: Any) -> None:
    with pytest.raises(InvalidOption, match=r"there is no topic ordrs at 127\.0\.0\.1:1"):
        begin(Driver(NO_SPARK, plan(tmp_path, "archive", topics=("orders", "ordrs"))))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("brokers")
@pytest.mark.parametrize("begin", [Driver.run_once, lambda driver: driver.run(threading.Event())])
def test_tables_of_a_newer_version_are_refused_before_anything_begins(tmp_path: Path, begin: Any) -> None:
    Table(archive.Folders(tmp_path / "archive").messages, archive.ARCHIVED, ["day", "bucket"], schema_version=99)
    with pytest.raises(NewerTable):
        begin(Driver(NO_SPARK, plan(tmp_path, "usage", "archive")))


@pytest.mark.usefixtures("brokers")
def test_a_job_that_fails_keeps_no_other_from_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Iterator[tuple[int, int]]:
        raise RuntimeError("\nno room left\nat a place in Spark")

    def sound(*_: Any) -> Any:
        return Outcome(3, ())

    monkeypatch.setattr(usage, "run_once", broken)
    monkeypatch.setattr(lag, "run_once", sound)
    found = Driver(NO_SPARK, plan(tmp_path, "usage", "lag")).run_once()
    assert (found["usage"].state, found["usage"].detail) == (JobState.FAILED, "no room left")
    assert (found["lag"].state, found["lag"].rows) == (JobState.DONE, 3)
    status = read_status(str(tmp_path))
    assert status is not None
    assert [job.state for job in status.jobs] == [JobState.FAILED, JobState.DONE]


@pytest.mark.usefixtures("brokers")
def test_what_lies_in_quarantine_and_what_was_lost_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def works(*_: Any) -> Any:
        gap = (0, 7, run.UNKNOWN)
        table.append([], [Range("__braid.usage", 0, 0, 10, 3, (gap,))], usage.SAMPLES, epoch, 1)
        return Outcome(3, ())

    table, bad = (Table(tmp_path / f"{usage.SAMPLES}{end}", SCHEMA, ["day"]) for end in ("", "_quarantine"))
    epoch = table.claim(usage.SAMPLES)
    earlier = Range("__braid.old", 0, 0, 9, 0, ((0, 9, run.UNKNOWN),))
    table.append([], [earlier], usage.SAMPLES, epoch, 0)
    rows = pa.RecordBatch.from_pylist([{"offset": at, "day": None} for at in range(2)], schema=SCHEMA)
    bad.append(files_of(bad, rows), [], usage.SAMPLES, bad.claim(usage.SAMPLES), 0)
    monkeypatch.setattr(usage, "run_once", works)
    told = Driver(NO_SPARK, plan(tmp_path, "usage")).run_once()["usage"]
    assert (told.quarantined, told.lost) == (2, 7)
    assert told.said == "2 in quarantine; 7 were gone before they were read"


@pytest.mark.usefixtures("brokers")
@pytest.mark.parametrize("also_fails", [False, True], ids=["alone", "beside a job that fails"])
def test_an_archive_that_is_not_sound_is_said_by_the_status_and_the_other_jobs_have_their_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, also_fails: bool
) -> None:
    def works(*_: Any) -> Any:
        if also_fails:
            raise RuntimeError("no room left")
        return Outcome(3, ())

    holed = _audited(Finding("hole", "offsets 3 to 5 are nowhere", "orders", 0, 3, 5))
    empty_archive(tmp_path)
    monkeypatch.setattr(run, "audit", lambda *_, **__: holed)
    monkeypatch.setattr(lag, "run_once", works)
    found = Driver(NO_SPARK, plan(tmp_path, "audit", "lag")).run_once()
    assert found["audit"].state is JobState.UNSOUND
    assert found["audit"].detail.startswith("NOT SOUND, 1 findings: ")
    assert found["lag"].state is (JobState.FAILED if also_fails else JobState.DONE)
    assert exit_status(found.values()) == 7
    status = read_status(str(tmp_path))
    assert status is not None
    assert status.jobs[0].state is JobState.UNSOUND


@pytest.mark.usefixtures("brokers")
def test_an_audit_that_cannot_be_made_has_failed_and_without_an_archive_there_is_none_to_make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise TableError("the ledger is not what was written")

    monkeypatch.setattr(run, "audit", broken)
    found = Driver(NO_SPARK, plan(tmp_path, "audit")).run_once()
    assert (found["audit"].state, exit_status(found.values())) == (JobState.IDLE, 0)
    empty_archive(tmp_path)
    found = Driver(NO_SPARK, plan(tmp_path, "audit")).run_once()
    assert found["audit"].state is JobState.FAILED
    assert found["audit"].detail == "the ledger is not what was written"
    assert exit_status(found.values()) == 1


@pytest.mark.usefixtures("brokers")
def test_a_driver_for_good_says_how_the_last_audit_went(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wait_for: WaitFor
) -> None:
    monkeypatch.setattr(run, "TICK_S", 0.02)
    monkeypatch.setattr(run, "audit", lambda *_, **__: _audited(Finding("hole", "")))
    empty_archive(tmp_path)
    stop, states = threading.Event(), []
    driver = Driver(NO_SPARK, plan(tmp_path, "audit"), lambda jobs: states.append(jobs["audit"].state))
    running = threading.Thread(target=driver.run, args=(stop,))
    running.start()
    try:
        wait_for(lambda: JobState.UNSOUND in states, 30)
    finally:
        stop.set()
        running.join(30)
    assert states[-1] is JobState.STOPPED


def empty_archive(root: Path) -> None:
    Table(archive.Folders(root / "archive").messages, archive.ARCHIVED, ["day", "bucket"])


def _audited(*findings: Finding) -> Report:
    return Report("x", "id", 1, datetime.now(UTC), 0, 0, [], list(findings))


def files_of(table: Table, rows: pa.RecordBatch) -> list[DataFile]:
    writer = FileWriter(table.path, SCHEMA, table.layout)
    writer.write(rows)
    return writer.close()


def test_what_is_said_of_a_job_is_one_line() -> None:
    assert JobStatus(name="usage").said == ""
    assert JobStatus(name="usage", detail="x", quarantined=1_200).said == "x; 1,200 in quarantine"


@pytest.mark.usefixtures("brokers")
def test_a_driver_that_waits_for_brokers_is_heard_of_and_ends_when_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wait_for: WaitFor
) -> None:
    asked, answer, stop, begun = threading.Event(), threading.Event(), threading.Event(), []

    def silent(_: Driver) -> list[str]:
        asked.set()
        assert answer.wait(60)
        return []

    def started(*_: Any) -> None:
        begun.append("usage")

    monkeypatch.setattr(run, "TICK_S", 0.02)
    monkeypatch.setattr(Driver, "_topics_to_archive", silent)
    monkeypatch.setattr(usage, "start", started)
    driver = Driver(NO_SPARK, plan(tmp_path, "archive", "usage"))
    running = threading.Thread(target=driver.run, args=(stop,))
    running.start()
    try:
        assert asked.wait(20)
        first = read_status(str(tmp_path))
        wait_for(lambda: heard_since(tmp_path, 0 if first is None else first.told_ms), 20)
    finally:
        stop.set()
        answer.set()
        running.join(20)
    assert not running.is_alive()
    assert begun == [], "another job is not begun any more"
    status = read_status(str(tmp_path))
    assert status is not None
    assert [job.state for job in status.jobs] == [JobState.STOPPED] * 2
    assert run.TICK_S < SILENT_S


def heard_since(root: Path, told_ms: int) -> bool:
    status = read_status(str(root))
    return status is not None and status.told_ms > told_ms and status.is_alive


@pytest.mark.usefixtures("brokers")
def test_a_disk_without_room_for_the_status_stops_no_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(run, "write_status", full)
    monkeypatch.setattr(usage, "run_once", lambda *_: Outcome(1, ()))
    assert Driver(NO_SPARK, plan(tmp_path, "usage")).run_once()["usage"].state is JobState.DONE


def test_how_long_pressure_traffic_is_archived_is_told_apart_from_the_rest() -> None:
    day = timedelta(days=1)
    unless_told = retention_of("400d", ["orders=30d"], None)
    assert (unless_told.of("x", "normal"), unless_told.of("x", "pressure")) == (400 * day, day)
    told = retention_of("400d", ["orders=30d"], "60d")
    assert told.of("x", "normal") == 400 * day
    assert (told.of("x", "pressure"), told.of("orders", "pressure")) == (60 * day, 30 * day), "no longer than the rest"
    with pytest.raises(InvalidSetting, match="--keep-pressure: 'long' is no time"):
        retention_of(None, [], "long")


class Query:
    """A query that goes on, as far as the driver looks at it."""

    isActive = True  # noqa: N815 - as Spark names it
    lastProgress = None  # noqa: N815 - as Spark names it

    def __init__(self, *statuses: tuple[str, bool]) -> None:
        self.statuses = list(statuses)
        self.looks = 0

    @property
    def status(self) -> dict[str, Any]:
        self.looks += 1
        message, is_more = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        return {"message": message, "isDataAvailable": is_more}

    def stop(self) -> None:
        pass


@pytest.mark.usefixtures("brokers")
def test_what_is_stuck_is_looked_for_again_and_again_while_nothing_comes_and_not_before_all_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = Query(("Initializing sources", False), ("Processing new data", True), ("Waiting for next trigger", True),
                  ("Getting offsets", False), ("Waiting for data to arrive", False))  # fmt: skip
    stop, found = threading.Event(), []

    def find(*_: Any) -> None:
        found.append(query.looks)
        if len(found) == 1:
            raise TableError("the disk is full")
        stop.set()

    told: list[str] = []
    monkeypatch.setattr(run, "TICK_S", 0.01)
    monkeypatch.setattr(run, "FIND_S", 0.05)
    monkeypatch.setattr(trace, "start", lambda *_: query)
    monkeypatch.setattr(trace, "find", find)
    Driver(NO_SPARK, plan(tmp_path, "trace"), lambda jobs: told.append(jobs["trace"].detail)).run(stop)
    assert found == [5, 6], "once it had read all, and the next time no sooner than it is due"
    assert "the disk is full" in told
