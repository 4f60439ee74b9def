import json
import multiprocessing
import os
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import WriterCommitMessage

from braidmq.pipeline.tables import (
    CoverageBroken,
    Covered,
    DataFile,
    Fenced,
    FilesGone,
    FileWriter,
    NewerTable,
    Range,
    SinkOptions,
    Table,
    TableError,
    TableStreamWriter,
    UnlikeTable,
    Writing,
    file_checksum,
    joined,
    named_checksum,
)

SCHEMA = pa.schema(
    [
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("id", pa.string()),
        pa.field("time", pa.timestamp("us", tz="UTC")),
        pa.field("day", pa.date32()),
    ]
)
DAY = date(2026, 1, 2)
TIME = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


def a_table(path: Path) -> Table:
    return Table(path, SCHEMA, ["day"], bloom=["id"], statistics=["topic", "partition", "offset", "time"])


def rows(start: int, end: int, *, topic: str = "orders", day: date = DAY) -> pa.RecordBatch:
    count = end - start
    return pa.RecordBatch.from_arrays(
        [
            pa.array([topic] * count),
            pa.array([0] * count, pa.int32()),
            pa.array(range(start, end), pa.int64()),
            pa.array([f"id-{number}" for number in range(start, end)]),
            pa.array([TIME] * count, pa.timestamp("us", tz="UTC")),
            pa.array([day] * count),
        ],
        schema=SCHEMA,
    )


def written(table: Table, *batches: pa.RecordBatch) -> list[DataFile]:
    writer = FileWriter(table.path, table.schema, table.layout)
    for batch in batches:
        writer.write(batch)
    return writer.close()


def a_range(start: int, end: int, topic: str = "orders") -> Range:
    return Range(topic, 0, start, end, end - start)


def append(table: Table, start: int, end: int, epoch: int, batch: int) -> int | None:
    return table.append(written(table, rows(start, end)), [a_range(start, end)], "archive", epoch, batch)


def offsets(table: Table) -> list[int]:
    return sorted(
        offset
        for file in table.files()
        for offset in pq.read_table(table.path / file.path, partitioning=None).column("offset").to_pylist()
    )


def test_a_batch_is_in_the_table_with_what_it_covers(tmp_path: Path) -> None:
    table = a_table(tmp_path)
    epoch = table.claim("archive")
    assert append(table, 0, 10, epoch, 0) is not None
    state = a_table(tmp_path).state("archive")
    assert (state.epoch, state.batch) == (1, 0)
    assert state.covered.offsets() == {"orders": {"0": 10}}
    assert offsets(table) == list(range(10))


def test_a_batch_that_comes_again_is_skipped(tmp_path: Path) -> None:
    table = a_table(tmp_path)
    epoch = table.claim("archive")
    append(table, 0, 10, epoch, 0)
    assert append(table, 0, 10, epoch, 0) is None
    assert offsets(table) == list(range(10))


def test_a_batch_that_comes_again_under_a_new_lineage_is_known_by_its_offsets(tmp_path: Path) -> None:
    table = a_table(tmp_path)
    append(table, 0, 10, table.claim("archive"), 7)
    epoch = table.claim("archive", anew=True)
    assert append(table, 0, 10, epoch, 0) is None
    assert append(table, 10, 20, epoch, 0) is not None
    assert offsets(table) == list(range(20))


def test_the_writer_of_an_older_epoch_fails_loudly(tmp_path: Path) -> None:
    old, new = a_table(tmp_path), a_table(tmp_path)
    first = old.claim("archive")
    append(old, 0, 10, first, 0)
    second = new.claim("archive")
    with pytest.raises(Fenced, match="this driver has epoch 1, the table has 2"):
        append(old, 10, 20, first, 1)
    append(new, 10, 20, second, 1)
    assert offsets(new) == list(range(20))


def test_an_epoch_that_nobody_claimed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="never claimed"):
        append(a_table(tmp_path), 0, 1, 5, 0)


@pytest.mark.parametrize(("start", "end"), [(5, 15), (11, 20)])
def test_a_batch_that_does_not_continue_the_table_is_refused(tmp_path: Path, start: int, end: int) -> None:
    table = a_table(tmp_path)
    epoch = table.claim("archive")
    append(table, 0, 10, epoch, 0)
    with pytest.raises(CoverageBroken, match="orders-0"):
        append(table, start, end, epoch, 1)
    assert offsets(table) == list(range(10))


