"""How far groups were behind, by the minute, and where that leads: who will not catch up, and when the disk is full.

Made of the node's samples in `__braid.lag`; on a Kafka cluster, which has no such topic, `sample` asks the brokers and
adds the same samples. Forecasts are a robust line through the last hours with its bounds: where the bounds do not agree
about the direction, it says so, and where there is too little to go by, it says that. Alarms are the node's business.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import pyarrow as pa
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.query import StreamingQuery

from braidmq.model.names import is_internal
from braidmq.model.telemetry import LAG_TOPIC
from braidmq.pipeline._brokers import ASK_S, EARLIEST, LATEST, admin_client, offsets_at
from braidmq.pipeline.jobs._fit import Fit, fitted_line
from braidmq.pipeline.jobs._ingest import (
    DAY,
    SOURCE_COLUMNS,
    TRIGGER_S,
    Ingest,
    Outcome,
    Sources,
    is_range,
    newest,
    read_days,
    replace_days,
)

SAMPLES: Final = "lag_samples"
MINUTES: Final = "lag_1m"
DISK: Final = "disk_1m"
FORECAST: Final = "lag_forecast"
KEYS: Final = ["instance", "group", "topic", "partition"]
HISTORY: Final = timedelta(hours=6)
"""How far back a forecast looks."""
SPAN_MIN_S: Final = 600
CLUSTER: Final = "cluster"
"""Stands for the node in samples that brokers were asked for."""

SAMPLE: Final = (
    "kind string, version int, node string, life_ms bigint, at_ms bigint, instance string, group string, topic string,"
    " partition int, start bigint, committed bigint, `end` bigint, members int, total_bytes bigint,"
    " free_bytes bigint, log_bytes bigint"
)
"""Of the JSON; see `model.telemetry.LagSample` and `DiskSample`."""

_FIELDS: Final = ["group", "start", "committed", "end", "members", "total_bytes", "free_bytes", "log_bytes"]


def shaped(source: DataFrame) -> DataFrame:
    """Messages of `__braid.lag` as rows of samples."""
    said = source.withColumn("said", f.from_json(f.col("value").cast("string"), SAMPLE))
    known = f.coalesce(f.col("said.kind").isin("lag", "disk") & f.col("said.at_ms").isNotNull(), f.lit(False))
    at = f.timestamp_millis("said.at_ms")
    return said.select(
        f.col("topic").alias("source_topic"),
        f.col("partition").alias("source_partition"),
        *[name for name in SOURCE_COLUMNS if name not in ("topic", "partition")],
        "said.kind",
        "said.node",
        "said.life_ms",
        at.alias("at"),
        f.coalesce("said.instance", f.lit("default")).alias("instance"),
        "said.topic",
        "said.partition",
        *[f.col(f"said.{name}").alias(name) for name in _FIELDS],
        f.coalesce(at.cast("date"), f.col("store_time").cast("date")).alias(DAY),
        f.when(~is_range() & ~known, f.lit("not a sample of lag")).alias("reason"),
    )


def per_minute(samples: DataFrame) -> DataFrame:
    """How far each group was at the end of each minute in which something was told of it."""
    rows = samples.where(f.col("kind") == "lag").withColumn("minute", f.date_trunc("minute", "at"))
    last = Window.partitionBy("minute", *KEYS).orderBy(f.col("at").desc(), f.col("offset").desc())
    rows = rows.withColumn("_nth", f.row_number().over(last)).where(f.col("_nth") == 1)
    behind = f.col("end") - f.greatest(f.least(f.col("committed"), f.col("end")), f.col("start"))
    return rows.select(
        f.col("minute").alias("at"),
        *KEYS,
        "start",
        "committed",
        "end",
        f.greatest(behind, f.lit(0)).alias("lag"),
        (f.col("committed") < f.col("start")).alias("has_lost"),
        "members",
        DAY,
    )


def disk_per_minute(samples: DataFrame) -> DataFrame:
    """How full each node's disk was at the end of each minute."""
    rows = samples.where(f.col("kind") == "disk").withColumn("minute", f.date_trunc("minute", "at"))
    last = Window.partitionBy("minute", "node").orderBy(f.col("at").desc())
    rows = rows.withColumn("_nth", f.row_number().over(last)).where(f.col("_nth") == 1)
    return rows.select(f.col("minute").alias("at"), "node", "total_bytes", "free_bytes", "log_bytes", DAY)


