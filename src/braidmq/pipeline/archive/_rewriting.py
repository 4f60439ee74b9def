"""Reads files of the archive to write them anew: for compaction, and for what has passed its time.

Damage is never copied: a file is checked against the checksum in its name before a row of it is taken.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from braidmq.pipeline.archive._index import write_for_files
from braidmq.pipeline.archive._layout import ARCHIVED, LOOKED_UP, Folders
from braidmq.pipeline.archive._sink import FileDamaged
from braidmq.pipeline.tables import DataFile, FileWriter, Layout, LiveFile, file_checksum, named_checksum


def read_file(root: Path, file: LiveFile, columns: Sequence[str] | None = None) -> pa.Table:
    """The rows of a file, with the partition's own columns; columns that it lacks are null. Raises FileDamaged."""
    path = root / file.path
    try:
        if file_checksum(path) != named_checksum(file.path):
            raise FileDamaged(f"{path} is not what was written")
    except FileNotFoundError:
        raise FileDamaged(f"{path} is missing") from None
    wanted = ARCHIVED if columns is None else pa.schema([ARCHIVED.field(name) for name in columns])
    found = pq.ParquetFile(path)
    table = found.read([name for name in wanted.names if name in found.schema_arrow.names])
    if table.num_rows != file.rows:
        raise FileDamaged(f"{path} has {table.num_rows} rows, and the table says {file.rows}")
    return _completed(table, wanted, file)


def _completed(table: pa.Table, wanted: pa.Schema, file: LiveFile) -> pa.Table:
    arrays = []
    for field in wanted:
        if field.name in table.schema.names:
            column = table.column(field.name)
            arrays.append(column if column.type == field.type else column.cast(field.type))
        elif field.name in file.partition:
            arrays.append(pa.repeat(pa.scalar(file.partition[field.name], field.type), table.num_rows))
        else:
            arrays.append(pa.nulls(table.num_rows, field.type))
    return pa.Table.from_arrays(arrays, schema=wanted)


class Rewritten(msgspec.Struct):
    """What was written in the place of some files; not yet part of the table."""

    files: list[DataFile]
    segment: str | None


def write_rows(folders: Folders, layout: Layout, rows: pa.Table) -> Rewritten:
    """Sorted files of these rows, with their index."""
    keys = [(name, "ascending") for name in layout.sort_by]
    order = pc.sort_indices(rows.select(list(layout.sort_by)), sort_keys=keys)
    writer = FileWriter(folders.messages, ARCHIVED, layout, keeps=LOOKED_UP)
    try:
        for start in range(0, rows.num_rows, _ROWS_AT_ONCE):
            part = rows.take(order.slice(start, _ROWS_AT_ONCE)).combine_chunks()
            for batch in part.to_batches():
                writer.write(batch)
        files = writer.close()
    except BaseException:
        writer.discard()
        raise
    segment = write_for_files(folders.index, ((file.path, columns) for file, columns in writer.kept))
    return Rewritten(files, None if segment is None else str(segment))


_ROWS_AT_ONCE = 16_384


def discard(folders: Folders, rewritten: Rewritten) -> None:
    """Takes away what was written in vain."""
    if rewritten.segment is not None:
        Path(rewritten.segment).unlink(missing_ok=True)
    for file in rewritten.files:
        (folders.messages / file.path).unlink(missing_ok=True)
