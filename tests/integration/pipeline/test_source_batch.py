"""Topics as data frames: what is read, from where to where, and what is said of the rest."""

import datetime
import time

import httpx
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.datasource import EqualTo, Filter, In
from pyspark.testing import assertDataFrameEqual

from braidmq.pipeline.columns import MESSAGE
from braidmq.pipeline.source import read_options
from braidmq.pipeline.source._batch import BraidReader
from braidmq.pipeline.source._cluster import Cluster, Place, Wanted
from braidmq.pipeline.source._options import Connection
from braidmq.pipeline.source._ranges import Task
from pipeline_support import LIMIT_S, Broker, told_ranges, values
from running_node import RunningNode

pytestmark = pytest.mark.timeout(300)


def numbered(count: int, prefix: str = "m") -> list[str]:
    return [f"{prefix}{number:05}" for number in range(count)]


def test_a_message_is_a_row_with_all_that_it_has(spark: SparkSession, any_broker: Broker) -> None:
    topic = any_broker.topic(retention_ms="-1")
    producer = any_broker.producer()
    headers: list[tuple[str, str | bytes | None]] = [
        ("TAGS", b"paid"),
        ("KEYS", b"order-1 user-2"),
        ("UNIQ_KEY", b"id-1"),
        ("none", None),
        ("n", b"\x01"),
    ]
    producer.produce(topic, b"body", b"key", headers=headers, timestamp=1_700_000_000_000)
    producer.produce(topic, None, timestamp=1_700_000_000_001)
    producer.flush(LIMIT_S)
    frame = any_broker.read(spark, topic)
    assert frame.columns == MESSAGE.names
    first, second = frame.orderBy("offset").collect()
    assert (first.instance, first.topic, first.partition, first.offset) == ("default", topic, 0, 0)
    assert (first.message_id, first["keys"], first.tag) == ("id-1", ["order-1", "user-2"], "paid")
    assert (bytes(first.key), bytes(first.value), first.protocol, first.traffic) == (b"key", b"body", "kafka", "normal")
    assert {name: None if value is None else bytes(value) for name, value in first.headers.items()} == dict(headers)
    assert first.store_time == datetime.datetime.fromtimestamp(1_700_000_000)  # noqa: DTZ006
    assert (second.value, second.key, second.headers, second["keys"], second.tag) == (None, None, None, None, None)


def test_a_message_that_was_sent_over_http_says_so(spark: SparkSession, broker: Broker, node: RunningNode) -> None:
    topic = broker.topic()
    messages = [{"body": "one", "tag": "T", "properties": {"region": "north"}}, {"body": "two"}]
    answer = httpx.post(f"{node.url}/api/v1/topics/{topic}/messages", json={"messages": messages}, timeout=LIMIT_S)
    assert answer.status_code == 200, answer.text
    broker.send(topic, ["three"])
    found = {row.value.decode(): row for row in broker.read(spark, topic).collect()}
    assert {value: row.protocol for value, row in found.items()} == {"one": "http", "two": "http", "three": "kafka"}
    assert (found["one"].tag, bytes(found["one"].headers["region"])) == ("T", b"north")


def test_several_partitions_and_codecs_are_read_whole(spark: SparkSession, any_broker: Broker) -> None:
    topic = any_broker.topic(partitions=5)
    for partition, codec in enumerate(["none", "gzip", "snappy", "lz4", "zstd"]):
        any_broker.send(topic, numbered(2000, codec), partition, compression_type=codec)
    frame = any_broker.read(spark, topic, rowsPerTask=700)
    assert frame.rdd.getNumPartitions() >= 15
    counts = {row.partition: (row.n, row.first, row.last, row.different) for row in frame.groupBy("partition").agg(
        F.count("*").alias("n"), F.min("offset").alias("first"), F.max("offset").alias("last"),
        F.countDistinct("value").alias("different")).collect()}  # fmt: skip
    assert counts == dict.fromkeys(range(5), (2000, 0, 1999, 2000))


