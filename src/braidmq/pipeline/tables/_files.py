"""Writes the Parquet files of a table. A file that can be seen under its name is whole and on disk.

A name tells what is inside: from which offset to which, and of what topic and partition where it is one; a few random
digits, so that two attempts at the same rows never share a name, and the CRC-32C of all bytes, so that damage shows
without any index.

This runs in Spark's workers, for each row: whole Arrow batches are handled, never rows.
"""

import json
import os
import re
import secrets
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, Final

import google_crc32c
import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from braidmq.pipeline.tables._layout import FILE_BYTES, ROW_GROUP_BYTES, ROW_GROUP_ROWS, ZSTD_LEVEL, Layout

OPEN_FILES_MAX: Final = 64
BUFFERED_BYTES_MAX: Final = 128 * 1024 * 1024
_RUNS_MAX: Final = 64
_READ_BYTES: Final = 4 * 1024 * 1024
BLOOM_FALSE_POSITIVES: Final = 0.01
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]")


class DataFile(msgspec.Struct, frozen=True):
    """A file that was written and is not yet, or is, part of a table."""

    path: str
    """Below the table's folder."""
    size: int
    rows: int
    partition: dict[str, str | None]
    low: dict[str, Any] = {}
    high: dict[str, Any] = {}
    nulls: dict[str, int] = {}

    def statistics(self) -> str:
        """As Delta writes them."""
        return json.dumps(
            {
                "numRecords": self.rows,
                "minValues": {name: _plain(value, up=False) for name, value in self.low.items()},
                "maxValues": {name: _plain(value, up=True) for name, value in self.high.items()},
                "nullCount": self.nulls,
            }
        )


def _plain(value: Any, *, up: bool) -> Any:
    """Times in a table's log have milliseconds; the larger end is rounded up, so that a reader never skips a row."""
    if isinstance(value, datetime):
        value = value.astimezone(UTC)
        rest = timedelta(microseconds=value.microsecond % 1000)
        value = value - rest + (timedelta(milliseconds=1) if up and rest else timedelta(0))
        return value.strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03d}Z"
    if isinstance(value, date):
        return value.isoformat()
    return value


def partition_text(value: Any) -> str | None:
    """A partition's value as Delta writes it."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    if isinstance(value, date):
        return value.isoformat()
    return str(value)


def folder_of(partition: Mapping[str, str | None]) -> str:
    """The folder of a partition: for people only, since the values themselves are in the table's log. So what may not
    be in a path is written as `_`."""
    return "/".join(f"{name}={'_' if value is None else _UNSAFE.sub('_', value)}" for name, value in partition.items())


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """What others have written to it is on disk when this returns."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folders(root: Path, folder: Path) -> None:
    """Makes a folder and those above it up to the root, so that they survive a power cut."""
    if folder.is_dir():
        return
    folder.mkdir(parents=True, exist_ok=True)
    while folder != root:
        folder = folder.parent
        sync_folder(folder)


def file_checksum(path: Path) -> int:
    """CRC-32C of all bytes."""
    checksum = 0
    with path.open("rb", buffering=0) as file:
        while block := file.read(_READ_BYTES):
            checksum = google_crc32c.extend(checksum, block)
    return checksum


def named_checksum(path: str) -> int:
    """What the name says that the checksum is."""
    return int(path.removesuffix(".parquet").rpartition(".")[2], 16)


