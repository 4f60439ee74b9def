import os
import zlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from archive_support import TIME, Archived, row
from braidmq.pipeline.archive import Folders, Retention, compact, expire, find, tidy
from braidmq.pipeline.archive._lookup import Lookup, Question
from braidmq.pipeline.audit import audit
from braidmq.pipeline.tables import FileDamaged, _compaction

LATER = TIME + timedelta(hours=2)


def an_archive(path: Path, batches: int = 6, size: int = 10) -> Archived:
    archive = Archived(path)
    for number in range(batches):
        offsets = range(number * size, (number + 1) * size)
        archive.add([row(topic, 0, offset) for offset in offsets for topic in ("stock", "orders")])
    return archive


def test_compaction_makes_few_sorted_files_of_many_with_the_same_rows(tmp_path: Path) -> None:
    archive = an_archive(tmp_path)
    before = sorted(file.rows for file in archive.table.files())
    done = compact(str(tmp_path), now=LATER)
    files = archive.table.files()
    assert (done.files_before, done.files_after, done.rows) == (len(before), len(files), 120)
    assert len(files) == len({file.partition["bucket"] for file in files})
    for file in files:
        rows = pq.ParquetFile(archive.table.path / file.path).read(["topic", "partition", "offset"]).to_pylist()
        assert rows == sorted(rows, key=lambda each: (each["topic"], each["partition"], each["offset"]))
    assert audit(tmp_path).findings == []
    assert compact(str(tmp_path), now=LATER).files_before == 0


