"""The sink `braid-table`: writes a DataFrame to a table, in batches or as a stream, with exactly-once commits.

Workers write the files; the driver commits them. What a worker wrote for a batch that never came to its commit is not
part of the table, and is removed by `vacuum`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from braidmq.logger import get_logger
from braidmq.pipeline.tables._errors import NewerTable, TableError
from braidmq.pipeline.tables._files import DataFile, FileWriter
from braidmq.pipeline.tables._ranges import RANGE_OFFSET, RANGE_PROTOCOL, Range, decode_range
from braidmq.pipeline.tables._table import Table

_log = get_logger(__name__)

FORMAT: Final = "braid-table"
REASON: Final = "reason"
"""A row with a reason is not fit for the table; it goes into the quarantine."""
SETTLE_EVERY: Final = 1_000


@dataclass
class Written(WriterCommitMessage):
    """What one task wrote."""

    files: list[DataFile] = field(default_factory=list)
    quarantined: list[DataFile] = field(default_factory=list)
    ranges: list[Range] = field(default_factory=list)

    @staticmethod
    def of_all(messages: list[WriterCommitMessage | None]) -> "Written":
        result = Written()
        for message in messages:
            if isinstance(message, Written):
                result.files += message.files
                result.quarantined += message.quarantined
                result.ranges += message.ranges
        return result


class SinkOptions:
    """What a user said to the writer."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = {name.lower(): value for name, value in options.items()}

    def text(self, name: str) -> str:
        found = self.optional(name)
        if found is None:
            raise TableError(f"{FORMAT} needs the option {name}")
        return found

    def optional(self, name: str) -> str | None:
        return self._options.get(name.lower()) or None

    def prefixed(self, prefix: str) -> dict[str, str]:
        """The options that begin so, without it."""
        return {name.removeprefix(prefix): value for name, value in self._options.items() if name.startswith(prefix)}

    def names(self, name: str) -> list[str]:
        return [part.strip() for part in (self.optional(name) or "").split(",") if part.strip()]

    def number(self, name: str) -> int:
        text = self.text(name)
        try:
            return int(text)
        except ValueError:
            raise TableError(f"{FORMAT}: the option {name} is a whole number, not {text!r}") from None

    def flag(self, name: str) -> bool:
        text = (self.optional(name) or "false").lower()
        if text not in ("true", "false"):
            raise TableError(f"{FORMAT}: the option {name} is true or false, not {text!r}")
        return text == "true"


def open_tables(options: SinkOptions, schema: StructType) -> tuple[Table, Table | None]:
    """The table, made if there is none, and its quarantine where one is named."""
    given = to_arrow_schema(schema, timezone="UTC")
    quarantine = options.optional("quarantine")
    columns = pa.schema([item for item in given if not (quarantine and item.name == REASON)])
    path = options.text("path")
    if Table.exists(path):
        table = _fitting(Table.open(path), columns, widens=options.flag("widen"))
    else:
        table = Table(
            path,
            columns,
            options.names("partitionBy"),
            bloom=options.names("bloom"),
            statistics=options.names("statistics"),
            sort_by=options.names("sortBy"),
        )
    if not quarantine:
        return table, None
    if REASON not in given.names:
        raise TableError(f"{FORMAT}: rows with a quarantine have a column {REASON!r}")
    fields = [table.schema.field(name) if name in table.schema.names else given.field(name) for name in given.names]
    layout = table.layout
    return table, Table(
        quarantine, pa.schema(fields), statistics=list(layout.statistics), schema_version=layout.schema_version
    )


def _fitting(table: Table, columns: pa.Schema, *, widens: bool) -> Table:
    """The table, with the columns that a later version of the program has added. What it has and the rows have not is
    of a version that is later still."""
    unknown = [name for name in table.schema.names if name not in columns.names]
    added = [field.with_nullable(True) for field in columns if field.name not in table.schema.names]
    if widens and unknown:
        raise NewerTable(f"the table at {table.path} has the columns {unknown}, which this program does not know")
    if unknown or (added and not widens):
        names = sorted({*unknown, *(field.name for field in added)})
        raise TableError(f"{FORMAT}: {table.path} and the rows differ in the columns {names}")
    if not added:
        return table
    layout = table.layout
    return Table(
        table.path,
        pa.schema([*table.schema, *added]),
        layout.partition_by,
        bloom=layout.bloom,
        statistics=layout.statistics,
        sort_by=layout.sort_by,
        schema_version=layout.schema_version + 1,
    )


