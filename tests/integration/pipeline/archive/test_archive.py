import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from archive_support import of_version_1, row
from braidmq.pipeline import archive
from braidmq.pipeline.archive._layout import bucket_of
from braidmq.pipeline.archive._rewriting import read_file
from braidmq.pipeline.audit import audit
from braidmq.pipeline.tables import FileWriter
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


def _refusals(refused: list[object], error: object, _: object) -> None:
    if error is not None:
        refused.append(error)


def test_a_message_of_an_impossible_time_goes_into_the_quarantine_and_stops_nothing(
    spark: SparkSession, node: RunningNode, make_topic: Callable[..., str], archive_path: str
) -> None:
    topic = make_topic(1, **{"retention.ms": "-1", "message.timestamp.after.max.ms": str(2**63 - 1)})
    producer = Producer({"bootstrap.servers": node.bootstrap})
    refused: list[object] = []
    for number, time_ms in enumerate((1_700_000_000_000, 1, 250_000_000_000_000, 1_700_000_000_001)):
        delivered = partial(_refusals, refused)
        producer.produce(topic, f"{number}".encode(), partition=0, timestamp=time_ms, on_delivery=delivered)
    assert producer.flush(20) == 0
    assert refused == []
    run_once(spark, node, archive_path, topic)
    assert [row["value"] for row in archived(archive_path)] == [b"0", b"3"]
    bad = DeltaTable(str(archive.Folders(archive_path).quarantine)).to_pyarrow_table().to_pylist()
    assert sorted((row["value"], row["reason"]) for row in bad) == [
        (b"1", "store time before 2000"),
        (b"2", "store time in the future"),
    ]
    state = archive.messages_table(archive_path).state("archive")
    assert state.covered.offsets() == {topic: {"0": 4}}


def transactions(node: RunningNode, topic: str) -> None:
    """Ten messages that count, ten that were taken back, ten that count."""
    producer = Producer({"bootstrap.servers": node.bootstrap, "transactional.id": topic})
    producer.init_transactions(20)
    for number in range(3):
        producer.begin_transaction()
        for value in range(10):
            producer.produce(topic, f"{number}-{value}".encode(), partition=0)
        producer.flush(20)
        producer.abort_transaction(20) if number == 1 else producer.commit_transaction(20)


def test_an_audit_accounts_for_every_offset_and_asks_the_log(
    spark: SparkSession,
    node: RunningNode,
    make_topic: Callable[..., str],
    send: Callable[..., None],
    archive_path: str,
) -> None:
    plain, transactional = make_topic(), make_topic(1)
    send(plain, range(300))
    transactions(node, transactional)
    run_once(spark, node, archive_path, plain, transactional)
    archive.compact(archive_path, spark=spark, now=datetime.now(UTC) + timedelta(hours=2))
    report = audit(archive_path, spark=spark, bootstrap=node.bootstrap)
    assert report.findings == []
    found = {(each.topic, each.partition): each for each in report.partitions}
    assert found[plain, 0].compared_with_log == 150
    assert (found[transactional, 0].rows, found[transactional, 0].gaps) == (20, {"transaction": 13})
    assert found[transactional, 0].compared_with_log == 20

    folder = archive.Folders(archive_path).messages
    table = archive.messages_table(archive_path)
    file = next(file for file in table.files() if file.low["topic"] <= plain <= file.high["topic"])
    rows = read_file(folder, file)
    values = rows.column("value").to_pylist()
    at = next(number for number, topic in enumerate(rows.column("topic").to_pylist()) if topic == plain)
    values[at] = b"forged"
    forged = rows.set_column(
        rows.schema.names.index("value"), rows.schema.field("value"), pa.array(values, pa.binary())
    )
    writer = FileWriter(folder, archive.ARCHIVED, table.layout)
    for batch in forged.combine_chunks().to_batches():
        writer.write(batch)
    table.replace(writer.close(), remove=[file], app="hand")
    damaged = audit(archive_path, bootstrap=node.bootstrap)
    assert [(each.kind, each.topic) for each in damaged.findings] == [("differs_from_log", plain)]


def test_what_the_log_has_lost_since_comes_back_from_the_archive(
    spark: SparkSession,
    node: RunningNode,
    make_topic: Callable[..., str],
    send: Callable[..., None],
    archive_path: str,
) -> None:
    topic, into = make_topic(), make_topic()
    send(topic, range(1000))
    run_once(spark, node, archive_path, topic)
    assert [each.offset for each in archive.find(archive_path, id=f"{topic}-501")] == [250]
    assert len(archive.find(archive_path, key="user-3", limit=1000)) == 143
    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    for future in admin.delete_records([TopicPartition(topic, number, 500) for number in range(2)]).values():
        future.result(20)
    assert archive.replay(archive_path, topic=topic, into=into, bootstrap=node.bootstrap).sent == 1000
    run_once(spark, node, archive_path, topic, into)
    rows = archived(archive_path)
    bodies = {name: sorted(row["value"] for row in rows if row["topic"] == name) for name in (topic, into)}  # type: ignore[type-var]
    assert bodies[topic] == bodies[into]
    assert len(bodies[into]) == 1000
    assert audit(archive_path, bootstrap=node.bootstrap).findings == []
    archive.close_searchers()


def test_an_archive_of_the_first_version_goes_on_and_keeps_headers_that_repeat(
    spark: SparkSession, node: RunningNode, make_topic: Callable[..., str], archive_path: str
) -> None:
    topic = make_topic(1)
    of_version_1(Path(archive_path), [row("old", 0, offset) for offset in range(5)])
    twice: list[tuple[str, str | bytes | None]] = [("UNIQ_KEY", b"T"), ("a", b"1"), ("a", b"2")]
    producer = Producer({"bootstrap.servers": node.bootstrap})
    producer.produce(topic, b"twice", headers=twice, partition=0)
    producer.produce(topic, b"once", headers=[("UNIQ_KEY", b"O"), ("a", b"1")], partition=0)
    assert producer.flush(30) == 0
    run_once(spark, node, archive_path, topic)
    assert archive.find(archive_path, id="T")[0].repeated_headers == twice
    assert archive.find(archive_path, id="O")[0].repeated_headers is None
    assert len(archive.find(archive_path, topic="old")) == 5
    assert {found["schema_ver"] for found in archived(archive_path)} == {1, 2}
    assert audit(archive_path, bootstrap=node.bootstrap).findings == []


def test_an_audit_names_what_is_not_archived_yet_and_what_went_before_it_was(
    spark: SparkSession,
    node: RunningNode,
    make_topic: Callable[..., str],
    send: Callable[..., None],
    archive_path: str,
) -> None:
    behind, lost, never = (make_topic(1) for _ in range(3))
    for topic in (behind, lost):
        send(topic, range(5), partitions=1)
    run_once(spark, node, archive_path, behind, lost)
    for topic in (behind, lost, never):
        send(topic, range(10), partitions=1)
    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    for future in admin.delete_records([TopicPartition(lost, 0, 8)]).values():
        future.result(20)
    report = audit(archive_path, bootstrap=node.bootstrap, topics=[behind, lost, never])
    found = {each.topic: each.not_archived for each in report.partitions}
    assert found == {behind: 10, lost: 7, never: 10}
    assert [(each.kind, each.topic, each.first, each.end) for each in report.findings] == [
        ("gone_unarchived", lost, 5, 8)
    ]
    assert "not archived yet: 27" in report.text()
    assert f"{never}-0: no offsets; 0 rows" in report.text()
