"""The resource report: what came and went, by minute, hour and day, for each topic, group, protocol and traffic.

Made of the node's samples in `__braid.usage`. Latencies are added up as histograms, so that the percentiles of a day
are those of all its messages, to a percent. A minute in which a node told nothing is in the table of gaps, and not a
zero. Pressure-test traffic is a value of the column `traffic`; reports leave it out unless they are asked for it.
"""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from braidmq.model.telemetry import NORMAL, OUT, USAGE_TOPIC
from braidmq.pipeline.jobs import _histograms
from braidmq.pipeline.jobs._ingest import (
    DAY,
    SOURCE_COLUMNS,
    TRIGGER_S,
    Ingest,
    Outcome,
    Sources,
    is_range,
    read_days,
    replace_days,
)

SAMPLES: Final = "usage_samples"
GAPS: Final = "usage_gaps"
TRACE_SUMMARY: Final = "trace_summary"
"""Belongs to the trace, and is made here: whoever reads the trace first knows nothing of these samples yet."""
TABLES: Final = {"usage_1m": "1 minute", "usage_1h": "1 hour", "usage_1d": "1 day"}
KEYS: Final = ["instance", "topic", "group", "protocol", "traffic", "direction"]
GAP_MS: Final = 5_000
"""Samples of a node that follow on each other later than this left something out."""
SLOW_MS: Final = 10_000
_SUMS: Final = ["messages", "bytes", "times", "failures", "retries", "dead"]
_SECONDS: Final = {"1 minute": 60, "1 hour": 3_600, "1 day": 86_400}

SAMPLE: Final = (
    "kind string, version int, node string, life_ms bigint, from_ms bigint, until_ms bigint, instance string,"
    " topic string, group string, protocol string, traffic string, direction string, messages bigint, bytes bigint,"
    " times bigint, failures bigint, retries bigint, dead bigint, latency_ms map<string, bigint>,"
    " storage_bytes bigint, samples bigint, dropped bigint, trace_dropped bigint"
)
"""Of the JSON; see `model.telemetry.UsageSample` and `MinuteSample`."""


def shaped(source: DataFrame) -> DataFrame:
    """Messages of `__braid.usage` as rows of samples."""
    said = source.withColumn("said", f.from_json(f.col("value").cast("string"), SAMPLE))
    known = f.coalesce(f.col("said.kind").isin("usage", "minute") & f.col("said.from_ms").isNotNull(), f.lit(False))
    at = f.timestamp_millis("said.from_ms")
    return said.select(
        f.col("topic").alias("source_topic"),
        *[name for name in SOURCE_COLUMNS if name != "topic"],
        "said.kind",
        "said.node",
        "said.life_ms",
        "said.from_ms",
        "said.until_ms",
        _or("instance", "default"),
        _or("topic", ""),
        _or("group", ""),
        f.coalesce("said.protocol", f.lit("")).alias("spoken"),
        _or("traffic", NORMAL),
        _or("direction", ""),
        *[f.coalesce(f"said.{name}", f.lit(0)).alias(name) for name in _SUMS],
        f.coalesce(f.col("said.latency_ms").cast(_histograms.HISTOGRAM), f.map_from_arrays(f.array(), f.array()))
        .cast(_histograms.HISTOGRAM)
        .alias("latency_ms"),
        f.coalesce("said.storage_bytes", f.lit(-1)).alias("storage_bytes"),
        "said.samples",
        "said.dropped",
        "said.trace_dropped",
        f.coalesce(at.cast("date"), f.col("store_time").cast("date")).alias(DAY),
        f.when(~is_range() & ~known, f.lit("not a sample of usage")).alias("reason"),
    )


