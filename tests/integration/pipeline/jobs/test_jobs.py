"""Jobs from a real node into tables, and through the loss of their checkpoints."""

import asyncio
import re
import shutil
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import msgspec
import pytest
from confluent_kafka import Consumer, Producer
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from braidmq.model import Message, TraceKind
from braidmq.node import Node
from braidmq.pipeline.jobs import Sources, compact_tables, dlq, expire, lag, trace, usage
from braidmq.pipeline.tables import Table
from braidmq.protocols.listener import Address, Endpoint
from braidmq.records import batch_messages
from braidmq.settings import (
    HttpSettings,
    KafkaSettings,
    LogSettings,
    NodeSettings,
    RocketMQGrpcSettings,
    RocketMQSettings,
    Settings,
)
from conftest import WaitFor
from rocketmq_support import RawClient

FREE = (Endpoint(Address("127.0.0.1", 0)),)
LIMIT_S = 60.0
ResultT = TypeVar("ResultT")


class Running:
    """A node in a thread of its own, beside Spark."""

    def __init__(self, folder: Path) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        settings = Settings(
            node=NodeSettings(data=folder, drain_ms=100),
            http=HttpSettings(listen=None),
            kafka=KafkaSettings(listen=FREE),
            rocketmq=RocketMQSettings(listen=FREE),
            rocketmq_grpc=RocketMQGrpcSettings(listen=()),
            log=LogSettings(flush="interval"),
        )
        self.node: Node = self.run(lambda: Node.start(settings))

    def run(self, work: Callable[[], Coroutine[Any, Any, ResultT]]) -> ResultT:
        return asyncio.run_coroutine_threadsafe(work(), self._loop).result(LIMIT_S)

    @property
    def bootstrap(self) -> str:
        return str(self.node.addresses["kafka"][0])

    def tell(self) -> None:
        """What the node would tell by itself after a minute."""
        telemetry = self.node.telemetry
        assert telemetry is not None
        self.run(telemetry.tell_minute)
        self.run(telemetry.tell_lag)

    def stop(self) -> None:
        self.run(self.node.stop)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    node = Running(tmp_path / "data")
    yield node
    node.stop()


@pytest.fixture
def sources(running: Running, tmp_path: Path) -> Sources:
    return Sources(bootstrap=running.bootstrap, root=str(tmp_path / "tables"))


def produce(running: Running, count: int) -> None:
    producer = Producer({"bootstrap.servers": running.bootstrap})
    for nth in range(count):
        producer.produce("orders", b"body", key=b"%d" % nth)
    assert producer.flush(LIMIT_S) == 0


