import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from braidmq.pipeline.tables import Run, Table

pytestmark = pytest.mark.timeout(180)

TIME = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
COLUMNS = "topic string, partition int, offset bigint, protocol string, value binary, time timestamp, day string"


class Counter(DataSource):
    """Offsets of two partitions, ten for each batch; every seventh is bad, every fifth was aborted."""

    @classmethod
    def name(cls) -> str:
        return "counter"

    def schema(self) -> str:
        return f"{COLUMNS}, reason string"

    def streamReader(self, schema: StructType) -> "CounterReader":  # noqa: ARG002, N802
        return CounterReader(self.options)


class CounterReader(DataSourceStreamReader):
    def __init__(self, options: Mapping[str, str]) -> None:
        self._start = int(options.get("start", "0"))
        self._upto = Path(options["upto"])

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"next": self._start}

    def latestOffset(self, start: dict[str, int] | None = None, limit: Any = None) -> dict[str, int]:  # noqa: ARG002, N802
        return {"next": int(self._upto.read_text())}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [InputPartition((number, start["next"], end["next"])) for number in range(2)]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        number, start, end = partition.value
        gaps = [(offset, offset + 1, "transaction") for offset in range(start, end) if offset % 5 == 4]
        for offset in range(start, end):
            if offset % 5 != 4:
                reason = "odd" if offset % 7 == 0 else None
                yield ("orders", number, offset, "kafka", b"body", TIME, "2026-01-02", reason)
        records = end - start - len(gaps)
        value = {"topic": "orders", "partition": number, "from": start, "to": end, "records": records, "gaps": gaps}
        yield ("orders", number, -1, "range", json.dumps(value).encode(), TIME, "2026-01-02", None)


def stream(spark: SparkSession, folder: Path, run: Run, upto: int, *, start: int = 0) -> StreamingQuery:
    (folder / "upto").write_text(str(upto))
    spark.dataSource.register(Counter)
    frame = spark.readStream.format("counter").option("upto", str(folder / "upto")).option("start", str(start)).load()
    writer = frame.writeStream.format("braid-table").options(**run.options())
    writer = writer.option("path", str(folder / "table")).option("quarantine", str(folder / "bad"))
    writer = writer.option("ranges", "true").option("partitionBy", "day").option("statistics", "topic,partition,offset")
    return writer.option("checkpointLocation", run.checkpoint).trigger(availableNow=True).start()


def run_to_end(spark: SparkSession, folder: Path, run: Run, upto: int, *, start: int = 0) -> None:
    query = stream(spark, folder, run, upto, start=start)
    assert query.awaitTermination(60)


def begin(folder: Path) -> Run:
    schema = pa.schema(
        [
            pa.field("topic", pa.string()),
            pa.field("partition", pa.int32()),
            pa.field("offset", pa.int64()),
            pa.field("protocol", pa.string()),
            pa.field("value", pa.binary()),
            pa.field("time", pa.timestamp("us", tz="UTC")),
            pa.field("day", pa.string()),
        ]
    )
    table = Table(folder / "table", schema, ["day"], statistics=["topic", "partition", "offset"])
    return table.begin("archive", folder / "checkpoints")


def offsets(path: Path) -> list[tuple[int, int]]:
    rows = DeltaTable(str(path)).to_pyarrow_table(columns=["partition", "offset"]).to_pylist()
    return sorted((row["partition"], row["offset"]) for row in rows)


def expected(upto: int, *, bad: bool) -> list[tuple[int, int]]:
    return [
        (number, offset)
        for number in range(2)
        for offset in range(upto)
        if offset % 5 != 4 and (offset % 7 == 0) == bad
    ]


def test_a_stream_goes_on_from_its_checkpoint_and_without_it_from_the_table(
    spark: SparkSession, tmp_path: Path
) -> None:
    first = begin(tmp_path)
    run_to_end(spark, tmp_path, first, 20)
    second = begin(tmp_path)
    assert not second.fresh
    run_to_end(spark, tmp_path, second, 50)
    assert offsets(tmp_path / "table") == expected(50, bad=False)
    assert offsets(tmp_path / "bad") == expected(50, bad=True)

    for path in sorted(Path(second.checkpoint).rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    third = begin(tmp_path)
    assert third.fresh
    assert third.resumes == {"orders": {"0": 50, "1": 50}}
    run_to_end(spark, tmp_path, third, 70, start=50)
    assert offsets(tmp_path / "table") == expected(70, bad=False)
    assert offsets(tmp_path / "bad") == expected(70, bad=True)


def test_a_batch_that_spark_repeats_is_not_written_again(spark: SparkSession, tmp_path: Path) -> None:
    run_to_end(spark, tmp_path, begin(tmp_path), 20)
    again = begin(tmp_path)
    for name in ("commits/0", "commits/.0.crc"):
        (Path(again.checkpoint) / name).unlink()
    run_to_end(spark, tmp_path, again, 30)
    run_to_end(spark, tmp_path, again, 30)
    assert offsets(tmp_path / "table") == expected(30, bad=False)
    assert offsets(tmp_path / "bad") == expected(30, bad=True)


def test_the_stream_of_a_driver_that_was_replaced_fails(spark: SparkSession, tmp_path: Path) -> None:
    old = begin(tmp_path)
    new = begin(tmp_path)
    assert new.epoch > old.epoch
    query = stream(spark, tmp_path, old, 20)
    with pytest.raises(Exception, match="was taken over"):
        query.awaitTermination(60)
    assert offsets(tmp_path / "table") == []


def rows_of(spark: SparkSession, day: str, *numbers: int) -> DataFrame:
    return spark.createDataFrame(
        [(number, day, {"a": b"1"}) for number in numbers], "n int, day string, m map<string,binary>"
    )


def numbers_in(path: Path) -> list[int]:
    return sorted(DeltaTable(str(path)).to_pyarrow_table().column("n").to_pylist())


def test_a_batch_with_a_number_is_written_once(spark: SparkSession, tmp_path: Path) -> None:
    for _ in range(2):
        writer = rows_of(spark, "2026-01-02", 1, 2).write.format("braid-table").mode("append")
        writer.options(path=str(tmp_path), app="usage", batch="7", partitionBy="day").save()
    assert numbers_in(tmp_path) == [1, 2]


def test_an_overwrite_replaces_the_partitions_that_are_named(spark: SparkSession, tmp_path: Path) -> None:
    both = rows_of(spark, "2026-01-02", 1, 2).union(rows_of(spark, "2026-01-03", 3))
    both.write.format("braid-table").mode("append").options(path=str(tmp_path), app="usage", partitionBy="day").save()
    writer = rows_of(spark, "2026-01-03", 4, 5).write.format("braid-table").mode("overwrite")
    writer.options(path=str(tmp_path), app="usage", replace='{"day": "2026-01-03"}').save()
    assert numbers_in(tmp_path) == [1, 2, 4, 5]


def test_a_missing_option_is_named(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="needs the option path"):
        rows_of(spark, "2026-01-03", 4).write.format("braid-table").mode("append").option("app", "x").save()
