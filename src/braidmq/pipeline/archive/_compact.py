"""Compaction of the archive: as any table's, for the hours that are over by the messages' own times, with the index.

Rows are rewritten in Spark's tasks where a session is given, else here.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec
import pyarrow as pa
from pyspark.sql import SparkSession

from braidmq.pipeline import tables
from braidmq.pipeline.archive._index import merge_segments
from braidmq.pipeline.archive._layout import Folders
from braidmq.pipeline.archive._rewriting import Rewritten, discard, read_file, write_rows
from braidmq.pipeline.tables import (
    COMPACT_APP,
    TARGET_BYTES,
    Compacted,
    FileDamaged,
    FilesGone,
    LiveFile,
    Table,
    hour_of,
    small_groups,
)


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
    """Rewrites the files of the hours that are over, of the messages and of the quarantine. Files that stand beside a
    damaged one are left as they are, and the others are done before that is said: FileDamaged."""
    folders = Folders(path)
    table = Table.open(folders.messages)
    closed = [file for file in table.files() if file.high["store_time"] < hour_of(now)]
    found = small_groups(folders.messages, closed, lambda file: file.low["store_time"], target_bytes)
    done, damage = Compacted(), ""
    for group, rewritten in _rewritten(spark, [_Group(path, files) for files in found]):
        damage = damage or rewritten.damage
        if not rewritten.damage:
            done += _committed(folders, table, group, rewritten)
    merged = merge_segments(folders.index, [file.path for file in table.files()])
    if Table.exists(folders.quarantine):
        done += tables.compact(Table.open(folders.quarantine), now=now, target_bytes=target_bytes)
    if damage:
        raise FileDamaged(damage)
    return Compaction(done.files_before, done.files_after, done.rows, merged)


def _committed(folders: Folders, table: Table, group: _Group, rewritten: Rewritten) -> Compacted:
    try:
        table.replace(rewritten.files, remove=group.files, app=COMPACT_APP, data_change=False, kind="compact")
    except FilesGone:
        # Retention was first: what it left is compacted the next time.
        discard(folders, rewritten)
        return Compacted()
    return Compacted(len(group.files), len(rewritten.files), sum(file.rows for file in group.files))


def _rewrite(group: _Group) -> Rewritten:
    folders = Folders(group.path)
    table = Table.open(folders.messages)
    try:
        rows = pa.concat_tables([read_file(folders.messages, file) for file in group.files])
    except FileDamaged as error:
        return Rewritten(damage=error.message)
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