def consume(running: Running, group: str, count: int) -> None:
    consumer = Consumer({"bootstrap.servers": running.bootstrap, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    seen = 0
    while seen < count:
        if consumer.poll(LIMIT_S) is not None:
            seen += 1
    consumer.commit(asynchronous=False)
    consumer.close()


async def send_by_rocketmq(node: Node, count: int) -> None:
    client = await RawClient.connect(*node.addresses["rocketmq"][0])
    for _ in range(count):
        await client.send("orders", b"hello")
    await client.pull("payers", "orders", 0)
    await client.close()


def rows(sources: Sources, name: str, query: str) -> list[tuple[Any, ...]]:
    """What a table holds, as anybody without Spark reads it; the query reads from `rows`."""
    table = Table.open(sources.table(name))
    paths = [str(table.path / file.path) for file in table.files()]
    if not paths:
        return []
    with duckdb.connect() as database:
        database.read_parquet(paths, hive_partitioning=False).create_view("rows")
        return database.execute(query).fetchall()


def documented() -> dict[str, list[str]]:
    """The columns of each table, as the guide has them."""
    page = (Path(__file__).parents[4] / "docs" / "pipeline-jobs.md").read_text()
    lines = page.partition("### Columns")[2].partition("**Sizing.**")[0].splitlines()
    found = [re.findall(r"`([a-z0-9_]+)`", re.sub(r"\([^)]*\)|\. `usage_1h`.*", "", line)) for line in lines]
    tables = {names[0]: names[1:] for names in found if len(names) > 2}
    return tables | dict.fromkeys(("usage_1h", "usage_1d"), tables["usage_1m"])


def assert_as_documented(sources: Sources, *names: str) -> None:
    for name in names:
        assert Table.open(sources.table(name)).schema.names == documented()[name], name


def cut_off(*_: object) -> None:
    raise RuntimeError("as if the driver had ended here")


@pytest.mark.timeout(600)
def test_two_protocols_become_reports_and_nothing_counts_twice(
    spark: SparkSession, running: Running, sources: Sources
) -> None:
    running.run(lambda: running.node.topics.create("orders", partitions=1))
    produce(running, 50)
    running.run(lambda: send_by_rocketmq(running.node, 5))
    consume(running, "buyers", 55)
    running.tell()

    assert usage.run_once(spark, sources).rows > 3
    usage.run_once(spark, sources)
    came = "select protocol, sum(messages)::int from rows where direction = 'in' and topic = 'orders' group by 1"
    assert sorted(rows(sources, "usage_1d", came)) == [("kafka", 50), ("rocketmq", 5)]
    times = """select messages::int, p99_ms is not null from rows where topic = 'orders' and "group" = 'payers'"""
    given = """select sum(messages)::int from rows where direction = 'out' and "group" = 'payers'"""
    ((count,),) = rows(sources, "usage_1d", given)
    assert count >= 32
    assert rows(sources, "trace_summary", times) == [(count, True)], "also where no step was traced yet"

    # Who is cut off between the samples and the results makes the results at the next start.
    produce(running, 4)
    running.tell()
    with pytest.raises(StreamingQueryException):
        msgspec.structs.replace(usage.INGEST, derive=cut_off).run_once(spark, sources)
    assert sorted(rows(sources, "usage_1d", came)) == [("kafka", 50), ("rocketmq", 5)]
    usage.run_once(spark, sources)
    assert sorted(rows(sources, "usage_1d", came)) == [("kafka", 54), ("rocketmq", 5)]

    # The table, and not the checkpoint, says how far the job has come.
    shutil.rmtree(sources.table("_checkpoints"))
    produce(running, 7)
    running.tell()
    usage.run_once(spark, sources)
    for name in usage.TABLES:
        assert sorted(rows(sources, name, came)) == [("kafka", 61), ("rocketmq", 5)]
    ((count, distinct),) = rows(sources, usage.SAMPLES, 'select count(*), count(distinct "offset") from rows')
    assert count == distinct

    lag.run_once(spark, sources)
    last = 'select "group", lag from rows qualify row_number() over (partition by "group" order by "at" desc) = 1'
    assert ("buyers", 11) in rows(sources, "lag_1m", last)
    verdicts = rows(sources, "lag_forecast", "select name, verdict from rows where kind = 'group'")
    assert ("buyers", "too little is known") in verdicts
    assert lag.sample(spark, sources) >= 1
    assert ("buyers", 11) in rows(sources, "lag_1m", last)
    assert_as_documented(
        sources,
        usage.SAMPLES,
        *usage.TABLES,
        usage.GAPS,
        usage.TRACE_SUMMARY,
        lag.SAMPLES,
        lag.MINUTES,
        lag.DISK,
        lag.FORECAST,
    )

    # Few files in the place of many, and nothing is counted otherwise, now or with the next samples.
    before = sorted(rows(sources, usage.SAMPLES, "select * from rows"), key=str)
    assert compact_tables(sources, now=datetime.now(UTC) + timedelta(hours=2)).files_before >= 3
    days = [file.partition["day"] for file in Table.open(sources.table(usage.SAMPLES)).files()]
    assert len(days) == len(set(days)), "one file for each day"
    assert sorted(rows(sources, usage.SAMPLES, "select * from rows"), key=str) == before
    produce(running, 3)
    running.tell()
    usage.run_once(spark, sources)
    assert sorted(rows(sources, "usage_1d", came)) == [("kafka", 64), ("rocketmq", 5)]


@pytest.mark.timeout(600)
def test_dead_letters_and_timelines_are_found_without_spark(
    spark: SparkSession,
    running: Running,
    sources: Sources,
    wait_for: WaitFor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = running.node

    async def fail() -> None:
        topic = await node.topics.create("orders", partitions=1)
        number = topic.partition_numbers[0]
        message = Message.create(b"x", id="the-one", keys=["k"], born_ms=int(time.time() * 1000))
        await node.log.append([(number, batch_messages([message]))])
        await node.retries.send_back("buyers", number, 0, attempts_max=3, delay_ms=3_600_000)  # not due while this runs
        await node.retries.send_back("buyers", number, 0, delay_ms=-1)
        node.tracer.note_range(TraceKind.DELIVERED, "hangs", number, 0, 1)

    def has_told() -> bool:
        topic = node.topics.find("__braid.trace")
        return topic is not None and node.log.bounds(topic.partition_numbers[0]).end >= 3

    running.run(fail)
    wait_for(has_told)
    assert dlq.run_once(spark, sources).rows == 1
    found = rows(sources, dlq.TOP, 'select "group", origin_topic, letters, sample_ids from rows')
    assert found == [("buyers", "orders", 1, ["the-one"])]

    trace.run_once(spark, sources)
    steps = trace.timeline(sources.root, "the-one", [trace.Place("orders", 0, 0)])
    assert "retried" in {step.step for step in steps}
    assert [step.at for step in steps] == sorted(step.at for step in steps)
    assert trace.timeline(sources.root, "nobody") == []
    stuck = 'select kind, "group", detail from rows'
    assert rows(sources, trace.FINDINGS, stuck) == [], "it has some minutes"
    monkeypatch.setattr(trace, "STUCK_S", 0)
    assert trace.run_once(spark, sources).rows == 0
    found = rows(sources, trace.FINDINGS, stuck)
    assert found == [("stuck", "hangs", "delivered up to 1, acknowledged up to 0")], "though nothing more came"
    assert_as_documented(sources, dlq.LETTERS, dlq.TOP, trace.EVENTS, trace.FINDINGS)


@pytest.mark.timeout(600)
def test_a_sample_that_comes_when_its_day_is_over_takes_nothing_of_what_was_made(
    spark: SparkSession, running: Running, sources: Sources
) -> None:
    """Its day's other samples are gone: what is made of it alone must not stand for the day."""
    running.run(lambda: running.node.topics.create("orders", partitions=1))
    produce(running, 5)
    running.tell()
    usage.run_once(spark, sources)
    came = "select sum(messages)::int from rows where direction = 'in' and topic = 'orders'"
    assert rows(sources, "usage_1d", came) == [(5,)]
    over = msgspec.structs.replace(sources, keep=timedelta(days=-2))  # as if this day had been the day before yesterday
    assert expire(over) >= 2
    assert rows(sources, usage.SAMPLES, "select 1 from rows") == []
    produce(running, 1)
    running.tell()
    assert usage.run_once(spark, over).rows > 0
    assert rows(sources, "usage_1d", came) == [(5,)]
