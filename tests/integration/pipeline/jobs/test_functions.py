"""What jobs make of samples: pure functions, on a real Spark."""

import json
import random
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.testing import assertDataFrameEqual

from braidmq.model import histogram
from braidmq.pipeline.jobs import _histograms, dlq, lag, trace, usage

BEGAN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SOURCE = "topic string, partition int, offset bigint, store_time timestamp, protocol string, value binary"
LETTERS = (
    "instance string, topic string, partition int, offset bigint, message_id string, store_time timestamp,"
    " headers map<string, binary>, protocol string, value binary, traffic string"
)


def ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def source(spark: SparkSession, *samples: dict[str, Any] | bytes) -> DataFrame:
    """Messages of a topic of the house."""
    texts = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in samples]
    return spark.createDataFrame([("t", 0, nth, BEGAN, "kafka", text) for nth, text in enumerate(texts)], SOURCE)


def used(minute: int = 0, **fields: Any) -> dict[str, Any]:
    from_ms = ms(BEGAN) + minute * 60_000
    return {
        "kind": "usage",
        "node": "n",
        "life_ms": 1,
        "from_ms": from_ms,
        "until_ms": from_ms + 60_000,
        "topic": "orders",
        "direction": "out",
        **fields,
    }


def minute(at: int, *, life_ms: int = 1, node: str = "n") -> dict[str, Any]:
    from_ms = ms(BEGAN) + at * 60_000
    return {
        "kind": "minute",
        "node": node,
        "life_ms": life_ms,
        "from_ms": from_ms,
        "until_ms": from_ms + 60_000,
        "samples": 0,
        "dropped": 0,
        "trace_dropped": 0,
    }


# Histograms.


def test_percentiles_in_spark_are_those_of_the_model_for_any_values(spark: SparkSession) -> None:
    chance = random.Random(7)
    histograms = []
    for _ in range(20):
        counted: dict[int, int] = {}
        for _ in range(chance.randint(0, 60)):
            counted = histogram.added(counted, {histogram.bucket_of(int(10 ** chance.uniform(0, 9))): 1})
        histograms.append(counted)
    frame = spark.createDataFrame([(nth, each) for nth, each in enumerate(histograms)], "nth int, h map<int, bigint>")
    rows = _histograms.with_shares(frame, "h").orderBy("nth").collect()
    for row, counted in zip(rows, histograms, strict=True):
        for name, share in _histograms.SHARES.items():
            assert row[f"{name}_ms"] == histogram.quantile(counted, share)


def test_histograms_are_merged_by_adding_their_counts(spark: SparkSession) -> None:
    rows = [("a", {1: 2, 5: 1}), ("a", {5: 4}), ("b", {9: 1}), ("c", {})]
    frame = spark.createDataFrame(rows, "name string, h map<int, bigint>")
    expected = spark.createDataFrame([("a", {1: 2, 5: 5}), ("b", {9: 1})], "name string, h map<int, bigint>")
    assertDataFrameEqual(_histograms.merged(frame, ["name"], "h"), expected)


# Usage.


def test_samples_of_a_window_are_added_up_and_windows_are_told_apart(spark: SparkSession) -> None:
    shaped = usage.shaped(
        source(
            spark,
            used(0, messages=60, bytes=600, protocol="kafka", latency_ms={"3": 59, "100": 1}),
            used(0, messages=60, bytes=600, protocol="kafka", latency_ms={"3": 60}, node="other"),
            used(1, messages=6, bytes=60, protocol="kafka", latency_ms={"7": 6}),
            used(1, messages=5, protocol="kafka", traffic="pressure"),
            used(1, group="g", direction="acknowledged", messages=9, retries=2, dead=1),
            used(1, direction="kept", storage_bytes=500),
            used(2, direction="kept", storage_bytes=700),
            minute(0),
        )
    )
    minutes = usage.per_window(shaped, "1 minute")
    keys = ["at", "direction", "traffic", "messages", "retries", "dead", "messages_per_s", "p50_ms", "p999_ms"]
    expected = spark.createDataFrame(
        [
            (BEGAN, "out", "normal", 120, 0, 0, 2.0, 3.0, 100.0),
            (BEGAN + timedelta(minutes=1), "out", "normal", 6, 0, 0, 0.1, 7.0, 7.0),
            (BEGAN + timedelta(minutes=1), "out", "pressure", 5, 0, 0, 5 / 60, None, None),
            (BEGAN + timedelta(minutes=1), "acknowledged", "normal", 9, 2, 1, 0.15, None, None),
            (BEGAN + timedelta(minutes=1), "kept", "normal", 0, 0, 0, 0.0, None, None),
            (BEGAN + timedelta(minutes=2), "kept", "normal", 0, 0, 0, 0.0, None, None),
        ],
        "at timestamp, direction string, traffic string, messages bigint, retries bigint, dead bigint,"
        " messages_per_s double, p50_ms double, p999_ms double",
    )
    assertDataFrameEqual(minutes.select(*keys), expected)
    day = usage.without_pressure(usage.per_window(shaped, "1 day"))
    totals = {row["direction"]: row for row in day.collect()}
    assert totals["out"]["messages"] == 126
    assert totals["out"]["latency_ms"] == {3: 119, 100: 1, 7: 6}
    assert totals["kept"]["storage_bytes"] == 700


