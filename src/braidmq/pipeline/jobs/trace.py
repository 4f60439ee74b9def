"""What became of messages: steps taken in as nodes tell them, one message's timeline when somebody asks, statistics.

Made of the node's samples in `__braid.trace`. A step of one message has its id; a step that all messages take is a
range of offsets, so a timeline is put together from both, as the node does it. The end-to-end times of topics and
groups are made by `usage` of its own samples (histograms of all messages), and not of the few whose steps were noted.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import duckdb
import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from braidmq.model import TraceKind
from braidmq.model.telemetry import TRACE_TOPIC
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
from braidmq.pipeline.tables import Table

EVENTS: Final = "trace_events"
FINDINGS: Final = "trace_findings"
STUCK_S: Final = 300
STEPS_MAX: Final = 1_000
_ORDER: Final = {kind.value: nth for nth, kind in enumerate(TraceKind)}

SAMPLE: Final = (
    "kind string, version int, node string, life_ms bigint, step string, at_ms bigint, instance string, topic string,"
    " partition int, offset bigint, first bigint, until bigint, message_id string, message_ids array<string>,"
    " keys array<string>, group string, client string, value bigint"
)
"""Of the JSON; see `model.telemetry.TraceSample`."""


def shaped(source: DataFrame) -> DataFrame:
    """Messages of `__braid.trace` as rows of steps. A range that names its messages is a row for each of them; the
    first has what the node said."""
    said = source.withColumn("said", f.from_json(f.col("value").cast("string"), SAMPLE))
    said = said.select("*", f.posexplode_outer("said.message_ids").alias("nth", "named"))
    is_named = f.col("named").isNotNull()
    known = f.coalesce((f.col("said.kind") == "trace") & f.col("said.at_ms").isNotNull(), f.lit(False))
    at = f.timestamp_millis("said.at_ms")
    unknown = f.lit(-1).cast("bigint")
    return said.select(
        f.col("topic").alias("source_topic"),
        f.col("partition").alias("source_partition"),
        *[name for name in SOURCE_COLUMNS if name not in ("topic", "partition", "value")],
        f.when(~is_named | (f.col("nth") == 0), f.col("value")).alias("value"),
        "said.node",
        "said.step",
        at.alias("at"),
        f.coalesce("said.instance", f.lit("default")).alias("instance"),
        f.coalesce("said.topic", f.lit("")).alias("topic"),
        f.coalesce("said.partition", f.lit(-1)).alias("partition"),
        f.coalesce(f.col("said.first") + f.col("nth"), "said.offset", unknown).alias("place"),
        f.when(~is_named, f.coalesce("said.first", unknown)).otherwise(unknown).alias("first"),
        f.when(~is_named, f.coalesce("said.until", unknown)).otherwise(unknown).alias("until"),
        f.coalesce("named", "said.message_id", f.lit("")).alias("message_id"),
        f.coalesce("said.keys", f.array().cast("array<string>")).alias("keys"),
        f.coalesce("said.group", f.lit("")).alias("group"),
        f.coalesce("said.client", f.lit("")).alias("client"),
        f.coalesce("said.value", unknown).alias("amount"),
        f.coalesce(at.cast("date"), f.col("store_time").cast("date")).alias(DAY),
        f.when(~is_range() & ~known, f.lit("not a step of a message")).alias("reason"),
    )


FINDING: Final = ["kind", "instance", "topic", "partition", "group", "message_id", "since", "detail"]


def findings(steps: DataFrame, now: datetime) -> DataFrame:
    """What did not go on: ranges that were delivered and not acknowledged, and messages whose next step is missing."""
    return stuck(steps, now).unionByName(missing_steps(steps, now))


def stuck(steps: DataFrame, now: datetime) -> DataFrame:
    """Partitions in which a group was given more than it has acknowledged, and has acknowledged nothing for a while."""
    ranges = steps.where(f.col("first") >= 0)
    delivered, acknowledged = (
        f.max(f.when(f.col("step") == kind.value, f.col("until")))
        for kind in (TraceKind.DELIVERED, TraceKind.ACKNOWLEDGED)
    )
    moved = f.max(f.when(f.col("step") == TraceKind.ACKNOWLEDGED.value, f.col("at")))
    given = f.min(f.when(f.col("step") == TraceKind.DELIVERED.value, f.col("at")))
    by_group = ranges.groupBy("instance", "topic", "partition", "group").agg(
        delivered.alias("delivered"),
        f.coalesce(acknowledged, f.lit(0)).alias("acknowledged"),
        f.coalesce(moved, given).alias("since"),
    )
    late = f.lit(now - timedelta(seconds=STUCK_S))
    found = by_group.where(f.col("delivered") > f.col("acknowledged")).where(f.col("since") < late)
    detail = f.concat(
        f.lit("delivered up to "), f.col("delivered"), f.lit(", acknowledged up to "), f.col("acknowledged")
    )
    return found.select(
        f.lit("stuck").alias("kind"),
        "instance",
        "topic",
        "partition",
        "group",
        f.lit("").alias("message_id"),
        "since",
        detail.alias("detail"),
    )


def missing_steps(steps: DataFrame, now: datetime) -> DataFrame:
    """Messages that wait for a step whose time is over: halves that nobody ended, delays that are past, retries that
    never came."""
    ends = {
        TraceKind.PREPARED: (TraceKind.COMMITTED, TraceKind.ROLLED_BACK),
        TraceKind.DELAYED: (TraceKind.DUE, TraceKind.RECALLED),
    }
    singles = steps.where(f.col("message_id") != "")
    found: DataFrame | None = None
    for begin, wanted in ends.items():
        last_begin = f.max(f.when(f.col("step") == begin.value, f.struct("at", "topic", "partition", "amount")))
        last_end = f.max(f.when(f.col("step").isin([kind.value for kind in wanted]), f.col("at")))
        seen = singles.groupBy("instance", "message_id").agg(last_begin.alias("begun"), last_end.alias("ended"))
        due = f.col("begun.at")
        if begin is TraceKind.DELAYED:
            due = f.timestamp_millis(f.greatest(f.col("begun.amount"), f.lit(0)))
        is_open = f.col("ended").isNull() | (f.col("ended") < f.col("begun.at"))
        late = seen.where(f.col("begun").isNotNull() & is_open)
        late = late.where(due < f.lit(now - timedelta(seconds=STUCK_S)))
        rows = late.select(
            f.lit("missing step").alias("kind"),
            "instance",
            f.col("begun.topic").alias("topic"),
            f.col("begun.partition").alias("partition"),
            f.lit("").alias("group"),
            "message_id",
            due.alias("since"),
            f.lit(f"{begin.value}, and neither {' nor '.join(kind.value for kind in wanted)}").alias("detail"),
        )
        found = rows if found is None else found.unionByName(rows)
    assert found is not None
    return found


def derive(spark: SparkSession, sources: Sources, days: Sequence[date]) -> None:
    """Make the findings of these days anew, as they stand at the end of what is known: as long as there is more to be
    read, the clock says nothing."""
    _find(spark, sources, days, None)


def find(spark: SparkSession, sources: Sources, *, now: datetime | None = None) -> None:
    """Make the findings of today anew, by the clock. For who has read all that there is: then what has not come has not
    happened, also where nothing comes at all."""
    if Table.exists(sources.table(EVENTS)):
        now = now or datetime.now(UTC)
        _find(spark, sources, [now.date()], now)


def _find(spark: SparkSession, sources: Sources, days: Sequence[date], now: datetime | None) -> None:
    around = sorted({*days, *(day - timedelta(days=1) for day in days)})
    steps = read_days(spark, sources.table(EVENTS), around)
    last = days[-1]
    if (until := now or newest(steps)) is not None:
        found = findings(steps, until).withColumn(DAY, f.lit(last).cast("date"))
        replace_days(found, sources.table(FINDINGS), "trace", [last])


INGEST: Final = Ingest(
    name=EVENTS,
    topic=TRACE_TOPIC,
    shape=shaped,
    derive=derive,
    bloom=("message_id",),
    statistics=("at", "topic", "partition", "first", "until", "message_id"),
    sort_by=("message_id", "topic", "partition", "first"),
)


def run_once(spark: SparkSession, sources: Sources) -> Outcome:
    """Take in all steps that are there, and make the tables of their days and the findings of today."""
    outcome = INGEST.run_once(spark, sources)
    find(spark, sources)
    return outcome


def start(spark: SparkSession, sources: Sources, *, trigger_s: int = TRIGGER_S) -> StreamingQuery:
    """Go on doing so."""
    return INGEST.start(spark, sources, trigger_s=trigger_s)


# One message.


class Place(msgspec.Struct, frozen=True):
    """Where a message lies, or lay."""

    topic: str
    partition: int
    offset: int
    instance: str = "default"


class Step(msgspec.Struct, frozen=True):
    """One step of a message's life. What is not known is empty or -1."""

    step: str
    at: datetime
    instance: str
    topic: str
    partition: int
    offset: int
    group: str
    client: str
    value: int