_TIME: Final = pa.timestamp("us", tz="UTC")
FORECAST_COLUMNS: Final = pa.schema(
    [
        ("kind", pa.string()),
        ("name", pa.string()),
        ("topic", pa.string()),
        ("at", _TIME),
        ("points", pa.int32()),
        ("now", pa.float64()),
        ("per_s", pa.float64()),
        ("low_per_s", pa.float64()),
        ("high_per_s", pa.float64()),
        ("verdict", pa.string()),
        ("reached_at", _TIME),
    ]
)
FORECAST_SCHEMA: Final = from_arrow_schema(FORECAST_COLUMNS)


def forecast(minutes: DataFrame, disk: DataFrame, until: datetime) -> DataFrame:
    """Where lag and disk lead, from what was known at `until` of the hours before.

    Samples tell of changes, so a partition stays as it was last told of until it is told of again.
    """
    lags = _filled(minutes, until).groupBy("at", "group", "topic").agg(f.sum("lag").cast("double").alias("value"))
    lags = lags.select(
        f.lit("group").alias("kind"), f.col("group").alias("name"), "topic", "at", "value", f.lit(0.0).alias("limit")
    )
    fills = disk.where(f.col("at") <= until).where(f.col("total_bytes") > 0)
    fills = fills.select(
        f.lit("disk").alias("kind"),
        f.col("node").alias("name"),
        f.lit("").alias("topic"),
        "at",
        (f.col("total_bytes") - f.col("free_bytes")).cast("double").alias("value"),
        f.col("total_bytes").cast("double").alias("limit"),
    )
    recent = lags.unionByName(fills).where(f.col("at") >= f.lit(until - HISTORY))
    found = recent.groupBy("kind", "name", "topic").applyInArrow(_forecast_one, FORECAST_SCHEMA)
    return found.withColumn(DAY, f.lit(until.date()))


def _filled(minutes: DataFrame, until: datetime) -> DataFrame:
    """A row for every minute of each partition from its first on, with what was last told before."""
    rows = minutes.where(f.col("at") <= until)
    first = f.greatest(f.min("at"), f.lit(until - HISTORY).cast("timestamp"))
    end = f.date_trunc("minute", f.lit(until).cast("timestamp"))
    spans = rows.groupBy(*KEYS).agg(f.date_trunc("minute", first).alias("_first"))
    grid = spans.select(*KEYS, f.explode(f.sequence("_first", end, f.expr("interval 1 minute"))).alias("at"))
    told = rows.select(*KEYS, "at", "lag")
    everything = grid.join(told, [*KEYS, "at"], "full")
    before = Window.partitionBy(*KEYS).orderBy("at").rowsBetween(Window.unboundedPreceding, 0)
    return everything.withColumn("lag", f.last("lag", ignorenulls=True).over(before)).where(f.col("lag").isNotNull())


def _forecast_one(points: pa.Table) -> pa.Table:
    points = points.sort_by("at")
    kind, name, topic, limit = (points[column][0].as_py() for column in ("kind", "name", "topic", "limit"))
    times: list[datetime] = points["at"].to_pylist()
    values: list[float] = points["value"].to_pylist()
    last, now = times[-1], values[-1]
    fit = fitted_line([(at - last).total_seconds() for at in times], values, SPAN_MIN_S)
    verdict, reached_s = judged_disk(fit, now, limit) if kind == "disk" else judged_lag(fit, now)
    row = {
        "kind": kind,
        "name": name,
        "topic": topic,
        "at": last,
        "points": len(values),
        "now": now,
        "per_s": None if fit is None else fit.slope,
        "low_per_s": None if fit is None else fit.low,
        "high_per_s": None if fit is None else fit.high,
        "verdict": verdict,
        "reached_at": None if reached_s is None else last + timedelta(seconds=round(reached_s)),
    }
    return pa.Table.from_pylist([row], FORECAST_COLUMNS)


YEAR_S: Final = 366 * 86_400
"""Who says more than that of the future has no reason to."""


def judged_lag(fit: Fit | None, now: float) -> tuple[str, float | None]:
    """What is to be said of a group, and after how many seconds it has caught up."""
    if now <= 0:
        return "caught up", None
    if fit is None:
        return "too little is known", None
    if fit.low > 0:
        return "will not catch up", None
    if fit.high < 0:
        left_s = now / -fit.slope
        return "catches up", left_s if left_s < YEAR_S else None
    return ("stands still", None) if fit.low == fit.high == 0 else ("no direction", None)