def test_many_quiet_partitions_share_a_task(spark: SparkSession, broker: Broker) -> None:
    topic = broker.topic(partitions=300)
    for partition in range(0, 300, 7):
        broker.send(topic, [f"p{partition:03}"], partition)
    frame = broker.read(spark, topic)
    assert frame.rdd.getNumPartitions() == 1
    assert values(frame) == [f"p{partition:03}" for partition in range(0, 300, 7)]


def test_reading_begins_and_ends_at_given_offsets(spark: SparkSession, any_broker: Broker) -> None:
    topic = any_broker.topic(partitions=2)
    any_broker.send(topic, numbered(10, "a"), 0)
    any_broker.send(topic, numbered(10, "b"), 1)
    starting, ending = f'{{"{topic}": {{"0": 3, "1": -1}}}}', f'{{"{topic}": {{"0": 5}}}}'
    assert values(any_broker.read(spark, topic, startingOffsets=starting)) == numbered(10, "a")[3:]
    assert (
        values(any_broker.read(spark, topic, startingOffsets=starting, endingOffsets=ending)) == numbered(10, "a")[3:5]
    )


def test_reading_begins_and_ends_at_given_times(spark: SparkSession, any_broker: Broker) -> None:
    topic = any_broker.topic(retention_ms="-1")
    producer = any_broker.producer()
    for number in range(10):
        producer.produce(topic, f"m{number}".encode(), timestamp=1_700_000_000_000 + number * 1000)
    producer.flush(LIMIT_S)
    frame = any_broker.read(spark, topic, startingTime=1_700_000_002_500, endingTime="2023-11-14T22:13:26Z")
    assert values(frame) == ["m3", "m4", "m5"]
    assert values(any_broker.read(spark, topic, startingTime="2100-01-01")) == []


def test_aborted_messages_are_not_read_and_every_offset_is_accounted_for(
    spark: SparkSession, any_broker: Broker
) -> None:
    topic = any_broker.topic()
    groups = [(True, ["c1", "c2"]), (False, ["x1", "x2", "x3"]), (True, ["c3"]), (False, ["x4"])]
    any_broker.send_in_transactions(topic, groups)
    frame = any_broker.read(spark, topic, ranges=True)
    assert values(frame.where("protocol <> 'range'")) == ["c1", "c2", "c3"]
    (told,) = told_ranges(frame)
    assert (told["topic"], told["partition"], told["from"], told["to"], told["records"]) == (topic, 0, 0, 11, 3)
    assert told["gaps"] == [[2, 7, "transaction"], [8, 11, "transaction"]]
    assert values(any_broker.read(spark, topic, isolation="read_uncommitted")) == sorted(
        value for _, group in groups for value in group
    )


def test_an_open_transaction_holds_back_what_is_behind_it(spark: SparkSession, any_broker: Broker) -> None:
    topic = any_broker.topic()
    any_broker.send(topic, ["before"])
    producer = any_broker.producer(transactional_id=topic)
    producer.init_transactions(LIMIT_S)
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    producer.flush(LIMIT_S)
    any_broker.send(topic, ["behind"])
    assert values(any_broker.read(spark, topic)) == ["before"]
    producer.commit_transaction(LIMIT_S)
    assert values(any_broker.read(spark, topic)) == ["before", "behind", "open"]


def test_ranges_are_told_also_where_nothing_is_visible(spark: SparkSession, broker: Broker) -> None:
    topic = broker.topic()
    broker.send_in_transactions(topic, [(False, ["x"])])
    frame = broker.read(spark, topic, ranges=True, columns="protocol,value,topic")
    assert frame.columns == ["topic", "value", "protocol"]
    assert [(told["records"], told["gaps"]) for told in told_ranges(frame)] == [(0, [[0, 2, "transaction"]])]


def test_only_the_chosen_columns_are_given(spark: SparkSession, broker: Broker) -> None:
    topic = broker.topic()
    broker.send(topic, ["a"])
    (row,) = broker.read(spark, topic, columns="value, offset").collect()
    assert row.asDict() == {"offset": 0, "value": bytearray(b"a")}


