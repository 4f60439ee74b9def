"""The same jobs serve a node and an Apache Kafka: archive, audit and lag, run once."""

from pathlib import Path

import pytest
from confluent_kafka import Consumer
from pyspark.sql import SparkSession

from braidmq.pipeline import archive
from braidmq.pipeline.jobs import Sources, lag
from braidmq.pipeline.run import Driver, Plan
from braidmq.pipeline.status import JobState
from braidmq.pipeline.tables import Table
from pipeline_support import LIMIT_S, Broker

pytestmark = pytest.mark.timeout(300)


def test_archive_audit_and_lag_of_any_kafka(spark: SparkSession, any_broker: Broker, tmp_path: Path) -> None:
    topic = any_broker.topic(partitions=2)
    any_broker.send(topic, [f"m{at}" for at in range(300)])
    any_broker.send_in_transactions(topic, [(True, ["committed"]), (False, ["taken back"])])
    read_some(any_broker, topic, 100)
    plan = Plan(bootstrap=any_broker.bootstrap, root=str(tmp_path), jobs=("archive", "audit"), topics=(topic,))
    found = Driver(spark, plan).run_once()
    assert {name: job.state for name, job in found.items()} == {"archive": JobState.DONE, "audit": JobState.DONE}
    assert found["audit"].detail.startswith("sound")
    # Offsets: two transactions have a message and a marker each.
    assert (found["archive"].rows, found["archive"].total) == (304, 304)
    assert len(archive.find(tmp_path / "archive", topic=topic, limit=1000)) == 301
    assert archive.read_marks(any_broker.bootstrap)[topic, 0] == 304

    sources = Sources(bootstrap=any_broker.bootstrap, root=str(tmp_path))
    assert lag.sample(spark, sources) >= 1
    table = Table.open(sources.table(lag.MINUTES))
    rows = [row for file in table.files() for row in _rows(spark, table.path / file.path)]
    assert (topic, 204) in {(row["topic"], row["lag"]) for row in rows if row["group"] == f"readers-{topic}"}


def read_some(broker: Broker, topic: str, count: int) -> None:
    """A group that has read so many messages of partition 0."""
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": f"readers-{topic}", "auto.offset.reset": "earliest",
         "enable.auto.commit": False}
    )  # fmt: skip
    consumer.subscribe([topic])
    for _ in range(count):
        message = consumer.poll(LIMIT_S)
        assert message is not None, "nothing came"
        assert message.error() is None
        consumer.commit(message=message, asynchronous=False)
    consumer.close()


def _rows(spark: SparkSession, path: Path) -> list[dict[str, object]]:
    return [row.asDict() for row in spark.read.parquet(str(path)).collect()]