def test_a_hole_is_taken_where_it_is_allowed(tmp_path: Path) -> None:
    table = a_table(tmp_path)
    epoch = table.claim("archive")
    append(table, 0, 10, epoch, 0)
    table.append(written(table, rows(20, 30)), [a_range(20, 30)], "archive", epoch, 1, holes=True)
    assert table.state("archive").covered.intervals == {("orders", 0): ((0, 10), (20, 30))}


def test_the_state_is_found_after_many_commits_by_others(tmp_path: Path) -> None:
    table = a_table(tmp_path)
    epoch = table.claim("archive")
    for batch in range(90):
        append(table, batch * 2, batch * 2 + 2, epoch, batch)
        if batch % 7 == 0:
            table.claim(f"other-{batch}")
    state = a_table(tmp_path).state("archive")
    assert (state.epoch, state.batch, state.covered.offsets()) == (1, 89, {"orders": {"0": 180}})
    assert a_table(tmp_path).state("other-84").epoch == 1
    assert len([commit for commit in table.commits() if commit.kind == "append"]) == 90
    assert (tmp_path / "_delta_log" / "_last_checkpoint").exists()


def _race(path: str, writer: int, start: "multiprocessing.synchronize.Event", results: str) -> None:
    """Claims, then writes as long as nobody else has claimed; retries what was refused from where the table is."""
    table = a_table(Path(path))
    start.wait()
    done, fenced = 0, 0
    for _ in range(4):
        epoch = table.claim("archive")
        try:
            for _ in range(6):
                state = table.state("archive")
                first = state.covered.offsets().get("orders", {}).get("0", 0)
                if append(table, first, first + 5, epoch, state.batch + 1) is not None:
                    done += 1
        except (Fenced, CoverageBroken):
            fenced += 1
    Path(results, str(writer)).write_text(json.dumps([done, fenced]))


def test_writers_that_race_leave_no_row_twice_and_none_out(tmp_path: Path) -> None:
    results = tmp_path / "results"
    results.mkdir()
    a_table(tmp_path / "table")
    context = multiprocessing.get_context("spawn")
    start = context.Event()
    writers = [
        context.Process(target=_race, args=(str(tmp_path / "table"), number, start, str(results)))
        for number in range(3)
    ]
    for writer in writers:
        writer.start()
    start.set()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    counts = [json.loads(path.read_text()) for path in results.iterdir()]
    done = sum(count[0] for count in counts)
    table = a_table(tmp_path / "table")
    assert offsets(table) == list(range(done * 5))
    assert table.state("archive").epoch == 12
    assert sum(count[1] for count in counts) > 0, "no writer was fenced: this was no race"


def test_files_are_replaced_in_one_commit_and_only_once(tmp_path: Path) -> None:
    table = a_table(tmp_path)
    epoch = table.claim("archive")
    append(table, 0, 10, epoch, 0)
    append(table, 10, 20, epoch, 1)
    old = table.files()
    new = written(table, rows(0, 20))
    table.replace(new, remove=old, app="compact", data_change=False, kind="compact")
    assert [file.path for file in table.files()] == [new[0].path]
    assert offsets(table) == list(range(20))
    log = (tmp_path / "_delta_log" / f"{table.version:020d}.json").read_text()
    assert '"dataChange":false' in log
    assert '"dataChange":true' not in log
    with pytest.raises(FilesGone):
        table.replace(written(table, rows(0, 20)), remove=old, app="compact", data_change=False)


def test_a_window_is_overwritten(tmp_path: Path) -> None:
    table = a_table(tmp_path)
    other = date(2026, 1, 3)
    table.replace(written(table, rows(0, 3), rows(0, 5, day=other)), app="usage")
    table.replace(written(table, rows(7, 9, day=other)), where={"day": other}, app="usage")
    assert offsets(table) == [0, 1, 2, 7, 8]
    table.replace([], where={"day": "2026-01-02"}, app="usage")
    assert offsets(table) == [7, 8]