class Task:
    """One task's work: rows come in, files and ranges come out. Runs in a worker."""

    def __init__(self, table: Table, quarantine: Table | None, *, ranges: bool, keeps: Sequence[str] = ()) -> None:
        self._schema = table.schema
        self.writer = FileWriter(table.path, table.schema, table.layout, keeps=keeps)
        self._quarantine_schema = None if quarantine is None else quarantine.schema
        self._quarantine = (
            None if quarantine is None else FileWriter(quarantine.path, quarantine.schema, quarantine.layout)
        )
        self._reads_ranges = ranges
        self._ranges: list[Range] = []

    def run(self, batches: Iterator[pa.RecordBatch]) -> Written:
        try:
            for batch in batches:
                self._take(batch)
            quarantined = [] if self._quarantine is None else self._quarantine.close()
            return Written(self.writer.close(), quarantined, self._ranges)
        except BaseException:
            self.writer.discard()
            if self._quarantine is not None:
                self._quarantine.discard()
            raise

    def _take(self, batch: pa.RecordBatch) -> None:
        if self._reads_ranges:
            batch = self._without_ranges(batch)
        if self._quarantine is not None and self._quarantine_schema is not None:
            reasons = batch.column(REASON)
            if reasons.null_count < len(reasons):
                self._quarantine.write(fitted(batch.filter(reasons.is_valid()), self._quarantine_schema))
                batch = batch.filter(reasons.is_null())
        self.writer.write(fitted(batch, self._schema))

    def _without_ranges(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        marked = pc.equal(batch.column("offset"), RANGE_OFFSET)
        if not pc.any(marked).as_py():
            return batch
        marked = pc.and_(marked, pc.equal(batch.column("protocol"), RANGE_PROTOCOL))
        self._ranges += [decode_range(value) for value in batch.filter(marked).column("value").to_pylist()]
        return batch.filter(pc.invert(marked))


def fitted(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The columns of the table, in its order and of its types: Spark's differ in names of time zones and such."""
    arrays = []
    for item in schema:
        column = batch.column(item.name)
        arrays.append(column if column.type == item.type else column.cast(item.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


class Writing:
    """What the writers of batches and of streams share."""

    def __init__(self, options: SinkOptions, table: Table, quarantine: Table | None) -> None:
        self.options = options
        self.table = table
        self.quarantine = quarantine

    @classmethod
    def of_rows(cls, given: Mapping[str, str], schema: StructType) -> "Writing":
        """For rows of this schema."""
        options = SinkOptions(given)
        return cls(options, *open_tables(options, schema))

    def task(self) -> Task:
        return Task(self.table, self.quarantine, ranges=self.options.flag("ranges"))

    def append(
        self,
        messages: list[WriterCommitMessage | None],
        epoch: int,
        lineage: int | None,
        batch: int,
        topic_ids: Mapping[str, str] | None = None,
    ) -> int | None:
        """The commit names the files of the quarantine; who is cut off before they are in it finds them there."""
        app = self.options.text("app")
        written = Written.of_all(messages)
        version = self.table.append(
            written.files,
            written.ranges,
            app,
            epoch,
            batch,
            lineage=lineage,
            holes=self.options.flag("holes"),
            topic_ids=topic_ids,
            notes={"quarantined": msgspec.to_builtins(written.quarantined)} if written.quarantined else {},
        )
        if version is not None and self.quarantine is not None and written.quarantined:
            settle_quarantine(self.table, self.quarantine, app, since=version)
        return version


def left_behind(messages: list[WriterCommitMessage | None]) -> None:
    """What tasks wrote for a batch that Spark believes was not committed is left where it is. Spark may be wrong: it
    believes so, too, when the process that committed was killed before it could say that it had. What really is not
    part of the table is removed by `vacuum`."""
    if files := Written.of_all(messages).files:
        _log.info("files are left to vacuum, unless they were committed after all", files=len(files))


def settle_quarantine(table: Table, quarantine: Table, app: str, *, since: int | None = None) -> None:
    """Adds to the quarantine what the commits of the table say belongs there: the version of the table is the number of
    the batch, so that none is added twice."""
    if not quarantine.state(app).epoch:
        quarantine.claim(app)
    state = quarantine.state(app)
    begin = state.batch + 1 if since is None else since
    settled = begin - 1
    for commit in table.commits(begin):
        if commit.app == app and commit.notes.get("quarantined"):
            files = msgspec.convert(commit.notes["quarantined"], list[DataFile])
            quarantine.append(files, [], app, state.epoch, commit.version)
            begin = commit.version + 1
        settled = commit.version
    if settled - begin >= SETTLE_EVERY:
        # So that the next start need not go through all of them again.
        quarantine.append([], [], app, state.epoch, settled)


class TableWriter(DataSourceArrowWriter):
    """Writes one DataFrame: adds it as a batch, or puts it in the place of partitions."""

    def __init__(self, options: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        self._writing = Writing.of_rows(options, schema)
        self._overwrite = overwrite

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return self._writing.task().run(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        options, table = self._writing.options, self._writing.table
        app = options.text("app")
        epoch = options.number("epoch") if options.optional("epoch") else None
        if self._overwrite:
            text = options.optional("replace")
            where = msgspec.json.decode(text, type=dict[str, Any]) if text else {}
            if fence := options.optional("fence"):
                Table.open(fence).check_epoch(options.text("fenceApp"), options.number("fenceEpoch"))
            table.replace(Written.of_all(messages).files, where=where, app=app, epoch=epoch)
            return
        state = table.state(app)
        if not state.epoch:
            table.claim(app)
            state = table.state(app)
        batch = options.number("batch") if options.optional("batch") else state.batch + 1
        topic_ids = msgspec.json.decode(options.optional("topicIds") or "{}", type=dict[str, str])
        self._writing.append(messages, state.epoch if epoch is None else epoch, None, batch, topic_ids)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """See `left_behind`."""
        left_behind(messages)


class TableStreamWriter(DataSourceStreamArrowWriter):
    """Writes the batches of a stream. The options of the run come from `Table.begin`."""

    def __init__(self, writing: Writing) -> None:
        self.writing = writing
        for name in ("epoch", "lineage"):
            self.writing.options.number(name)
        self.writing.options.text("app")

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return self.writing.task().run(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        options = self.writing.options
        topic_ids = self.topic_ids(Written.of_all(messages))
        self.writing.append(messages, options.number("epoch"), options.number("lineage"), batchId, topic_ids)

    def topic_ids(self, written: Written) -> Mapping[str, str]:  # noqa: ARG002
        """Those of the topics that the batch was read from, where somebody asks for them."""
        return {}

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803
        """See `left_behind`."""
        left_behind(messages)


class TableSink(DataSource):
    """`df.write.format("braid-table").option("path", ...).option("app", ...)`.

    Options of both: `path`, `app`; for a table that is made: `partitionBy`, `bloom`, `statistics`, `sortBy` (names with
    commas); `ranges` = true takes the rows out that say what was read; `quarantine` is the path for rows with a reason.
    A stream: `epoch`, `lineage` (from `Table.begin`), `holes` = true allows offsets to be left out. A batch: `batch` is
    a number by which a repetition is known, `topicIds` are those of the topics that it was read from, as JSON; with
    mode `overwrite`, `replace` names the partitions as JSON, and `fence`, `fenceApp` and `fenceEpoch` are another table
    whose newer driver ends this one. `widen` = true adds columns that the table lacks.
    """

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def writer(self, schema: StructType, overwrite: bool) -> TableWriter:
        return TableWriter(self.options, schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> TableStreamWriter:  # noqa: ARG002, N802
        return TableStreamWriter(Writing.of_rows(self.options, schema))
