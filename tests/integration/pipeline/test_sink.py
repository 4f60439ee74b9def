"""Rows become messages."""

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from pipeline_support import Broker, values

pytestmark = pytest.mark.timeout(300)


def send(broker: Broker, frame: DataFrame, **options: str) -> None:
    frame.write.format("braid").mode("append").option("bootstrap", broker.bootstrap).options(**options).save()


def test_rows_are_sent_with_all_that_a_message_has(spark: SparkSession, any_broker: Broker) -> None:
    topic = any_broker.topic(partitions=3)
    frame = spark.createDataFrame(
        [("v1", "k1", {"h": "x", "TAGS": "old"}, ["a", "b"], "tag", 2), (None, None, None, None, None, 1)],
        "value string, key string, headers map<string,string>, keys array<string>, tag string, partition int",
    )
    send(any_broker, frame, topic=topic)
    second, first = any_broker.read(spark, topic).orderBy("partition").collect()
    assert (bytes(first.value), bytes(first.key), first["keys"], first.tag) == (b"v1", b"k1", ["a", "b"], "tag")
    assert {name: bytes(value) for name, value in first.headers.items()} == {"h": b"x", "TAGS": b"tag", "KEYS": b"a b"}
    assert (second.value, second.key, second.headers, second.partition) == (None, None, None, 1)


def test_a_column_says_to_which_topic_a_row_goes(spark: SparkSession, broker: Broker) -> None:
    one, other = broker.topic(), broker.topic()
    frame = spark.range(100).select(
        F.col("id").cast("string").alias("value"), F.when(F.col("id") < 30, one).otherwise(other).alias("topic")
    )
    send(broker, frame)
    assert (broker.read(spark, one).count(), broker.read(spark, other).count()) == (30, 70)


def test_a_stream_is_copied_whole(spark: SparkSession, any_broker: Broker, tmp_path: Path) -> None:
    source, target = any_broker.topic(), any_broker.topic()
    sent = [f"m{number:04}" for number in range(500)]
    any_broker.send(source, sent)
    stream = any_broker.stream(spark, topics=source, startingOffsets="earliest", maxRowsPerBatch=200)
    query = (
        stream.select("value", "key", "headers")
        .writeStream.format("braid")
        .options(bootstrap=any_broker.bootstrap, topic=target, checkpointLocation=str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert values(any_broker.read(spark, target)) == sent


def test_headers_that_repeat_survive_a_copy(spark: SparkSession, broker: Broker) -> None:
    source, target = broker.topic(), broker.topic()
    producer = broker.producer()
    producer.produce(source, b"twice", headers=[("a", b"1"), ("b", None), ("a", b"2")])
    producer.produce(source, b"once", headers=[("a", b"1"), ("b", b"2")])
    assert producer.flush(30) == 0
    send(broker, broker.read(spark, source).select("value", "headers", "repeated_headers"), topic=target)
    twice, once = broker.read(spark, target).orderBy(F.desc("value")).collect()
    assert [(each.name, each.value and bytes(each.value)) for each in twice.repeated_headers] == [
        ("a", b"1"),
        ("b", None),
        ("a", b"2"),
    ]
    assert bytes(twice.headers["a"]) == b"2"
    assert once.repeated_headers is None
    assert {name: bytes(value) for name, value in once.headers.items()} == {"a": b"1", "b": b"2"}


def test_a_message_that_is_not_stored_fails_the_job(spark: SparkSession, broker: Broker) -> None:
    topic = broker.topic(max_message_bytes="1000")
    frame = spark.createDataFrame([("x" * 5000,)], "value string")
    with pytest.raises(PySparkException, match="1 messages were not stored, the first because of"):
        send(broker, frame, topic=topic)


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ("'a' AS value", {}, "say where to send"),
        ("'a' AS value, 1L AS offset", {"topic": "t"}, "the sink has no column offset"),
        ("'a' AS key", {"topic": "t"}, "no column value"),
        ("1 AS value", {"topic": "t"}, "the column value is int"),
        ("'a' AS value", {"topic": "t", "topics": "t"}, "there is no option topics"),
        ("'a' AS value", {"topic": "t", "kafka.acks": "0"}, "kafka.acks cannot be changed"),
        ("'a' AS value", {"topic": "t", "kafka.no.such": "0"}, "librdkafka does not take"),
    ],
)
def test_what_cannot_be_sent_is_refused_before_anything_is(
    spark: SparkSession, broker: Broker, columns: str, options: dict[str, str], message: str
) -> None:
    with pytest.raises(PySparkException, match=message):
        send(broker, spark.sql(f"SELECT {columns}"), **options)


def test_a_topic_is_not_overwritten(spark: SparkSession, broker: Broker) -> None:
    writer = spark.sql("SELECT 'a' AS value").write.format("braid").mode("overwrite")
    with pytest.raises(PySparkException, match="only ever added to"):
        writer.options(bootstrap=broker.bootstrap, topic="t").save()