def per_window(samples: DataFrame, width: str) -> DataFrame:
    """What came and went in each window (`1 minute`, `1 hour`, `1 day`)."""
    rows = samples.where(f.col("kind") == "usage").withColumn("protocol", f.col("spoken"))
    begun = f.window(f.timestamp_millis("from_ms"), width)["start"].alias("at")
    rows = rows.select("*", begun)
    keys = ["at", *KEYS]
    sums = rows.groupBy(*keys).agg(
        *[f.sum(name).alias(name) for name in _SUMS],
        f.max_by("storage_bytes", "until_ms").alias("storage_bytes"),
    )
    latencies = _histograms.merged(rows, keys, "latency_ms")
    found = _histograms.with_shares(sums.join(latencies, keys, "left"), "latency_ms")
    seconds = _SECONDS[width]
    return found.select(
        *keys,
        *_SUMS,
        (f.col("messages") / seconds).alias("messages_per_s"),
        (f.col("bytes") / seconds).alias("bytes_per_s"),
        "latency_ms",
        *[f"{name}_ms" for name in _histograms.SHARES],
        "storage_bytes",
        f.col("at").cast("date").alias(DAY),
    )


def end_to_end(samples: DataFrame) -> DataFrame:
    """End-to-end times by hour, topic and group; `slow` took longer than ten seconds."""
    hours = per_window(samples, "1 hour").where(f.col("direction") == OUT)
    return hours.select(
        "at",
        "instance",
        "topic",
        "group",
        "protocol",
        "traffic",
        "messages",
        *[f"{name}_ms" for name in _histograms.SHARES],
        f.coalesce(_histograms.above(f.col("latency_ms"), SLOW_MS), f.lit(0)).alias("slow"),
        DAY,
    )


def gaps(samples: DataFrame) -> DataFrame:
    """When nodes told nothing: from the end of what they told to the beginning of what they told next."""
    ends = samples.where(f.col("kind") == "minute").dropDuplicates(["node", "from_ms"])
    before = Window.partitionBy("node").orderBy("from_ms")
    seen = ends.select(
        "node",
        f.lag("until_ms").over(before).alias("from_ms"),
        f.col("from_ms").alias("until_ms"),
        f.when(f.lag("life_ms").over(before) != f.col("life_ms"), f.lit("the node was started anew"))
        .otherwise(f.lit("samples are missing"))
        .alias("cause"),
    )
    missing = seen.where(f.col("until_ms") - f.col("from_ms") > GAP_MS)
    return missing.select(
        "node",
        f.timestamp_millis("from_ms").alias("from"),
        f.timestamp_millis("until_ms").alias("until"),
        ((f.col("until_ms") - f.col("from_ms")) / 1000).alias("seconds"),
        "cause",
        f.timestamp_millis("until_ms").cast("date").alias(DAY),
    )


def without_pressure(frame: DataFrame) -> DataFrame:
    """Only what is no test."""
    return frame.where(f.col("traffic") == NORMAL)


def derive(spark: SparkSession, sources: Sources, days: Sequence[date]) -> None:
    """Make the tables of these days anew."""
    samples = read_days(spark, sources.table(SAMPLES), days).persist()
    try:
        for name, width in TABLES.items():
            replace_days(per_window(samples, width), sources.table(name), "usage", days, statistics="at,topic")
        replace_days(end_to_end(samples), sources.table(TRACE_SUMMARY), "usage", days, statistics="at,topic")
    finally:
        samples.unpersist()
    # A gap may have begun the day before.
    around = sorted({*days, *(day - timedelta(days=1) for day in days)})
    found = gaps(read_days(spark, sources.table(SAMPLES), around)).where(f.col(DAY).isin(list(days)))
    replace_days(found, sources.table(GAPS), "usage", days)


INGEST: Final = Ingest(
    name=SAMPLES,
    topic=USAGE_TOPIC,
    shape=shaped,
    derive=derive,
    statistics=("from_ms",),
)


def run_once(spark: SparkSession, sources: Sources) -> Outcome:
    """Take in all samples that are there, and make the tables of their days."""
    return INGEST.run_once(spark, sources)


def start(spark: SparkSession, sources: Sources, *, trigger_s: int = TRIGGER_S) -> StreamingQuery:
    """Go on doing so."""
    return INGEST.start(spark, sources, trigger_s=trigger_s)


def _or(name: str, default: str) -> Column:
    return f.coalesce(f.col(f"said.{name}"), f.lit(default)).alias(name)
