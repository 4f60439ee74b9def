"""Compaction: the many small files of closed hours become few large ones, sorted, with the same rows.

The commit says that no row has changed, so that it never stands in the way of the archive job's own. Rows are rewritten
in Spark's tasks where a session is given, else here.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec
import pyarrow as pa
from pyspark.sql import SparkSession

from braidmq.pipeline.archive._index import merge_segments
from braidmq.pipeline.archive._layout import Folders
from braidmq.pipeline.archive._rewriting import Rewritten, discard, read_file, write_rows
from braidmq.pipeline.tables import FilesGone, LiveFile, Table

APP: Final = "compact"
TARGET_BYTES: Final = 128 * 1024 * 1024


class Compaction(msgspec.Struct, frozen=True):
    """What was done."""

    files_before: int
    files_after: int
    rows: int
    segments_merged: int


class _Group(msgspec.Struct, frozen=True):
    path: str
    files: list[LiveFile]


def compact(
    path: str, *, spark: SparkSession | None = None, now: datetime | None = None, target_bytes: int = TARGET_BYTES
) -> Compaction:
    """Rewrites the files of the hours that are over. A file that is damaged stops it: FileDamaged."""
    folders = Folders(path)
    table = Table.open(folders.messages)
    moment = (now or datetime.now(UTC)).replace(minute=0, second=0, microsecond=0)
    groups = [_Group(path, files) for files in _groups(table.files(), moment, target_bytes)]
    before, after, rows = 0, 0, 0
    for group, rewritten in _rewritten(spark, groups):
        try:
            table.replace(rewritten.files, remove=group.files, app=APP, data_change=False, kind="compact")
        except FilesGone:
            # Retention was first: what it left is compacted the next time.
            discard(folders, rewritten)
            continue
        before += len(group.files)
        after += len(rewritten.files)
        rows += sum(file.rows for file in group.files)
    merged = merge_segments(folders.index, [file.path for file in table.files()])
    return Compaction(before, after, rows, merged)


def _groups(files: Sequence[LiveFile], before: datetime, target_bytes: int) -> Iterator[list[LiveFile]]:
    """Files of one partition that are small and of closed hours, in the order of time, up to the target's size."""
    closed = [file for file in files if file.high["store_time"] < before and file.size < target_bytes // 2]
    partitions: dict[tuple[object, ...], list[LiveFile]] = {}
    for file in closed:
        partitions.setdefault(tuple(file.partition.values()), []).append(file)
    for members in partitions.values():
        group: list[LiveFile] = []
        for file in sorted(members, key=lambda each: (each.low["store_time"], each.path)):
            if group and sum(each.size for each in group) + file.size > target_bytes:
                yield from [group] if len(group) > 1 else []
                group = []
            group.append(file)
        if len(group) > 1:
            yield group


def _rewrite(group: _Group) -> Rewritten:
    folders = Folders(group.path)
    table = Table.open(folders.messages)
    rows = pa.concat_tables([read_file(folders.messages, file) for file in group.files])
    return write_rows(folders, table.layout, rows)


def _rewritten(spark: SparkSession | None, groups: Sequence[_Group]) -> Iterator[tuple[_Group, Rewritten]]:
    if spark is None or not groups:
        for group in groups:
            yield group, _rewrite(group)
        return
    encode, decode = msgspec.msgpack.encode, msgspec.msgpack.decode
    frame = spark.createDataFrame([(encode(group),) for group in groups], "task binary").repartition(len(groups))
    for task, result in frame.mapInArrow(_rewrite_in_task, "task binary, result binary").toLocalIterator():
        yield decode(bytes(task), type=_Group), decode(bytes(result), type=Rewritten)


def _rewrite_in_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        tasks = batch.column("task").to_pylist()
        results = [msgspec.msgpack.encode(_rewrite(msgspec.msgpack.decode(task, type=_Group))) for task in tasks]
        yield pa.RecordBatch.from_pydict(
            {"task": pa.array(tasks, pa.binary()), "result": pa.array(results, pa.binary())}
        )
