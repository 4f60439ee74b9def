"""Dead letters: which groups gave up on what, why as far as anybody said, since when, and some ids to look at.

Read from the topics in which groups' dead letters lie (`%DLQ%GROUP`). Bodies are not kept, only what a letter says of
itself, so that the history of dead letters is longer than the topics' retention.
"""

from collections.abc import Sequence
from datetime import date
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from braidmq.model import ATTEMPT_HEADER, DEAD_ID_HEADER, DEAD_TOPIC_HEADER
from braidmq.model.names import DEAD_LETTER_TOPIC_PREFIX
from braidmq.pipeline.jobs._ingest import (
    DAY,
    TRIGGER_S,
    Ingest,
    Outcome,
    Sources,
    is_range,
    read_days,
    replace_days,
)

LETTERS: Final = "dlq_letters"
TOP: Final = "dlq_top"
SAMPLE_IDS: Final = 5
CAUSE_HEADERS: Final = (
    "kafka_dlt-exception-cause-fqcn",
    "kafka_dlt-exception-fqcn",
    "__connect.errors.exception.class.name",
    "exception",
)
"""Where frameworks write what went wrong, the most telling first."""
_COLUMNS: Final = ("instance", "topic", "partition", "offset", "message_id", "store_time", "headers", "protocol")
KEYS: Final = ["instance", "group", "origin_topic", "cause", "traffic"]


def shaped(source: DataFrame) -> DataFrame:
    """Messages of dead-letter topics as rows of letters."""
    attempts = _header(ATTEMPT_HEADER).try_cast("int")
    said = f.coalesce(*[_header(name) for name in CAUSE_HEADERS])
    unsaid = f.when(attempts > 1, f.lit("delivered in vain too often")).otherwise(f.lit("given up at once"))
    return source.select(
        "instance",
        "topic",
        "partition",
        "offset",
        "store_time",
        "protocol",
        f.when(is_range(), f.col("value")).alias("value"),
        f.expr(f"substring(topic, {len(DEAD_LETTER_TOPIC_PREFIX) + 1})").alias("group"),
        f.coalesce(_header(DEAD_TOPIC_HEADER), f.lit("")).alias("origin_topic"),
        f.coalesce(_header(DEAD_ID_HEADER), f.col("message_id"), f.concat_ws("-", "partition", "offset")).alias("id"),
        f.coalesce(attempts, f.lit(0)).alias("attempts"),
        f.coalesce(said, unsaid).alias("cause"),
        "traffic",
        f.col("store_time").cast("date").alias(DAY),
        f.lit(None).cast("string").alias("reason"),
    )


def top(letters: DataFrame) -> DataFrame:
    """By day, group, origin and cause: how many, the first and the last, and the ids of the latest."""
    keys = [DAY, *KEYS]
    latest = Window.partitionBy(*keys).orderBy(f.col("store_time").desc(), f.col("offset").desc())
    ranked = letters.withColumn("_nth", f.row_number().over(latest))
    ids = f.collect_list(f.when(f.col("_nth") <= SAMPLE_IDS, f.struct("_nth", "id")))
    return ranked.groupBy(*keys).agg(
        f.count(f.lit(1)).alias("letters"),
        f.min("store_time").alias("first_seen"),
        f.max("store_time").alias("last_seen"),
        f.max("attempts").alias("attempts_max"),
        f.transform(f.array_sort(ids), lambda pair: pair["id"]).alias("sample_ids"),
    )


def derive(spark: SparkSession, sources: Sources, days: Sequence[date]) -> None:
    """Make the table of these days anew."""
    letters = read_days(spark, sources.table(LETTERS), days)
    replace_days(top(letters), sources.table(TOP), "dlq", days, statistics="group")


INGEST: Final = Ingest(
    name=LETTERS,
    pattern=f"^{DEAD_LETTER_TOPIC_PREFIX}.*",
    shape=shaped,
    derive=derive,
    columns=(*_COLUMNS, "value", "traffic"),
    bloom=("id",),
    statistics=("store_time", "group"),
)


def run_once(spark: SparkSession, sources: Sources) -> Outcome:
    """Take in all dead letters that are there, and make the table of their days."""
    return INGEST.run_once(spark, sources)


def start(spark: SparkSession, sources: Sources, *, trigger_s: int = TRIGGER_S) -> StreamingQuery:
    """Go on doing so."""
    return INGEST.start(spark, sources, trigger_s=trigger_s)


def _header(name: str) -> Column:
    return f.nullif(f.col("headers")[name].cast("string"), f.lit(""))