@pytest.mark.parametrize(
    "condition",
    [
        "tag = 'a'",
        "tag IN ('a', 'b') AND offset > 3",
        "key = X'6B31'",
        "partition = 1",
        "offset >= 2 AND offset < 4",
        "offset = 3",
        "store_time >= '2023-11-14T22:13:22Z' AND store_time <= '2023-11-14T22:13:24Z'",
        "tag IS NULL",
        "NOT (tag = 'a')",
        "topic = 'no such topic'",
        "tag = 'a' AND tag = 'b'",
    ],
)
def test_a_filter_gives_the_same_rows_whoever_applies_it(
    spark: SparkSession, broker: Broker, filtered_topic: str, condition: str
) -> None:
    frame = broker.read(spark, filtered_topic, columns="partition,offset,tag,key,store_time,value,topic")
    kept_in_memory = spark.createDataFrame(frame.collect(), frame.schema)
    assertDataFrameEqual(frame.where(condition), kept_in_memory.where(condition))


@pytest.mark.parametrize(
    ("filters", "through"),
    [
        ([EqualTo(("tag",), "a b||c")], "?tag=a%20b%7C%7Cc"),
        ([In(("tag",), ("a", None, "b"))], "?tag=a||b"),
        ([EqualTo(("key",), b"k\xff")], "?key=k%FF"),
        ([EqualTo(("message_id",), "x")], ""),
        ([EqualTo(("tag",), "")], ""),
        ([EqualTo(("tag",), "\ufffd")], ""),
        ([In(("tag",), tuple("x" * 50 + str(number) for number in range(90)))], ""),
    ],
)
def test_a_node_leaves_messages_out_itself_where_it_can(
    any_broker: Broker, filters: list[Filter], through: str
) -> None:
    """Kafka knows no filters, and is not asked to."""
    topic = any_broker.topic()
    any_broker.send(topic, ["x"])
    given = {"bootstrap": any_broker.bootstrap, "topics": topic}
    for ranges in (False, True):
        reader = BraidReader(read_options(given | {"ranges": str(ranges).lower()}), MESSAGE)
        assert list(reader.pushFilters(filters)) == filters, "Spark looks, too"
        (task,) = reader.partitions()
        assert isinstance(task, Task)
        assert task.through == (through if any_broker.is_node and not ranges else "")


def test_what_the_node_leaves_out_does_not_come_over_the_wire(broker: Broker) -> None:
    topic = broker.topic()
    producer = broker.producer(linger_ms=50)
    for number in range(2000):
        tag = b"rare" if number % 500 == 0 else b"often"
        producer.produce(topic, b"x" * 1000, headers=[("TAGS", tag), ("n", b"%d" % number)], partition=0)
    assert producer.flush(LIMIT_S) == 0
    reader = BraidReader(read_options({"bootstrap": broker.bootstrap, "topics": topic}), MESSAGE)
    reader.pushFilters([EqualTo(("tag",), "rare")])
    (task,) = reader.partitions()
    assert isinstance(task, Task)
    cluster = Cluster(Connection(broker.bootstrap, {}), read_committed=True)
    place = Place(f"{topic}{task.through}", 0)
    answer = cluster.end_fetch(cluster.begin_fetch({place: Wanted(0, 4_000_000)}))
    sizes = [fetched.end - fetched.start for fetched in answer]
    cluster.close()
    assert sum(sizes) < 50_000
    rows = [row for batch in reader.read(task) for row in batch.select(["topic", "offset", "tag"]).to_pylist()]
    assert rows == [{"topic": topic, "offset": offset, "tag": "rare"} for offset in (0, 500, 1000, 1500)]


@pytest.fixture(scope="module")
def filtered_topic(node: object) -> str:
    broker = Broker(node.bootstrap)  # type: ignore[attr-defined]
    topic = broker.topic(partitions=2, retention_ms="-1")
    producer = broker.producer()
    for number in range(20):
        tag = b"abc"[number % 3 : number % 3 + 1]
        headers: list[tuple[str, str | bytes | None]] | None = [("TAGS", tag)] if number % 4 else None
        producer.produce(
            topic, b"v%d" % number, b"k%d" % (number % 3), headers=headers, partition=number % 2,
            timestamp=1_700_000_000_000 + number * 500,
        )  # fmt: skip
    producer.flush(LIMIT_S)
    return topic