def judged_disk(fit: Fit | None, used: float, total: float) -> tuple[str, float | None]:
    """What is to be said of a disk, and after how many seconds it is full."""
    if used >= total:
        return "full", None
    if fit is None:
        return "too little is known", None
    if fit.low > 0:
        left_s = (total - used) / fit.slope
        return "fills up", left_s if left_s < YEAR_S else None
    return ("empties", None) if fit.high < 0 else ("no direction", None)


def derive(spark: SparkSession, sources: Sources, days: Sequence[date]) -> None:
    """Make the tables of these days anew, and the forecast from their end."""
    samples = read_days(spark, sources.table(SAMPLES), days)
    replace_days(per_minute(samples), sources.table(MINUTES), "lag", days, statistics="at,group")
    replace_days(disk_per_minute(samples), sources.table(DISK), "lag", days, statistics="at")
    last = days[-1]
    around = [last - timedelta(days=1), last]
    minutes, disk = (read_days(spark, sources.table(name), around) for name in (MINUTES, DISK))
    until = newest(samples)
    if until is not None:
        replace_days(forecast(minutes, disk, until), sources.table(FORECAST), "lag", [last])


INGEST: Final = Ingest(
    name=SAMPLES,
    topic=LAG_TOPIC,
    shape=shaped,
    derive=derive,
    statistics=("at",),
)


def run_once(spark: SparkSession, sources: Sources) -> Outcome:
    """Take in all samples that are there, and make the tables of their days."""
    return INGEST.run_once(spark, sources)


def start(spark: SparkSession, sources: Sources, *, trigger_s: int = TRIGGER_S) -> StreamingQuery:
    """Go on doing so."""
    return INGEST.start(spark, sources, trigger_s=trigger_s)


# Where nobody tells.


def sample(spark: SparkSession, sources: Sources, *, now: datetime | None = None) -> int:
    """Ask the brokers how far all groups are, and add that as samples; for a Kafka cluster, once a minute. How many
    there were. Raises KafkaException where no broker answers."""
    at = now or datetime.now(UTC)
    rows = list(cluster_samples(admin_client(sources.bootstrap, sources.kafka), at))
    if not rows:
        return 0
    frame = spark.createDataFrame(rows, _asked_schema())
    INGEST.write(frame, sources, {"app": "lag-asked"})
    derive(spark, sources, [at.date()])
    return len(rows)


def cluster_samples(admin: Any, at: datetime) -> Iterator[dict[str, Any]]:
    """How far all groups are, as the brokers say it."""
    listed = admin.list_consumer_groups().result(ASK_S).valid
    committed = {group.group_id: _committed(admin, group.group_id) for group in listed}
    wanted = {(each.topic, each.partition) for places in committed.values() for each in places}
    ends = offsets_at(admin, wanted, LATEST)
    starts = offsets_at(admin, wanted, EARLIEST)
    members = _members(admin, list(committed))
    for group, places in committed.items():
        for place in places:
            key = place.topic, place.partition
            if key in ends and key in starts:
                yield _asked(at, group, key, starts[key], place.offset, ends[key], members.get(group, 0))


def _committed(admin: Any, group: str) -> list[TopicPartition]:
    asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group]
    found = asked.result(ASK_S).topic_partitions
    return [each for each in found if each.error is None and each.offset >= 0 and not is_internal(each.topic)]


def _members(admin: Any, groups: list[str]) -> dict[str, int]:
    if not groups:
        return {}
    described = admin.describe_consumer_groups(groups)
    return {group: len(answer.result(ASK_S).members) for group, answer in described.items()}


def _asked(
    at: datetime, group: str, place: tuple[str, int], start: int, committed: int, end: int, members: int
) -> dict[str, Any]:
    return {
        "source_topic": "",
        "source_partition": -1,
        "offset": 0,
        "store_time": at,
        "protocol": "kafka",
        "kind": "lag",
        "node": CLUSTER,
        "life_ms": 0,
        "at": at,
        "instance": "default",
        "topic": place[0],
        "partition": place[1],
        "group": group,
        "start": start,
        "committed": committed,
        "end": end,
        "members": members,
        DAY: at.date(),
    }


def _asked_schema() -> str:
    return (
        "source_topic string, source_partition int, offset bigint, store_time timestamp, protocol string, value binary,"
        " kind string, node string, life_ms bigint, at timestamp, instance string, topic string, partition int,"
        " group string, start bigint, committed bigint, `end` bigint, members int, total_bytes bigint,"
        " free_bytes bigint, log_bytes bigint, day date, reason string"
    )
