"""Reads files of a table to write their rows anew: for compaction, and for what has passed its time.

Damage is never copied: a file is checked against the checksum in its name before a row of it is taken.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from braidmq.pipeline.tables._errors import FileDamaged
from braidmq.pipeline.tables._files import FileWriter, file_checksum, named_checksum
from braidmq.pipeline.tables._layout import Layout
from braidmq.pipeline.tables._table import LiveFile

_ROWS_AT_ONCE: Final = 16_384


def read_file(root: Path, file: LiveFile, wanted: pa.Schema) -> pa.Table:
    """These columns of a file, with the partition's own; those that it lacks are null. Raises FileDamaged."""
    path = root / file.path
    try:
        if file_checksum(path) != named_checksum(file.path):
            raise FileDamaged(f"{path} is not what was written")
    except FileNotFoundError:
        raise FileDamaged(f"{path} is missing") from None
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


def write_rows(root: Path, layout: Layout, rows: pa.Table, *, keeps: Sequence[str] = ()) -> FileWriter:
    """Files of these rows, in the order of the layout: closed, and not yet part of the table."""
    writer = FileWriter(root, rows.schema, layout, keeps=keeps)
    try:
        for part in _in_order(rows, layout.sort_by):
            for batch in part.combine_chunks().to_batches():
                writer.write(batch)
        writer.close()
    except BaseException:
        writer.discard()
        raise
    return writer


def _in_order(rows: pa.Table, sort_by: Sequence[str]) -> Iterator[pa.Table]:
    starts = range(0, rows.num_rows, _ROWS_AT_ONCE)
    if not sort_by:
        yield from (rows.slice(start, _ROWS_AT_ONCE) for start in starts)
        return
    order = pc.sort_indices(rows.select(list(sort_by)), sort_keys=[(name, "ascending") for name in sort_by])
    yield from (rows.take(order.slice(start, _ROWS_AT_ONCE)) for start in starts)