def test_a_time_filter_begins_later_where_records_have_the_time_of_their_storing(
    spark: SparkSession, broker: Broker
) -> None:
    topic = broker.topic(message_timestamp_type="LogAppendTime")
    broker.send(topic, ["early"])
    time.sleep(0.05)
    edge = datetime.datetime.now(datetime.UTC)
    time.sleep(0.05)
    broker.send(topic, ["late"])
    frame = broker.read(spark, topic).where(F.col("store_time") >= F.lit(edge))
    assert values(frame) == ["late"]


def test_messages_that_are_gone_are_data_loss(spark: SparkSession, broker: Broker) -> None:
    from confluent_kafka import TopicPartition

    topic = broker.topic()
    broker.send(topic, numbered(10))
    broker.admin.delete_records([TopicPartition(topic, 0, 4)])[TopicPartition(topic, 0, 4)].result(LIMIT_S)
    from_start = f'{{"{topic}": {{"0": 0}}}}'
    with pytest.raises(PySparkException, match="begins at 4; the offsets 0 to 3 are gone"):
        broker.read(spark, topic, startingOffsets=from_start).collect()
    frame = broker.read(spark, topic, startingOffsets=from_start, failOnDataLoss=False, ranges=True)
    assert values(frame.where("offset >= 0")) == numbered(10)[4:]
    assert [told["gaps"] for told in told_ranges(frame)] == [[[0, 4, "unknown"]]]
    with pytest.raises(PySparkException, match="ends at 10"):
        broker.read(spark, topic, endingOffsets=f'{{"{topic}": {{"0": 99}}}}').collect()
    assert values(broker.read(spark, topic)) == numbered(10)[4:]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"topics": "a", "topicsPattern": "b"}, "one of the options topics"),
        ({}, "one of the options topics"),
        ({"topics": "a", "bootstrap": ""}, "bootstrap is missing"),
        ({"topics": "a", "startingOffset": "earliest"}, "there is no option startingoffset"),
        ({"topics": "a", "startingOffsets": "yesterday"}, "startingOffsets is 'yesterday'"),
        ({"topics": "a", "startingOffsets": '{"a": {"x": 1}}'}, "startingOffsets is"),
        ({"topics": "a", "endingOffsets": "earliest"}, "nothing would be read"),
        ({"topics": "a", "startingTime": "soon"}, "startingTime is 'soon'"),
        ({"topics": "a", "startingTime": "1", "startingOffsets": "latest"}, "exclude each other"),
        ({"topics": "a", "columns": "value,body"}, "there is no column body"),
        ({"topics": "a", "rowsPerTask": "0"}, "rowsPerTask is '0'"),
        ({"topics": "a", "isolation": "none"}, "isolation is 'none'"),
        ({"topics": "a", "failOnDataLoss": "maybe"}, "failOnDataLoss is 'maybe'"),
        ({"topics": "a", "ranges": "true", "columns": "value"}, "must be among columns"),
        ({"topicsPattern": "("}, "which is not a regular expression"),
        ({"topics": "a", "kafka.group.id": "x"}, "does not have kafka.group.id"),
        ({"topics": "a", "kafka.security.protocol": "tls"}, "kafka.security.protocol is TLS"),
        ({"topics": "a", "kafka.security.protocol": "sasl_ssl"}, "needs kafka.sasl.username"),
        ({"topics": "a", "kafka.security.protocol": "ssl", "kafka.ssl.ca.location": "/nowhere"}, "cannot be used"),
    ],
)
def test_a_bad_option_is_refused_before_anything_starts(
    spark: SparkSession, options: dict[str, str], message: str
) -> None:
    with pytest.raises(PySparkException, match=message):
        spark.read.format("braid").options(**({"bootstrap": "127.0.0.1:1"} | options)).load()