def test_what_is_no_sample_is_told_apart_and_what_was_read_is_not_taken_for_one(spark: SparkSession) -> None:
    frame = source(spark, used(messages=1), b"not json", {"kind": "other"}, b"")
    ranges = spark.createDataFrame([("t", 0, -1, BEGAN, "range", b"{}")], SOURCE)
    reasons = [row["reason"] for row in usage.shaped(frame.union(ranges)).orderBy("offset").collect()]
    assert reasons == [None, None, "not a sample of usage", "not a sample of usage", "not a sample of usage"]


def test_minutes_that_nobody_told_of_are_gaps_with_their_cause(spark: SparkSession) -> None:
    shaped = usage.shaped(
        source(spark, minute(0), minute(1), minute(4), minute(5, life_ms=2), minute(8, life_ms=3), minute(0, node="b"))
    )
    found = usage.gaps(shaped).select("node", "from", "seconds", "cause")
    expected = spark.createDataFrame(
        [
            ("n", BEGAN + timedelta(minutes=2), 120.0, "samples are missing"),
            ("n", BEGAN + timedelta(minutes=6), 120.0, "the node was started anew"),
        ],
        "node string, `from` timestamp, seconds double, cause string",
    )
    assertDataFrameEqual(found, expected)


# Lag.


def lagging(at_s: int, committed: int, end: int, *, group: str = "g", start: int = 0) -> dict[str, Any]:
    return {
        "kind": "lag",
        "node": "n",
        "life_ms": 1,
        "at_ms": ms(BEGAN) + at_s * 1000,
        "group": group,
        "topic": "orders",
        "partition": 0,
        "start": start,
        "committed": committed,
        "end": end,
        "members": 1,
    }


def disk(at_s: int, free_bytes: int) -> dict[str, Any]:
    at_ms = ms(BEGAN) + at_s * 1000
    return {
        "kind": "disk",
        "node": "n",
        "life_ms": 1,
        "at_ms": at_ms,
        "total_bytes": 10**9,
        "free_bytes": free_bytes,
        "log_bytes": 5,
    }


def test_a_minute_has_the_last_that_was_told_in_it(spark: SparkSession) -> None:
    shaped = lag.shaped(
        source(
            spark, lagging(0, 5, 10), lagging(50, 8, 20), lagging(61, 2, 30, start=4), lagging(70, 40, 30, group="h")
        )
    )
    found = lag.per_minute(shaped).select("at", "group", "lag", "has_lost")
    later = BEGAN + timedelta(minutes=1)
    expected = spark.createDataFrame(
        [(BEGAN, "g", 12, False), (later, "g", 26, True), (later, "h", 0, False)],
        "at timestamp, group string, lag bigint, has_lost boolean",
    )
    assertDataFrameEqual(found, expected)