class _Checked:
    """A file that keeps the checksum of what was written to it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.checksum = 0
        self.size = 0
        self.closed = False

    def write(self, block: Any) -> int:
        data = bytes(block)
        self.checksum = google_crc32c.extend(self.checksum, data)
        self.size += len(data)
        self._file.write(data)
        return len(data)

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        """Nothing is held back here."""

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True


class _OpenFile:
    """One file in the making: rows are gathered to row groups, then written to a temporary name."""

    def __init__(
        self, root: Path, partition: dict[str, str | None], schema: pa.Schema, layout: Layout, kept: Sequence[str]
    ) -> None:
        self._root = root
        self._kept = list(kept)
        self.kept: list[pa.RecordBatch] = []
        self._partition = partition
        self._schema = layout.stored(schema)
        self._layout = layout
        self._folder = root / folder_of(partition) if partition else root
        make_folders(root, self._folder)
        self._temporary = self._folder / f".{secrets.token_hex(8)}.writing"
        self._file = self._temporary.open("wb", buffering=0)
        self._checked = _Checked(self._file)
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[pa.RecordBatch] = []
        self.waiting_bytes = 0
        self._waiting_rows = 0
        self.rows = 0
        self._low: dict[str, Any] = {}
        self._high: dict[str, Any] = {}
        self._nulls: dict[str, int] = {}

    @property
    def size(self) -> int:
        return self._checked.size

    def add(self, batch: pa.RecordBatch) -> None:
        self._waiting.append(batch)
        if self._kept:
            self.kept.append(batch.select(self._kept))
        self.waiting_bytes += batch.nbytes
        self._waiting_rows += batch.num_rows
        if self.waiting_bytes >= ROW_GROUP_BYTES or self._waiting_rows >= ROW_GROUP_ROWS:
            self.flush()

    def flush(self) -> None:
        if not self._waiting:
            return
        table = pa.Table.from_batches(self._waiting)
        size, self._waiting, self.waiting_bytes, self._waiting_rows = self.waiting_bytes, [], 0, 0
        self._count(table)
        group_rows = min(ROW_GROUP_ROWS, max(1, table.num_rows * ROW_GROUP_BYTES // max(1, size)))
        if self._writer is None:
            self._writer = self._open(min(group_rows, table.num_rows))
        self._writer.write_table(table, row_group_size=group_rows)

    def _open(self, group_rows: int) -> pq.ParquetWriter:
        text = [field.name for field in self._schema if field.name in self._layout.bloom]
        bloom = {name: {"ndv": max(64, group_rows), "fpp": BLOOM_FALSE_POSITIVES} for name in text}
        return pq.ParquetWriter(
            self._checked,
            self._schema,
            compression="zstd",
            compression_level=ZSTD_LEVEL,
            use_dictionary=[field.name for field in self._schema if _few_values(field, self._layout)],
            write_statistics=[name for name in self._layout.statistics if name in self._schema.names] or False,
            bloom_filter_options=bloom or None,
            write_page_checksum=True,
        )

    def _count(self, table: pa.Table) -> None:
        self.rows += table.num_rows
        for name in self._layout.statistics:
            if name not in table.schema.names:
                continue
            column = table.column(name)
            self._nulls[name] = self._nulls.get(name, 0) + column.null_count
            found = pc.min_max(column)
            low, high = found["min"].as_py(), found["max"].as_py()
            if low is not None:
                self._low[name] = low if name not in self._low else min(self._low[name], low)
                self._high[name] = high if name not in self._high else max(self._high[name], high)

    def close(self) -> DataFile:
        """The file under its own name, and on disk."""
        self.flush()
        assert self._writer is not None, "a file is opened for its first rows"
        self._writer.close()
        os.fsync(self._file.fileno())
        self._file.close()
        name = f"{self._subject()}.{secrets.token_hex(4)}.{self._checked.checksum:08x}.parquet"
        target = self._folder / name
        self._temporary.rename(target)
        sync_folder(self._folder)
        path = str(target.relative_to(self._root))
        return DataFile(path, self.size, self.rows, self._partition, self._low, self._high, self._nulls)

    def _subject(self) -> str:
        low, high = self._low, self._high
        if any(low.get(name) is None for name in ("topic", "partition", "offset")):
            return f"rows-{self.rows}"
        offsets = f"{low['offset']}-{high['offset']}"
        if low["topic"] != high["topic"]:
            return f"topics-{offsets}"
        topic = zlib.crc32(str(low["topic"]).encode())
        partition = low["partition"] if low["partition"] == high["partition"] else "all"
        return f"{topic:08x}-{partition}-{offsets}"

    def discard(self) -> None:
        self._file.close()
        self._temporary.unlink(missing_ok=True)


def _few_values(field: pa.Field, layout: Layout) -> bool:
    return pa.types.is_string(field.type) and field.name not in layout.bloom


class FileWriter:
    """Writes rows to as many files as their partitions and sizes need. `close` gives the files; they are not yet part
    of any table. `discard` takes away what was written."""

    def __init__(self, root: Path, schema: pa.Schema, layout: Layout, *, keeps: Sequence[str] = ()) -> None:
        self._root = root
        self._schema = schema
        self._layout = layout
        self._keeps = tuple(keeps)
        self.kept: list[tuple[DataFile, pa.Table]] = []
        """The columns that were to be kept, of each file that is closed, in the order of its rows."""
        self._open: dict[tuple[str | None, ...], _OpenFile] = {}
        self._files: list[DataFile] = []

    def write(self, batch: pa.RecordBatch) -> None:
        """Takes rows with the columns of the table's schema, in its order and of its types."""
        for values, rows in self._cut(batch):
            self._add(values, rows)
        while sum(file.waiting_bytes for file in self._open.values()) > BUFFERED_BYTES_MAX:
            max(self._open.values(), key=lambda file: file.waiting_bytes).flush()

    def _add(self, values: tuple[str | None, ...], rows: pa.RecordBatch) -> None:
        file = self._open.pop(values, None)
        if file is None:
            if len(self._open) >= OPEN_FILES_MAX:
                self._finish(next(iter(self._open)))
            partition = dict(zip(self._layout.partition_by, values, strict=True))
            file = _OpenFile(self._root, partition, self._schema, self._layout, self._keeps)
        self._open[values] = file
        file.add(rows)
        if file.size >= FILE_BYTES:
            self._finish(values)

    def _finish(self, values: tuple[str | None, ...]) -> None:
        file = self._open.pop(values)
        self._files.append(file.close())
        if file.kept:
            self.kept.append((self._files[-1], pa.Table.from_batches(file.kept)))

    def _cut(self, batch: pa.RecordBatch) -> Iterator[tuple[tuple[str | None, ...], pa.RecordBatch]]:
        if batch.num_rows == 0:
            return
        names = self._layout.partition_by
        stored = batch.select([field.name for field in self._schema if field.name not in names])
        if not names:
            yield (), stored
            return
        codes, values = _codes([batch.column(name) for name in names])
        starts = np.flatnonzero(np.diff(codes, prepend=codes[0] - 1))
        if len(starts) > _RUNS_MAX:
            order = np.argsort(codes, kind="stable")
            stored, codes = stored.take(pa.array(order)), codes[order]
            starts = np.flatnonzero(np.diff(codes, prepend=codes[0] - 1))
        for start, end in zip(starts, [*starts[1:], len(codes)], strict=True):
            yield values[codes[start]], stored.slice(start, end - start)

    def close(self) -> list[DataFile]:
        for values in list(self._open):
            self._finish(values)
        return self._files

    def discard(self) -> None:
        for file in self._open.values():
            file.discard()
        for written in self._files:
            (self._root / written.path).unlink(missing_ok=True)


def _codes(columns: list[pa.Array]) -> tuple[np.ndarray[Any, Any], list[tuple[str | None, ...]]]:
    """A small number for each row that stands for its partition, and the partition that each number stands for."""
    codes = np.zeros(len(columns[0]), dtype=np.int64)
    values: list[tuple[str | None, ...]] = [()]
    for column in columns:
        encoded = column.dictionary_encode(null_encoding="encode")
        texts = [partition_text(value) for value in encoded.dictionary.to_pylist()]
        codes = codes * len(texts) + encoded.indices.to_numpy()
        values = [(*value, text) for value in values for text in texts]
    return codes, values