def test_a_file_says_what_is_in_it(tmp_path: Path) -> None:
    table = a_table(tmp_path)
    (file,) = written(table, rows(100, 110))
    assert "-0-100-109." in file.path
    assert file.path.startswith("day=2026-01-02/")
    assert named_checksum(file.path) == file_checksum(tmp_path / file.path)
    assert file.size == (tmp_path / file.path).stat().st_size
    statistics = json.loads(file.statistics())
    assert statistics["numRecords"] == 10
    assert statistics["minValues"]["time"] == "2026-01-02T03:04:05.678Z"
    assert statistics["maxValues"]["time"] == "2026-01-02T03:04:05.679Z"
    found = pq.ParquetFile(tmp_path / file.path)
    column = found.metadata.row_group(0).column(found.schema_arrow.names.index("id"))
    assert column.compression == "ZSTD"


def test_rows_of_many_partitions_go_each_to_its_own_file(tmp_path: Path) -> None:
    table = a_table(tmp_path)
    mixed = pa.Table.from_batches(
        [rows(number, number + 1, day=DAY + timedelta(days=number % 3)) for number in range(300)]
    ).combine_chunks()
    files = written(table, *mixed.to_batches())
    assert sorted(file.rows for file in files) == [100, 100, 100]
    assert {file.partition["day"] for file in files} == {"2026-01-02", "2026-01-03", "2026-01-04"}


def test_what_other_programs_see_is_a_plain_delta_table(tmp_path: Path) -> None:
    table = a_table(tmp_path)
    append(table, 0, 10, table.claim("archive"), 0)
    delta = DeltaTable(str(tmp_path))
    assert (delta.protocol().min_reader_version, delta.protocol().min_writer_version) == (1, 2)
    assert delta.transaction_version("archive/1") == 0
    assert delta.to_pyarrow_table().num_rows == 10
    assert delta.to_pyarrow_table().column("day").to_pylist() == [DAY] * 10


def test_leftovers_of_a_batch_that_was_cut_off_are_removed_after_a_while(tmp_path: Path) -> None:
    table = a_table(tmp_path)
    epoch = table.claim("archive")
    append(table, 0, 10, epoch, 0)
    (left,) = written(table, rows(10, 20))
    half = tmp_path / "day=2026-01-02" / ".0123.writing"
    half.write_bytes(b"half")
    assert table.vacuum(timedelta(days=1)) == []
    old = (datetime.now(UTC) - timedelta(days=2)).timestamp()
    for path in (tmp_path / left.path, half, *(tmp_path / file.path for file in table.files())):
        os.utime(path, (old, old))
    assert sorted(table.vacuum(timedelta(days=1))) == sorted([left.path, "day=2026-01-02/.0123.writing"])
    assert offsets(table) == list(range(10))
    append(table, 10, 20, epoch, 1)
    assert offsets(table) == list(range(20))


def test_a_table_of_a_newer_schema_is_refused(tmp_path: Path) -> None:
    Table(tmp_path, SCHEMA, ["day"], schema_version=2)
    with pytest.raises(NewerTable, match="schema version 2, and this program knows 1"):
        Table(tmp_path, SCHEMA, ["day"], schema_version=1)


def test_a_table_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    a_table(tmp_path)
    DeltaTable(str(tmp_path)).alter.set_table_properties({"braid.format": "99"}, raise_if_not_exists=False)
    with pytest.raises(NewerTable, match="format 99"):
        Table.open(tmp_path)


def test_a_table_of_an_older_schema_is_read_and_gets_the_new_columns(tmp_path: Path) -> None:
    table = a_table(tmp_path)
    epoch = table.claim("archive")
    append(table, 0, 10, epoch, 0)
    wider = pa.schema([*SCHEMA, pa.field("region", pa.string())])
    newer = Table(tmp_path, wider, ["day"], schema_version=2)
    assert newer.state("archive").batch == 0
    assert DeltaTable(str(tmp_path)).to_pyarrow_table().column("region").to_pylist() == [None] * 10
    with pytest.raises(NewerTable):
        a_table(tmp_path)


