"""Streams of topics: micro-batches with limits, what is new on the way, and what is lost."""

from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from pipeline_support import LIMIT_S, Broker, once, told_ranges, values
from running_node import WaitFor

pytestmark = pytest.mark.timeout(300)


def numbered(count: int, prefix: str = "m") -> list[str]:
    return [f"{prefix}{number:05}" for number in range(count)]


class Seen:
    """What the micro-batches of a stream held."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def __call__(self, batch: DataFrame) -> None:
        self.batches.append(values(batch))

    @property
    def all(self) -> list[str]:
        return sorted(value for batch in self.batches for value in batch)


def test_all_that_is_there_is_read_once_in_batches_of_a_limited_size(
    spark: SparkSession, any_broker: Broker, tmp_path: Path
) -> None:
    topic = any_broker.topic(partitions=3)
    for partition, count in enumerate([70, 0, 30]):
        any_broker.send(topic, numbered(count, f"p{partition}-"), partition)
    seen = Seen()
    stream = any_broker.stream(spark, topics=topic, startingOffsets="earliest", maxRowsPerBatch=40)
    once(stream, tmp_path, seen)
    assert [len(batch) for batch in seen.batches] == [40, 40, 20]
    assert seen.all == numbered(70, "p0-") + numbered(30, "p2-")
    any_broker.send(topic, ["later"], 1)
    once(stream, tmp_path, seen)
    assert seen.batches[3:] == [["later"]]


def test_batches_are_limited_by_bytes(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic()
    broker.send(topic, [str(number).zfill(1000) for number in range(100)], batch_num_messages=10)
    seen = Seen()
    once(broker.stream(spark, topics=topic, startingOffsets="earliest", maxBytesPerBatch=30_000), tmp_path, seen)
    assert sum(map(len, seen.batches)) == 100
    assert 20 <= max(map(len, seen.batches)) <= 31


def test_a_stream_begins_with_what_comes_unless_told(
    spark: SparkSession, broker: Broker, tmp_path: Path, wait_for: WaitFor
) -> None:
    topic = broker.topic()
    broker.send(topic, ["before"])
    seen = Seen()
    query = (
        broker.stream(spark, topics=topic)
        .writeStream.foreachBatch(lambda batch, _: seen(batch))
        .option("checkpointLocation", str(tmp_path))
        .start()
    )
    try:
        wait_for(lambda: query.lastProgress is not None or query.exception() is not None, 60)
        broker.send(topic, ["after"])
        wait_for(lambda: seen.all == ["after"], 60)
    finally:
        query.stop()


def test_new_partitions_and_new_topics_are_read_from_their_beginning(
    spark: SparkSession, broker: Broker, tmp_path: Path, wait_for: WaitFor
) -> None:
    topic = broker.topic(prefix="growing")
    seen = Seen()
    query = (
        broker.stream(spark, topicsPattern=f"{topic}.*", startingOffsets="earliest")
        .writeStream.foreachBatch(lambda batch, _: seen(batch))
        .option("checkpointLocation", str(tmp_path))
        .start()
    )
    try:
        broker.send(topic, ["first"])
        wait_for(lambda: seen.all == ["first"], 60)
        broker.expand(topic, 3)
        broker.send(topic, ["second"], 2)
        wait_for(lambda: seen.all == ["first", "second"], 60)
        broker.send(broker.topic(prefix=f"{topic}-too"), ["third"])
        wait_for(lambda: seen.all == ["first", "second", "third"], 60)
    finally:
        query.stop()
    assert query.exception() is None


def test_ranges_cover_a_stream_without_a_gap(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic()
    broker.send_in_transactions(topic, [(True, numbered(5)), (False, ["x", "y"]), (True, ["z"]), (False, ["w"])])
    told: list[tuple[int, int, int, int]] = []

    def note(batch: DataFrame) -> None:
        told.extend(
            (each["from"], each["to"], each["records"], sum(end - at for at, end, _ in each["gaps"]))
            for each in told_ranges(batch)
        )

    once(broker.stream(spark, topics=topic, startingOffsets="earliest", maxRowsPerBatch=4, ranges=True), tmp_path, note)
    assert [(first, end) for first, end, _, _ in told] == [(0, 4), (4, 8), (8, 12), (12, 13)]
    assert all(records + missing == end - first for first, end, records, missing in told)
    assert sum(records for _, _, records, _ in told) == 6


def test_a_stream_that_lost_messages_stops_unless_that_is_allowed(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    topic = broker.topic()
    broker.send(topic, numbered(5))
    options = {"topics": topic, "startingOffsets": "earliest"}
    once(broker.stream(spark, **options), tmp_path)
    broker.send(topic, numbered(10, "n"))
    broker.admin.delete_records([TopicPartition(topic, 0, 9)])[TopicPartition(topic, 0, 9)].result(LIMIT_S)
    with pytest.raises(StreamingQueryException, match="begins at 9; the offsets 5 to 8 are gone"):
        once(broker.stream(spark, **options), tmp_path)
    seen = Seen()
    once(broker.stream(spark, **options, failOnDataLoss=False), tmp_path, seen)
    assert seen.all == numbered(10, "n")[4:]


def test_a_topic_made_anew_is_data_loss_and_then_read_from_its_beginning(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    topic = broker.topic()
    broker.send(topic, numbered(5))
    options = {"topicsPattern": topic, "startingOffsets": "earliest"}
    once(broker.stream(spark, **options), tmp_path)
    broker.admin.delete_topics([topic])[topic].result(LIMIT_S)
    with pytest.raises(StreamingQueryException, match="does not exist any more, and was read up to offset 5"):
        once(broker.stream(spark, **options), tmp_path)
    broker.make(topic)
    broker.send(topic, ["anew"])
    with pytest.raises(StreamingQueryException, match="was it made anew"):
        once(broker.stream(spark, **options), tmp_path)
    seen = Seen()
    once(broker.stream(spark, **options, failOnDataLoss=False), tmp_path, seen)
    assert seen.all == ["anew"]


@pytest.mark.parametrize("option", ["endingOffsets", "endingTime"])
def test_a_stream_has_no_end(spark: SparkSession, broker: Broker, tmp_path: Path, option: str) -> None:
    with pytest.raises(PySparkException, match="a stream has no end"):
        once(broker.stream(spark, topics="any", **{option: "5" if option == "endingTime" else "latest"}), tmp_path)


def test_limits_of_streams_are_refused_for_a_batch(spark: SparkSession, broker: Broker) -> None:
    with pytest.raises(PySparkException, match="are for streams"):
        broker.read(spark, "any", maxRowsPerBatch=5).collect()
