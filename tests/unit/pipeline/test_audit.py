from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archive_support import Archived, row
from braidmq.pipeline.archive import ARCHIVED
from braidmq.pipeline.archive._rewriting import read_file
from braidmq.pipeline.audit import Report, audit, read_report
from braidmq.pipeline.audit._intervals import repeated, union, without
from braidmq.pipeline.tables import FileWriter, LiveFile, Range


@pytest.fixture
def archive(tmp_path: Path) -> Archived:
    """Ten offsets of which two were aborted, and ten more."""
    made = Archived(tmp_path)
    first = [row("orders", 0, offset) for offset in range(10) if offset not in (3, 4)]
    made.add(first, [Range("orders", 0, 0, 10, 8, ((3, 5, "transaction"),))])
    made.add([row("orders", 0, offset) for offset in range(10, 20)])
    return made


def kinds(report: Report) -> set[str]:
    return {finding.kind for finding in report.findings}


def places(report: Report, kind: str) -> list[tuple[int, int]]:
    return [(finding.first, finding.end) for finding in report.findings if finding.kind == kind]


def put(archive: Archived, old: LiveFile, offsets: list[int]) -> None:
    """Puts a well-formed file with other rows in the place of one, as a careless hand would."""
    writer = FileWriter(archive.table.path, ARCHIVED, archive.table.layout)
    rows = read_file(archive.table.path, old)
    numbers = rows.column("offset").to_pylist()
    for batch in rows.take([numbers.index(offset) for offset in offsets]).combine_chunks().to_batches():
        writer.write(batch)
    archive.table.replace(writer.close(), remove=[old], app="hand")


def file_with(archive: Archived, offset: int) -> LiveFile:
    return next(file for file in archive.table.files() if file.low["offset"] <= offset <= file.high["offset"])


def test_a_sound_archive_is_said_to_be_sound(archive: Archived) -> None:
    report = audit(archive.path)
    assert report.sound
    (partition,) = report.partitions
    assert (partition.first, partition.end, partition.covered) == (0, 20, 20)
    assert (partition.rows, partition.gaps) == (18, {"transaction": 2})
    assert "SOUND" in report.text()
    assert "orders-0: offsets 0 to 19; 18 rows, gaps: 2 transaction" in report.text()


def test_a_report_is_signed_and_a_change_of_it_shows(archive: Archived, tmp_path: Path) -> None:
    report = audit(archive.path)
    saved = read_report(report.save(tmp_path / "audits"))
    assert saved == report
    assert saved.genuine
    assert not msgspec.structs.replace(saved, version=saved.version + 1).genuine
    assert [path.read_text() for path in (tmp_path / "audits").glob("*.txt")] == [report.text()]


def test_a_missing_file_is_found(archive: Archived) -> None:
    (archive.table.path / file_with(archive, 12).path).unlink()
    report = audit(archive.path)
    assert kinds(report) == {"file_missing", "row_missing"}
    assert places(report, "row_missing") == [(10, 20)]


def test_a_missing_row_is_found(archive: Archived) -> None:
    put(archive, file_with(archive, 12), [offset for offset in range(10, 20) if offset != 15])
    assert places(audit(archive.path), "row_missing") == [(15, 16)]


def test_a_row_that_is_there_twice_is_found(archive: Archived) -> None:
    put(archive, file_with(archive, 12), [*range(10, 20), 15])
    report = audit(archive.path)
    assert kinds(report) == {"row_twice"}
    assert places(report, "row_twice") == [(15, 16)]


def test_a_row_that_is_there_in_two_files_is_found(archive: Archived) -> None:
    writer = FileWriter(archive.table.path, ARCHIVED, archive.table.layout)
    for batch in read_file(archive.table.path, file_with(archive, 2)).slice(1, 2).to_batches():
        writer.write(batch)
    archive.table.replace(writer.close(), remove=[], app="hand")
    assert places(audit(archive.path), "row_twice") == [(1, 3)]


def test_a_row_that_nobody_brought_is_found(archive: Archived) -> None:
    writer = FileWriter(archive.table.path, ARCHIVED, archive.table.layout)
    other = Archived(Path(archive.path) / "other")
    other.add([row("orders", 0, 3), row("orders", 0, 77)])
    for file in other.table.files():
        for batch in read_file(other.table.path, file).to_batches():
            writer.write(batch)
    archive.table.replace(writer.close(), remove=[], app="hand")
    assert places(audit(archive.path), "row_unexpected") == [(3, 4), (77, 78)]


@pytest.mark.parametrize("part", [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999])
def test_flipped_bytes_are_found_wherever_they_are(archive: Archived, part: float) -> None:
    path = archive.table.path / file_with(archive, 12).path
    whole = bytearray(path.read_bytes())
    whole[int(len(whole) * part)] ^= 0x10
    path.write_bytes(whole)
    assert "file_damaged" in kinds(audit(archive.path))


def test_a_file_that_was_cut_off_is_found(archive: Archived) -> None:
    path = archive.table.path / file_with(archive, 12).path
    path.write_bytes(path.read_bytes()[:-10])
    assert "file_damaged" in kinds(audit(archive.path))


def test_a_file_of_other_rows_under_the_old_name_is_found(archive: Archived) -> None:
    file = file_with(archive, 12)
    path = archive.table.path / file.path
    pq.write_table(pq.ParquetFile(path).read().slice(0, 9), path)
    assert {"file_damaged", "row_missing"} <= kinds(audit(archive.path))


def test_a_hole_and_a_gap_without_a_cause_are_found(archive: Archived) -> None:
    archive.table.append([], [Range("orders", 0, 25, 30, 0, ((25, 30, "unknown"),))], "archive", 1, 9, holes=True)
    report = audit(archive.path)
    assert places(report, "hole") == [(20, 25)]
    assert places(report, "gap_unexplained") == [(25, 30)]


def test_a_range_that_does_not_add_up_is_found(archive: Archived) -> None:
    archive.add([row("orders", 0, offset) for offset in (20, 21)], [Range("orders", 0, 20, 25, 2)])
    report = audit(archive.path)
    assert places(report, "gap_unexplained") == [(20, 25)]
    assert places(report, "row_missing") == [(22, 25)]
    assert "NOT SOUND" in report.text()


INTERVALS = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 8)).map(lambda pair: (pair[0], pair[0] + pair[1])), max_size=10
)


def offsets(intervals: list[tuple[int, int]]) -> list[int]:
    return [offset for first, end in intervals for offset in range(first, end)]


@settings(deadline=None)
@given(INTERVALS, INTERVALS)
def test_intervals_are_sets_of_offsets(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    assert offsets(union(one)) == sorted(set(offsets(one)))
    assert offsets(without(one, other)) == sorted(set(offsets(one)) - set(offsets(other)))
    assert offsets(repeated(one)) == sorted({each for each in offsets(one) if offsets(one).count(each) > 1})
