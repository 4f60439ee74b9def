"""From a topic into a table of rows as they came, and on into what a job makes of them. Exactly once.

A micro-batch is one commit of the table, with the offsets it covers inside. Then the job's results are made anew for
the days that the batch touched. Who is cut off between the two is given the same batch again: the table knows it, and
only the results are made.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.query import StreamingQuery

from braidmq.pipeline._brokers import other_ids, topics_at
from braidmq.pipeline._brokers import topic_ids as ids_of_topics
from braidmq.pipeline.columns import UNREADABLE, UNREADABLE_REASON
from braidmq.pipeline.errors import TopicMissing, TopicRemade
from braidmq.pipeline.tables import FORMAT, RANGE_OFFSET, REASON, Table, TableSink
from braidmq.pipeline.tables._ranges import RANGE_PROTOCOL

CHECKPOINTS: Final = "_checkpoints"
ROWS_PER_BATCH: Final = 200_000
TRIGGER_S: Final = 60
DAY: Final = "day"
SOURCE_COLUMNS: Final = ("topic", "partition", "offset", "store_time", "protocol", "value")
"""What every table of rows as they came has of the source; the offset, protocol and value are how ranges come along."""


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """Where a job reads, and where its tables lie."""

    bootstrap: str
    root: str
    """The folder of all tables; each job has its own below it."""
    kafka: dict[str, str] = {}
    """Settings of librdkafka, such as `security.protocol`."""
    keep: timedelta | None = None
    """How long samples and tables by the minute are kept, in whole days; None is for ever."""

    def is_over(self, day: date, now: datetime) -> bool:
        """Whether samples of this day are kept no longer: then nothing is made of them anew."""
        end = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)
        return self.keep is not None and end <= now - self.keep

    def table(self, name: str) -> str:
        return str(Path(self.root) / name)

    def options(self) -> dict[str, str]:
        """Of the source `braid`."""
        return {"bootstrap": self.bootstrap, **{f"kafka.{name}": value for name, value in self.kafka.items()}}


class Outcome(msgspec.Struct, frozen=True):
    """What a run did."""

    rows: int
    """Rows that are in the table now, and were not before."""
    days: tuple[date, ...]
    """The days of these rows."""
    is_topic_missing: bool = False


class Ingest(msgspec.Struct, frozen=True, kw_only=True):
    """What one job keeps as it came, and what it does then."""

    name: str
    topic: str = ""
    """A topic of the house, which nobody finds but by its name."""
    pattern: str = ""
    """Or a pattern of others: one that does not exist yet is read when it does."""
    shape: Callable[[DataFrame], DataFrame]
    """Makes the rows of the source, ranges among them, the rows of the table; with a column `reason` for bad ones."""
    derive: Callable[[SparkSession, Sources, Sequence[date]], None]
    """Makes the results of these days anew."""
    columns: tuple[str, ...] = SOURCE_COLUMNS
    bloom: tuple[str, ...] = ()
    statistics: tuple[str, ...] = ()
    sort_by: tuple[str, ...] = ()

    def run_once(self, spark: SparkSession, sources: Sources) -> Outcome:
        """Take in all that is there now; nothing where the topic is not there yet. Raises BrokerUnreachable."""
        if not self._is_there(sources):
            return Outcome(0, (), is_topic_missing=True)
        table = self._table(spark, sources)
        before = {file.path for file in table.files()}
        query = self._query(spark, sources, table, {"availableNow": True})
        query.awaitTermination()  # raises what ended it
        # The table is asked, since over Spark Connect the batches are worked on in another process.
        new = [file for file in table.files() if file.path not in before]
        return Outcome(sum(file.rows for file in new), tuple(sorted({file.partition[DAY] for file in new})))

    def start(self, spark: SparkSession, sources: Sources, *, trigger_s: int = TRIGGER_S) -> StreamingQuery:
        """A query that takes in what comes, every so many seconds. Raises TopicMissing, which may be tried again, and
        BrokerUnreachable."""
        if not self._is_there(sources):
            raise TopicMissing(
                f"there is no topic {self.topic} at {sources.bootstrap}: a node makes it within a minute of its start,"
                " unless telemetry.topics is off; a Kafka cluster has none"
            )
        table = self._table(spark, sources)
        return self._query(spark, sources, table, {"processingTime": f"{trigger_s} seconds"})

    def _table(self, spark: SparkSession, sources: Sources) -> Table:
        """Has to be there before a run can be begun: an empty batch makes it."""
        spark.dataSource.register(TableSink)
        if not Table.exists(sources.table(self.name)):
            frame = self._shaped(self._read(spark, sources, ["earliest"]))
            self.write(spark.createDataFrame([], frame.schema), sources, {"app": self.name})
        return Table.open(sources.table(self.name))

    def _query(self, spark: SparkSession, sources: Sources, table: Table, trigger: dict[str, Any]) -> StreamingQuery:
        ids = self.topic_ids(sources)
        run = table.begin(self.name, sources.table(CHECKPOINTS), topic_ids=ids)
        work = _Work(self, sources, run.options() | {"epoch": str(run.epoch)}, ids)
        if run.fresh:
            # Whoever lost the checkpoint may have been cut off before the last batch came into the results.
            work.derive(
                spark, sorted({date.fromisoformat(str(each[DAY])) for each in table.last_partitions(self.name)})
            )
        offsets = [json.dumps(run.resumes)] if run.resumes else ["earliest"]
        rows = self._shaped(self._read(spark, sources, offsets))
        writer = rows.writeStream.queryName(self.name).foreachBatch(work.take)
        return writer.option("checkpointLocation", run.checkpoint).trigger(**trigger).start()

    def _shaped(self, source: DataFrame) -> DataFrame:
        """A batch of the log that cannot be read is no row of any job."""
        is_unreadable = f.col("protocol") == UNREADABLE
        reason = f.when(is_unreadable, f.lit(UNREADABLE_REASON)).otherwise(f.col(REASON))
        return self.shape(source).withColumn(REASON, reason)

    def topic_ids(self, sources: Sources) -> dict[str, str]:
        """Of the topics that it reads, as far as there are any."""
        topics = [self.topic]
        if self.pattern:
            known = topics_at(sources.bootstrap, sources.kafka)
            topics = [topic for topic in known if re.fullmatch(self.pattern, topic)]
        return {topic: each for topic, each in ids_of_topics(sources.bootstrap, topics, sources.kafka).items() if each}

    def _is_there(self, sources: Sources) -> bool:
        if not self.topic:
            return True
        return self.topic in topics_at(sources.bootstrap, sources.kafka)

    def _read(self, spark: SparkSession, sources: Sources, offsets: Sequence[str]) -> DataFrame:
        reader = spark.readStream.format("braid").options(**sources.options())
        what = ("topics", self.topic) if self.topic else ("topicsPattern", self.pattern)
        reader = reader.option(*what).option("columns", ",".join(self.columns))
        return (
            reader.option("ranges", "true")
            .option("startingOffsets", offsets[0])
            # What retention was faster with is a gap in the commit, and must not end the job for good.
            .option("failOnDataLoss", "false")
            .option("maxRowsPerBatch", str(ROWS_PER_BATCH))
            .load()
        )

    def write(self, frame: DataFrame, sources: Sources, options: dict[str, str]) -> None:
        """Add the rows as one batch."""
        path = sources.table(self.name)
        writer = frame.write.format(FORMAT).mode("append").options(**options)
        writer = writer.option("path", path).option("quarantine", f"{path}_quarantine").option("ranges", "true")
        writer = writer.option("widen", "true")
        for name, columns in (
            ("partitionBy", (DAY,)),
            ("bloom", self.bloom),
            ("statistics", self.statistics),
            ("sortBy", self.sort_by),
        ):
            writer = writer.option(name, ",".join(columns))
        writer.save()


class _Work:
    """What is done with each micro-batch. Over Spark Connect a copy of it works in a process beside the server: nothing
    that it remembers comes back."""

    def __init__(self, ingest: Ingest, sources: Sources, run: dict[str, str], topic_ids: dict[str, str]) -> None:
        self._ingest = ingest
        self._sources = sources
        self._run = run
        self._topic_ids = topic_ids

    def take(self, frame: DataFrame, batch: int) -> None:
        frame = frame.persist()
        try:
            fit = frame.where(f.col("offset") != RANGE_OFFSET).where(f.col(REASON).isNull())
            days = sorted(row[DAY] for row in fit.select(DAY).distinct().collect())
            # All was read now: of the same topics, if they still have their ids.
            ids = self._same_topics()
            self._ingest.write(frame, self._sources, self._run | {"batch": str(batch), "topicIds": json.dumps(ids)})
        finally:
            frame.unpersist()
        self.derive(frame.sparkSession, days)

    def derive(self, spark: SparkSession, days: Sequence[date]) -> None:
        """Make the results of these days anew, as long as no newer driver has begun."""
        # What comes late for a day whose other samples are gone must not take the place of what was made of them.
        now = datetime.now(UTC)
        if due := [day for day in days if not self._sources.is_over(day, now)]:
            name = self._ingest.name
            token = _fence.set({"fence": self._sources.table(name), "fenceApp": name, "fenceEpoch": self._run["epoch"]})
            try:
                self._ingest.derive(spark, self._sources, due)
            finally:
                _fence.reset(token)

    def _same_topics(self) -> dict[str, str]:
        """The ids of the topics now. Raises TopicRemade: the next start reads the new ones from their beginning."""
        found = self._ingest.topic_ids(self._sources)
        known = self._topic_ids | Table.open(self._sources.table(self._ingest.name)).state(self._ingest.name).topic_ids
        if changed := other_ids(known, found):
            raise TopicRemade("; ".join(changed.values()))
        return found


_fence: Final[ContextVar[Mapping[str, str]]] = ContextVar("fence", default={})  # noqa: B039 - nobody changes it
"""The options by which results are not written any more once a newer driver has begun. Who derives need not know."""


def read_days(spark: SparkSession, path: str, days: Sequence[date]) -> DataFrame:
    """The rows of some days, by the table's live files: Spark itself does not read Delta tables without a jar."""
    table = Table.open(path)
    schema = from_arrow_schema(table.schema)
    found = spark.createDataFrame([], schema)
    for day in days:
        paths = [str(table.path / file.path) for file in table.files({DAY: str(day)})]
        if paths:
            rows = spark.read.schema(schema).parquet(*paths).withColumn(DAY, f.lit(day).cast("date"))
            found = found.unionByName(rows.select(*schema.names))
    return found


def newest(frame: DataFrame) -> datetime | None:
    """The latest time in the column `at`, whatever the driver's time zone is."""
    at_ms = frame.agg(f.unix_millis(f.max("at")).alias("at_ms")).collect()[0]["at_ms"]
    return None if at_ms is None else datetime.fromtimestamp(at_ms / 1000, UTC)


def replace_days(frame: DataFrame, path: str, app: str, days: Sequence[date], *, statistics: str = "") -> None:
    """Put the rows, which are of these days, in the place of what the table has of them."""
    frame.sparkSession.dataSource.register(TableSink)
    (
        frame.coalesce(1)
        .write.format(FORMAT)
        .mode("overwrite")
        .option("path", path)
        .option("app", app)
        .option("partitionBy", DAY)
        .option("statistics", statistics)
        .option("replace", json.dumps({DAY: [str(day) for day in days]}))
        .option("widen", "true")
        .options(**_fence.get())
        .save()
    )


def is_range() -> Any:
    """A row that only says what was read."""
    return (f.col("offset") == RANGE_OFFSET) & (f.col("protocol") == RANGE_PROTOCOL)