def test_other_columns_are_refused(tmp_path: Path) -> None:
    a_table(tmp_path)
    with pytest.raises(UnlikeTable, match="offset"):
        Table(tmp_path, SCHEMA.set(2, pa.field("offset", pa.string())), ["day"])
    with pytest.raises(UnlikeTable, match="region"):
        Table(tmp_path, pa.schema([*SCHEMA, pa.field("region", pa.string())]), ["day"])
    with pytest.raises(UnlikeTable, match="partitioned by"):
        Table(tmp_path, SCHEMA)


def test_an_object_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="object stores"):
        Table("s3://bucket/table", SCHEMA)
    with pytest.raises(TableError, match="there is no table"):
        Table.open(tmp_path / "nothing")


def a_checkpoint(folder: Path, planned: int, done: int) -> None:
    for name, last in (("offsets", planned), ("commits", done)):
        (folder / name).mkdir(parents=True)
        for number in range(last + 1):
            (folder / name / str(number)).touch()
    (folder / "metadata").touch()


@pytest.mark.parametrize(
    ("planned", "done", "fits"),
    [(1, 0, True), (1, 1, True), (2, 1, True), (0, 0, False), (3, 2, False), (-1, -1, False)],
)
def test_a_driver_goes_on_with_a_checkpoint_only_if_it_fits_the_table(
    tmp_path: Path, planned: int, done: int, fits: bool
) -> None:
    table = a_table(tmp_path / "table")
    first = table.begin("archive", tmp_path / "checkpoints")
    assert (first.epoch, first.lineage, first.fresh, first.resumes) == (1, 1, True, {})
    append(table, 0, 10, 1, 0)
    append(table, 10, 20, 1, 1)
    a_checkpoint(Path(first.checkpoint), planned, done)
    second = table.begin("archive", tmp_path / "checkpoints")
    assert second.fresh is not fits
    assert (second.checkpoint == first.checkpoint) is fits
    assert second.resumes == {"orders": {"0": 20}}
    with pytest.raises(Fenced):
        append(table, 20, 30, 1, 2)
    assert append(table, 20, 30, second.epoch, 2 if fits else 0) is not None


def test_pieces_of_one_partition_are_put_together() -> None:
    gap = (5, 6, "transaction")
    found = joined([Range("a", 0, 6, 10, 4), Range("a", 0, 0, 6, 5, (gap,)), Range("a", 1, 3, 3, 0)])
    assert found == [Range("a", 0, 0, 10, 9, (gap,))]
    assert found[0].unexplained == 0
    with pytest.raises(CoverageBroken, match="two tasks"):
        joined([a_range(0, 6), a_range(5, 10)])


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 12)), max_size=20))
def test_coverage_is_the_set_of_all_offsets_that_were_added(pieces: list[tuple[int, int]]) -> None:
    covered, expected = Covered(), set[int]()
    for start, count in pieces:
        piece = a_range(start, start + count)
        assert covered.overlaps(piece) == bool(expected & set(range(start, start + count)))
        assert covered.holds(piece) == (set(range(start, start + count)) <= expected)
        covered.add(piece)
        expected |= set(range(start, start + count))
    found = covered.intervals.get(("orders", 0), ())
    assert {offset for start, end in found for offset in range(start, end)} == expected
    assert all(before[1] < after[0] for before, after in pairwise(found))
    assert Covered.from_plain(covered.to_plain()).intervals == covered.intervals


def test_a_batch_that_spark_gives_up_after_it_was_committed_stays_whole(tmp_path: Path) -> None:
    """So it is when the process that commits is killed before it could say that it had. What was not committed goes
    with vacuum, as all does that nobody owns."""
    table = a_table(tmp_path / "table")
    epoch = table.claim("archive")
    options = {"path": str(table.path), "app": "archive", "epoch": str(epoch), "lineage": "0"}
    writer = TableStreamWriter(Writing(SinkOptions(options), table, None))
    committed: list[WriterCommitMessage | None] = [
        writer.write(iter([rows(0, 10)])),
        writer.write(iter([rows(10, 20)])),
    ]
    writer.commit(committed, 0)
    writer.abort(committed, 0)
    assert offsets(table) == list(range(20))
    given_up = writer.write(iter([rows(20, 30)]))
    writer.abort([given_up], 1)
    assert offsets(table) == list(range(20))
    assert table.vacuum(timedelta(0)) == [file.path for file in given_up.files]
    assert offsets(table) == list(range(20))
