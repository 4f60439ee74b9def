"""What tests of the pipeline share: topics to read, and ways to fill them."""

import asyncio
import struct
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic  # type: ignore[attr-defined]  # of its C part
from pyspark.sql import DataFrame, SparkSession

from braidmq.protocols.kafka.codec import NO_UUID
from braidmq.protocols.kafka.codec.messages.produce import ProduceRequest
from braidmq.records import BATCH_HEADER_BYTES, Batch, extend_checksum
from kafka_support import RawClient

LIMIT_S = 30
OTHER_KAFKA = "COMPAT_KAFKA"
"""The environment variable with the address of another Kafka to run the tests against, in place of one of their own."""


class Broker:
    """A node, or another Kafka, as the tests use it."""

    def __init__(self, bootstrap: str, *, is_node: bool = True) -> None:
        self.bootstrap = bootstrap
        self.is_node = is_node
        self.admin = AdminClient({"bootstrap.servers": bootstrap})

    def topic(self, partitions: int = 1, prefix: str = "topic", **settings: str) -> str:
        """A new topic, with dots in its settings written as underscores."""
        return self.make(f"{prefix}-{uuid.uuid4().hex[:12]}", partitions, **settings)

    def make(self, name: str, partitions: int = 1, **settings: str) -> str:
        config = {key.replace("_", "."): value for key, value in settings.items()}
        self.admin.create_topics([NewTopic(name, partitions, 1, config=config)])[name].result(LIMIT_S)
        return name

    def expand(self, topic: str, partitions: int) -> None:
        self.admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(LIMIT_S)

    def producer(self, **settings: Any) -> Producer:
        config = {key.replace("_", "."): value for key, value in settings.items()}
        return Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 5, **config})

    def send(self, topic: str, values: Iterable[str], partition: int = 0, **settings: Any) -> None:
        producer = self.producer(**settings)
        for value in values:
            producer.produce(topic, value.encode(), partition=partition)
        assert producer.flush(LIMIT_S) == 0

    def send_in_transactions(self, topic: str, groups: Sequence[tuple[bool, Sequence[str]]]) -> None:
        """Each group in a transaction of its own, committed or aborted."""
        producer = self.producer(transactional_id=uuid.uuid4().hex)
        producer.init_transactions(LIMIT_S)
        for is_committed, values in groups:
            producer.begin_transaction()
            for value in values:
                producer.produce(topic, value.encode(), partition=0)
            producer.flush(LIMIT_S)
            if is_committed:
                producer.commit_transaction(LIMIT_S)
            else:
                producer.abort_transaction(LIMIT_S)

    def read(self, spark: SparkSession, topics: str, **options: object) -> DataFrame:
        reader = spark.read.format("braid").option("bootstrap", self.bootstrap).option("topics", topics)
        return reader.options(**{name: _word(value) for name, value in options.items()}).load()

    def stream(self, spark: SparkSession, **options: object) -> DataFrame:
        reader = spark.readStream.format("braid").option("bootstrap", self.bootstrap)
        return reader.options(**{name: _word(value) for name, value in options.items()}).load()


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def values(frame: DataFrame) -> list[str]:
    """The values as text, sorted as they were sent if they were numbered evenly."""
    return sorted(bytes(row.value).decode() for row in frame.select("value").collect())


def told_ranges(frame: DataFrame) -> list[dict[str, Any]]:
    """What the rows that describe ranges say."""
    rows = frame.where("protocol = 'range'").collect()
    return [msgspec.json.decode(bytes(row.value), type=dict[str, Any]) for row in rows]


def once(
    frame: DataFrame, checkpoint: object, rows: Callable[[DataFrame], None] | None = None
) -> list[Mapping[str, Any]]:
    """Runs a stream until it has read all that is there; what its micro-batches were."""
    writer = frame.writeStream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    writer = writer.format("noop") if rows is None else writer.foreachBatch(lambda batch, _: rows(batch))
    query = writer.start()
    query.awaitTermination()
    return [progress for progress in query.recentProgress if progress["numInputRows"]]


def packed_badly(batch: Batch) -> Batch:
    """What a buggy producer makes: the header says how it is compressed, the checksum is right, the rest is not so."""
    data = bytearray(batch.data)
    data[BATCH_HEADER_BYTES:] = b"?" * (len(data) - BATCH_HEADER_BYTES)
    struct.pack_into(">I", data, 17, extend_checksum(0, bytes(data[21:])))
    return batch._replace(data=bytes(data))


def send_as_it_is(bootstrap: str, topic: str, batch: Batch) -> None:
    """A batch that no client would make."""

    async def send() -> int:
        host, _, port = bootstrap.rpartition(":")
        client = RawClient(*await asyncio.open_connection(host, int(port)))
        partition = ProduceRequest.PartitionProduceData(index=0, records=bytes(batch.data))
        data = ProduceRequest.TopicProduceData(name=topic, topic_id=NO_UUID, partition_data=[partition])
        try:
            answer = await client.ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data]), 7)
        finally:
            client.close()
        return int(answer.responses[0].partition_responses[0].error_code)

    assert asyncio.run(send()) == 0