def test_forecasts_say_who_will_not_catch_up_when_the_disk_is_full_and_what_nobody_can_know(
    spark: SparkSession,
) -> None:
    chance = random.Random(3)
    samples: list[dict[str, Any]] = []
    for nth in range(60):
        at_s = nth * 60
        samples += [
            lagging(at_s, 0, 1_000 + 600 * nth + chance.randint(-99, 99), group="falls-behind"),
            lagging(at_s, 100_000, 100_000 + 60_000 - 600 * nth, group="catches-up"),
            lagging(at_s, 0, chance.randint(5_000, 6_000), group="to-and-fro"),
            lagging(at_s, 7, 7, group="there"),
            disk(at_s, 10**9 // 2 - nth * 10**6),
        ]
    samples += [lagging(0, 0, 50, group="rests"), lagging(3_500, 0, 50, group="new")]
    shaped = lag.shaped(source(spark, *samples)).persist()
    until = BEGAN + timedelta(minutes=59)
    rows = lag.forecast(lag.per_minute(shaped), lag.disk_per_minute(shaped), until).collect()
    found = {row["name"]: row for row in rows}
    assert {name: row["verdict"] for name, row in found.items()} == {
        "falls-behind": "will not catch up",
        "catches-up": "catches up",
        "to-and-fro": "no direction",
        "there": "caught up",
        "rests": "stands still",
        "new": "too little is known",
        "n": "fills up",
    }
    assert found["falls-behind"]["per_s"] == pytest.approx(10, rel=0.05)
    assert (found["catches-up"]["reached_at"].astimezone(UTC) - until).total_seconds() == pytest.approx(2_460, 0.02)
    full_s = (found["n"]["reached_at"].astimezone(UTC) - until).total_seconds()
    assert full_s == pytest.approx((10**9 // 2 - 59 * 10**6) / (10**6 / 60), rel=0.02)
    assert found["rests"]["points"] == 60


# Trace.


def step(kind: str, at_s: int, **fields: Any) -> dict[str, Any]:
    return {"kind": "trace", "node": "n", "life_ms": 1, "step": kind, "at_ms": ms(BEGAN) + at_s * 1000, **fields}


def test_what_did_not_go_on_is_found_and_what_did_is_not(spark: SparkSession) -> None:
    place = {"topic": "orders", "partition": 0}
    shaped = trace.shaped(
        source(
            spark,
            step("delivered", 0, group="slow", first=0, until=50, **place),
            step("acknowledged", 1, group="slow", first=0, until=20, **place),
            step("delivered", 0, group="fine", first=0, until=50, **place),
            step("acknowledged", 1, group="fine", first=0, until=50, **place),
            step("delivered", 3_590, group="young", first=0, until=50, **place),
            step("prepared", 0, message_id="half", topic="orders"),
            step("prepared", 0, message_id="whole", topic="orders"),
            step("committed", 2, message_id="whole", **place, offset=3),
            step("delayed", 0, message_id="late", value=ms(BEGAN) + 60_000),
            step("delayed", 0, message_id="came", value=ms(BEGAN) + 60_000),
            step("due", 60, message_ids=["other", "came"], first=7, until=9, **place),
            step("delayed", 0, message_id="ahead", value=ms(BEGAN) + 7_200_000),
        )
    )
    rows = trace.findings(shaped, BEGAN + timedelta(hours=1)).collect()
    assert {(row["kind"], row["group"], row["message_id"]) for row in rows} == {
        ("stuck", "slow", ""),
        ("missing step", "", "half"),
        ("missing step", "", "late"),
    }
    assert next(row["detail"] for row in rows if row["group"] == "slow") == (
        "delivered up to 50, acknowledged up to 20"
    )


def test_a_range_that_names_its_messages_is_a_step_of_each(spark: SparkSession) -> None:
    told = source(spark, step("due", 60, topic="orders", partition=2, message_ids=["a", "b"], first=7, until=9))
    rows = trace.shaped(told).orderBy("place").collect()
    found = [
        (row["step"], row["message_id"], row["partition"], row["place"], row["first"], row["until"]) for row in rows
    ]
    assert found == [("due", "a", 2, 7, -1, -1), ("due", "b", 2, 8, -1, -1)]
    assert [row["value"] is None for row in rows] == [False, True], "what the node said is kept once"
    assert all(row["reason"] is None for row in rows)


def test_end_to_end_times_come_from_all_messages_and_slow_ones_are_counted(spark: SparkSession) -> None:
    slow = str(histogram.bucket_of(60_000))
    samples = usage.shaped(
        source(
            spark,
            used(0, group="g", messages=90, latency_ms={"5": 90}),
            used(7, group="g", messages=10, latency_ms={slow: 10}),
            used(7, direction="in", messages=10, latency_ms={slow: 10}),
        )
    )
    (row,) = usage.end_to_end(samples).collect()
    assert (row["group"], row["messages"], row["slow"], row["p50_ms"]) == ("g", 100, 10, 5.0)
    assert row["p99_ms"] == pytest.approx(60_000, rel=0.01)


# Dead letters.


def test_dead_letters_are_told_by_group_origin_and_cause_with_the_latest_ids(spark: SparkSession) -> None:
    def letter(nth: int, **headers: bytes) -> tuple[Any, ...]:
        at = BEGAN + timedelta(minutes=nth)
        return ("default", "%DLQ%buyers", 0, nth, f"id-{nth}", at, headers, "rocketmq", b"body", "normal")

    letters = [letter(nth, RECONSUME_TIME=b"17", DLQ_ORIGIN_TOPIC=b"orders") for nth in range(8)]
    letters += [
        letter(8, RECONSUME_TIME=b"1"),
        letter(9, **{"kafka_dlt-exception-fqcn": b"java.lang.IllegalStateException", "RECONSUME_TIME": b"x"}),
    ]
    shaped = dlq.shaped(spark.createDataFrame(letters, LETTERS))
    assert shaped.where(f.col("value").isNotNull()).count() == 0
    rows = {row["cause"]: row for row in dlq.top(shaped).collect()}
    often = rows["delivered in vain too often"]
    assert (often["group"], often["origin_topic"], often["letters"]) == ("buyers", "orders", 8)
    assert often["attempts_max"] == 17
    assert often["sample_ids"] == ["id-7", "id-6", "id-5", "id-4", "id-3"]
    assert set(rows) == {"delivered in vain too often", "given up at once", "java.lang.IllegalStateException"}
    assert often["day"] == date(2026, 3, 1)
