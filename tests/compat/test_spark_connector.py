"""Spark's own Kafka connector, its four jars by coordinates: it reads and writes a node as it does Kafka."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # a class of its C part
from pyspark.sql import DataFrame, SparkSession
from spark_connector import connector_jars

from braidmq.pipeline import session
from compat_support import fetched
from running_node import RunningNode

pytestmark = pytest.mark.timeout(300)
LIMIT_S = 30


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    jars = fetched(connector_jars)
    made = session("compat", master="local[2]", conf={"spark.jars": jars, "spark.log.level": "ERROR"})
    yield made
    made.stop()


@pytest.fixture
def topic(broker: RunningNode) -> str:
    name = f"spark-{uuid.uuid4().hex[:12]}"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(name, 3, 1, config={"retention.ms": "-1"})])[name].result(LIMIT_S)
    return name


def read(spark: SparkSession, broker: RunningNode, topic: str, **options: str) -> DataFrame:
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", broker.bootstrap).option("subscribe", topic)
    return reader.options(**options).load()


def send(broker: RunningNode, topic: str, count: int, **settings: object) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, **settings})
    for number in range(count):
        producer.produce(topic, b"v%d" % number, b"k%d" % number, partition=number % 3, headers=[("n", b"%d" % number)])
    assert producer.flush(LIMIT_S) == 0


def test_a_batch_reads_what_is_there(spark: SparkSession, broker: RunningNode, topic: str) -> None:
    send(broker, topic, 3000)
    frame = read(spark, broker, topic, includeHeaders="true", minPartitions="7")
    assert frame.count() == 3000
    row = frame.where("CAST(key AS STRING) = 'k1234'").first()
    assert row is not None
    assert (bytes(row.value), row.topic, row.partition, row.offset) == (b"v1234", topic, 1234 % 3, 1234 // 3)
    assert [(header.key, bytes(header.value)) for header in row.headers] == [("n", b"1234")]


def test_a_batch_begins_and_ends_at_offsets_and_times(spark: SparkSession, broker: RunningNode, topic: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(30):
        producer.produce(topic, b"v", partition=number % 3, timestamp=1_700_000_000_000 + number)
    producer.flush(LIMIT_S)
    offsets = f'{{"{topic}": {{"0": 5, "1": 10, "2": -2}}}}'
    ending = f'{{"{topic}": {{"0": 7, "1": -1, "2": 1}}}}'
    assert read(spark, broker, topic, startingOffsets=offsets, endingOffsets=ending).count() == 3
    assert read(spark, broker, topic, startingTimestamp="1700000000020").count() == 10


def test_only_committed_messages_are_read_where_that_is_asked(
    spark: SparkSession, broker: RunningNode, topic: str
) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic})
    producer.init_transactions(LIMIT_S)
    for word in (b"committed", b"aborted", b"committed too"):
        producer.begin_transaction()
        for partition in range(3):
            producer.produce(topic, word, partition=partition)
        producer.flush(LIMIT_S)
        if word == b"aborted":
            producer.abort_transaction(LIMIT_S)
        else:
            producer.commit_transaction(LIMIT_S)
    committed = read(spark, broker, topic, **{"kafka.isolation.level": "read_committed"})
    assert {bytes(row.value) for row in committed.collect()} == {b"committed", b"committed too"}
    assert committed.count() == 6
    assert read(spark, broker, topic, **{"kafka.isolation.level": "read_uncommitted"}).count() == 9


def test_a_stream_reads_in_limited_batches_and_goes_on_after_a_restart(
    spark: SparkSession, broker: RunningNode, topic: str, tmp_path: Path
) -> None:
    send(broker, topic, 900)
    seen: list[int] = []

    def run() -> None:
        reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", broker.bootstrap)
        stream = reader.options(subscribePattern=f"{topic}.*", startingOffsets="earliest", maxOffsetsPerTrigger="300")
        writer = stream.load().writeStream.foreachBatch(lambda batch, _: seen.append(batch.count()))
        query = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
        query.awaitTermination()

    run()
    assert seen == [300, 300, 300]
    send(broker, topic, 30)
    run()
    assert seen == [300, 300, 300, 30]


def test_its_sink_writes_what_our_source_reads(spark: SparkSession, broker: RunningNode, topic: str) -> None:
    frame = spark.range(500).selectExpr("CAST(id AS STRING) AS value", "CAST(id % 7 AS STRING) AS key")
    frame.write.format("kafka").options(**{"kafka.bootstrap.servers": broker.bootstrap, "topic": topic}).save()
    ours = spark.read.format("braid").options(bootstrap=broker.bootstrap, topics=topic).load()
    theirs = read(spark, broker, topic)
    columns = ["topic", "partition", "offset", "key", "value"]
    assert ours.count() == 500
    assert ours.select(columns).exceptAll(theirs.select(columns)).count() == 0