def test_files_are_named_by_the_offsets_in_them(tmp_path: Path) -> None:
    archive = Archived(tmp_path)
    first, second = (f"{zlib.crc32(name):08x}" for name in (b"orders", b"stock"))
    for rows, name in (
        ([("orders", 1, at) for at in range(7, 20)], f"{first}-1-7-19."),
        ([("stock", at % 2, 30 + at // 2) for at in range(8)], f"{second}-all-30-33."),
        ([(each, 0, at) for each in ("bills", "sales") for at in (50, 51)], "topics-50-51."),
    ):
        before = {file.path for file in archive.table.files()}
        archive.add([row(*each, bucket=3) for each in rows])
        (new,) = [file.path for file in archive.table.files() if file.path not in before]
        assert Path(new).name.startswith(name)


def test_what_is_compressed_well_is_compacted_in_parts_that_fit_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = Archived(tmp_path)
    for number in range(12):
        archive.add([row("orders", 0, number * 10 + at, value=b"x" * 100_000) for at in range(10)])
    assert sum(file.size for file in archive.table.files()) < 1_000_000, "a twelfth of what it is"
    monkeypatch.setattr(_compaction, "HELD_BYTES", 4_500_000)
    done = compact(str(tmp_path), now=LATER)
    assert (done.files_before, done.files_after, done.rows) == (12, 3, 120)
    assert [file.rows for file in archive.table.files()] == [40, 40, 40]
    assert compact(str(tmp_path), now=LATER).files_before == 0, "they are as large as they may be"
    assert audit(tmp_path).findings == []


def test_an_hour_that_is_not_over_is_left_alone(tmp_path: Path) -> None:
    an_archive(tmp_path)
    assert compact(str(tmp_path), now=TIME + timedelta(minutes=30)).files_before == 0


def test_messages_are_found_before_during_and_after_compaction(tmp_path: Path) -> None:
    an_archive(tmp_path)
    question = Question(id="orders-0-33")
    lookup = Lookup(tmp_path)
    assert len(lookup.find(question)) == 1
    compact(str(tmp_path), now=LATER)
    assert len(lookup.find(question)) == 1
    assert len(lookup.find(Question(key="k3"))) == 24
    assert lookup._uncovered == []
    tidy(str(tmp_path), lag=timedelta(0))
    assert len(Lookup(tmp_path).find(question)) == 1


def test_the_archive_goes_on_while_it_is_compacted(tmp_path: Path) -> None:
    archive = an_archive(tmp_path)
    other = Archived.__new__(Archived)
    other.__dict__ |= archive.__dict__
    compact(str(tmp_path), now=LATER)
    other.add([row("orders", 0, offset) for offset in range(60, 70)])
    assert audit(tmp_path).findings == []
    assert len(find(tmp_path, topic="orders")) == 70


def test_a_damaged_file_is_not_copied(tmp_path: Path) -> None:
    archive = an_archive(tmp_path)
    path = archive.table.path / archive.table.files()[0].path
    whole = bytearray(path.read_bytes())
    whole[100] ^= 1
    path.write_bytes(whole)
    with pytest.raises(FileDamaged, match="is not what was written"):
        compact(str(tmp_path), now=LATER)


def test_topics_leave_the_archive_each_in_its_own_time(tmp_path: Path) -> None:
    archive = an_archive(tmp_path)
    compact(str(tmp_path), now=LATER)
    retention = Retention(default=timedelta(days=30), topics={"stock": timedelta(days=2)})
    assert expire(str(tmp_path), retention, now=TIME + timedelta(days=1)).rows == 0
    assert expire(str(tmp_path), retention, now=TIME + timedelta(days=4)).rows == 60
    assert find(tmp_path, topic="stock") == []
    assert len(find(tmp_path, topic="orders")) == 60
    report = audit(tmp_path)
    assert report.findings == []
    assert {each.topic: (each.rows, each.expired) for each in report.partitions} == {
        "orders": (60, 0),
        "stock": (0, 60),
    }
    assert expire(str(tmp_path), retention, now=TIME + timedelta(days=40)).rows == 60
    assert archive.table.files() == []
    assert audit(tmp_path).findings == []


def test_one_file_with_topics_of_several_times_is_rewritten(tmp_path: Path) -> None:
    archive = Archived(tmp_path)
    # Both lie in one bucket.
    archive.add([row(topic, 0, offset, bucket=3) for topic in ("stock", "orders") for offset in range(20)])
    done = expire(str(tmp_path), Retention(topics={"stock": timedelta(days=1)}), now=TIME + timedelta(days=5))
    assert (done.rows, done.files_removed, done.files_rewritten) == (20, 0, 1)
    assert len(find(tmp_path, id="orders-0-7")) == 1
    assert find(tmp_path, id="stock-0-7") == []
    assert audit(tmp_path).findings == []


def test_pressure_traffic_has_its_own_time(tmp_path: Path) -> None:
    archive = Archived(tmp_path)
    traffic = ["normal", "pressure", "pressure"]
    archive.add([row("orders", 0, offset, traffic=traffic[offset % 3]) for offset in range(30)])
    done = expire(str(tmp_path), Retention(), now=TIME + timedelta(days=3))
    assert done.rows == 20
    assert {each.traffic for each in find(tmp_path, topic="orders")} == {"normal"}
    assert audit(tmp_path).findings == []
    assert expire(str(tmp_path), Retention(), now=TIME + timedelta(days=3)).rows == 0


def test_tidying_removes_what_nothing_refers_to_the_index_first(tmp_path: Path) -> None:
    archive = an_archive(tmp_path)
    compact(str(tmp_path), now=LATER)
    old = (datetime.now(UTC) - timedelta(days=30)).timestamp()
    for found in tmp_path.rglob("*"):
        if found.is_file() and "_delta_log" not in found.parts:
            os.utime(found, (old, old))
    on_disk = set(archive.table.path.rglob("*.parquet"))
    assert tidy(str(tmp_path), lag=timedelta(days=7)) == [], "they were replaced just now"
    removed = tidy(str(tmp_path), lag=timedelta(0))
    live = {archive.table.path / file.path for file in archive.table.files()}
    assert len(removed) == len(on_disk - live) > 0
    assert {path for path in archive.table.path.rglob("*.parquet") if "_delta_log" not in path.parts} == live
    assert len(list(Folders(tmp_path).index.glob("*.index"))) > 0
    assert len(find(tmp_path, id="orders-0-3")) == 1
    assert audit(tmp_path).findings == []
