import zlib
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from confluent_kafka import Producer
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from braidmq.pipeline import archive
from braidmq.pipeline.archive._layout import bucket_of
from running_node import RunningNode

pytestmark = pytest.mark.timeout(240)


def archived(path: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = DeltaTable(str(archive.Folders(path).messages)).to_pyarrow_table().to_pylist()
    return sorted(rows, key=lambda row: (row["topic"], row["partition"], row["offset"]))


def run_once(spark: SparkSession, node: RunningNode, path: str, *topics: str) -> None:
    query = archive.start(spark, bootstrap=node.bootstrap, path=path, topics=topics, trigger="once")
    assert query.name == "archive"
    assert query.awaitTermination(120)


def test_what_is_sent_is_archived_once_and_the_mark_follows(
    spark: SparkSession,
    node: RunningNode,
    make_topic: Callable[..., str],
    send: Callable[..., None],
    archive_path: str,
) -> None:
    first, second = make_topic(), make_topic()
    send(first, range(500))
    run_once(spark, node, archive_path, first)
    assert len(archived(archive_path)) == 500
    send(first, range(500, 800))
    send(second, range(100))
    run_once(spark, node, archive_path, first, second)
    rows = archived(archive_path)
    found = {(row["topic"], row["partition"], row["offset"]) for row in rows}
    assert len(rows) == len(found) == 900
    marks = archive.read_marks(node.bootstrap)
    assert {place: end for place, end in marks.items() if place[0] in (first, second)} == {
        (first, 0): 400,
        (first, 1): 400,
        (second, 0): 50,
        (second, 1): 50,
    }
    row = next(row for row in rows if row["message_id"] == f"{first}-7")
    assert row["keys"] == ["order-7", "user-0"]
    assert row["body_crc"] == zlib.crc32(row["value"])  # type: ignore[arg-type]
    assert row["bucket"] == bucket_of(first)
    assert row["day"] == datetime.now(UTC).date()
    assert row["traffic"] == "normal"
    assert row["protocol"] == "kafka"


def test_a_message_of_an_impossible_time_goes_into_the_quarantine_and_stops_nothing(
    spark: SparkSession, node: RunningNode, make_topic: Callable[..., str], archive_path: str
) -> None:
    topic = make_topic(1)
    producer = Producer({"bootstrap.servers": node.bootstrap})
    for number, time_ms in enumerate((1_700_000_000_000, 1, 250_000_000_000_000, 1_700_000_000_001)):
        producer.produce(topic, f"{number}".encode(), partition=0, timestamp=time_ms)
    assert producer.flush(20) == 0
    run_once(spark, node, archive_path, topic)
    assert [row["value"] for row in archived(archive_path)] == [b"0", b"3"]
    bad = DeltaTable(str(archive.Folders(archive_path).quarantine)).to_pyarrow_table().to_pylist()
    assert sorted((row["value"], row["reason"]) for row in bad) == [
        (b"1", "store time before 2000"),
        (b"2", "store time in the future"),
    ]
    state = archive.messages_table(archive_path).state("archive")
    assert state.covered.offsets() == {topic: {"0": 4}}