_COLUMNS: Final = 'step, "at", instance, topic, "partition", place, "group", client, amount'
_OF_ID: Final = f"select {_COLUMNS} from read_parquet($files) where message_id = $id limit {STEPS_MAX}"  # noqa: S608
_OF_PLACE: Final = f"""
    select {_COLUMNS} from read_parquet($files)
    where "first" <= $offset and "until" > $offset and topic = $topic and "partition" = $partition
    and instance = $instance
    limit {STEPS_MAX}
"""  # noqa: S608


def timeline(root: str, message_id: str, places: Iterable[Place] = ()) -> list[Step]:
    """All that was noted of a message, in order, without Spark. `places` are those that the caller knows of, say from
    the archive: steps of ranges are found by them, and by the places that the message's own steps name."""
    sources = Sources(bootstrap="", root=root)
    if not Table.exists(sources.table(EVENTS)):
        return []
    table = Table.open(sources.table(EVENTS))
    files = table.files()
    with duckdb.connect(config={"threads": 1, "memory_limit": "256MB"}) as database:
        database.execute("set timezone = 'UTC'")
        steps = _asked(database, _OF_ID, table, [file for file in files if _may_hold(file, message_id)], id=message_id)
        known = {
            *places,
            *(Place(step.topic, step.partition, step.offset, step.instance) for step in steps if step.offset >= 0),
        }
        for place in sorted(known, key=msgspec.structs.astuple):
            near = [file for file in files if _may_cover(file, place)]
            found = _asked(database, _OF_PLACE, table, near, **msgspec.structs.asdict(place))
            steps += [msgspec.structs.replace(step, offset=place.offset) for step in found]
    return sorted(steps, key=lambda step: (step.at, _ORDER.get(step.step, len(_ORDER))))


def _asked(database: Any, query: str, table: Table, files: Sequence[Any], **given: Any) -> list[Step]:
    if not files:
        return []
    paths = [str(table.path / file.path) for file in files]
    rows = database.execute(query, {"files": paths, **given}).fetchall()
    return [Step(*row) for row in rows]


def _may_hold(file: Any, message_id: str) -> bool:
    low, high = file.low.get("message_id"), file.high.get("message_id")
    return low is None or high is None or low <= message_id <= high


def _may_cover(file: Any, place: Place) -> bool:
    low, high = file.low.get("topic"), file.high.get("topic")
    in_topic = low is None or high is None or low <= place.topic <= high
    until = file.high.get("until")
    return in_topic and (until is None or until > place.offset)
