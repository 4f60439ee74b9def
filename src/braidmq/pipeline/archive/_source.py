"""The source `braid-archive-files`: a task reads its messages, and writes the archive's files at the same place.

What goes on through Spark is a row for each task, which says what it wrote; the sink `braid-archive` commits that. So
no message crosses between Python and the JVM, twice, only to be written by Python in the end. A task that Spark runs
again writes other files; those of the first are not part of the table, and are removed by `vacuum`.
"""

from collections.abc import Iterator, MutableMapping
from datetime import UTC, datetime
from typing import Final

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import DataSource, InputPartition
from pyspark.sql.types import BinaryType, StructField, StructType

from braidmq.pipeline.archive._index import write_for_files
from braidmq.pipeline.archive._layout import LOOKED_UP, Folders, messages_table, quarantine_table
from braidmq.pipeline.archive._prepare import prepared
from braidmq.pipeline.columns import MESSAGE
from braidmq.pipeline.errors import InvalidOption
from braidmq.pipeline.source import BraidStreamReader, Options, read_options
from braidmq.pipeline.tables import Task, Written

FORMAT: Final = "braid-archive-files"
WRITTEN: Final = "written"
_SCHEMA: Final = pa.schema([pa.field(WRITTEN, pa.binary(), nullable=False)])


class ArchivingReader(BraidStreamReader):
    """Reads as any stream is read, and gives what it wrote in the place of what it read."""

    def __init__(self, options: Options, path: str) -> None:
        super().__init__(options, MESSAGE)
        self._index = Folders(path).index
        self._table, self._quarantine = messages_table(path), quarantine_table(path)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        now = datetime.now(UTC)
        task = Task(self._table, self._quarantine, ranges=True, keeps=LOOKED_UP)
        written = task.run(prepared(batch, now) for batch in super().read(partition))
        write_for_files(self._index, ((file.path, columns) for file, columns in task.writer.kept))
        yield pa.RecordBatch.from_arrays([pa.array([msgspec.msgpack.encode(written)], pa.binary())], schema=_SCHEMA)


def read_written(batches: Iterator[pa.RecordBatch]) -> Written:
    """What all rows say together."""
    rows = [value for batch in batches for value in batch.column(WRITTEN).to_pylist()]
    return Written.of_all([msgspec.msgpack.decode(row, type=Written) for row in rows])


class ArchiveSource(DataSource):
    """Has the options of a stream of `braid`, and `archive`, the archive's folder."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self.options = options

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        return StructType([StructField(WRITTEN, BinaryType(), nullable=False)])

    def streamReader(self, schema: StructType) -> ArchivingReader:  # noqa: ARG002, N802
        given = {name.lower(): value for name, value in self.options.items()}
        path = given.pop("archive", "")
        if not path:
            raise InvalidOption(f"{FORMAT} needs the option archive, the folder of the archive")
        options = read_options(given).for_stream(given)
        if not options.with_ranges:
            raise InvalidOption(f"{FORMAT} needs ranges = true: an archive says which offsets it covers")
        return ArchivingReader(options, path)
