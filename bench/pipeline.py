"""The source `braid` beside Spark's own Kafka connector, in one session, against one node.

    ./braid bench pipeline                 all figures
    ./braid bench pipeline source floor    some of them
    ./braid bench pipeline --write         and put them into docs/benchmarks.md, each in a section of its own

`source` reads a topic of messages of 1 KiB of random bytes into Spark's sink `noop`, with all columns that a user gets
unless he asks for fewer. Counted are rows for each second of CPU that Spark, its JVM and its Python workers took
together: other work on the machine hardly moves that. `floor` is how long a micro-batch of a few rows takes. Rounds
alternate; a ratio is the median of the rounds' ratios. Needs Maven for the connector's jars.
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # a class of its C part
from pyspark.sql import DataFrame, SparkSession

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

from kafka import Side, our_node
from report import Figure, Progress, print_figures, write_figures
from spark_connector import connector_jars

from braidmq.pipeline import session

FIGURES = ("source", "floor")
TITLES = {"source": "Reading into Spark, beside Spark's connector", "floor": "The shortest micro-batch of a stream"}
BODY_BYTES = 1024
PARTITIONS = 2
FLOOR_ROWS = 20
FLOOR_BATCHES = 40


def cpu_seconds(node_pid: int) -> float:
    """Of this process and all below it but the node, also of those that have ended."""
    me = psutil.Process()
    total = 0.0
    for process in (me, *me.children(recursive=True)):
        if process.pid == node_pid:
            continue
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


class Bench:
    """A session, and a topic that holds what is read."""

    def __init__(self, spark: SparkSession, node: Side, records: int) -> None:
        self._spark = spark
        self._bootstrap = node.bootstrap
        self._node_pid = node.pid
        self.records = records

    def fill(self, topic: str, records: int) -> None:
        admin = AdminClient({"bootstrap.servers": self._bootstrap})
        admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(30)
        producer = Producer({"bootstrap.servers": self._bootstrap, "linger.ms": 20, "batch.size": 65536})
        noise = os.urandom(1 << 20)
        for number in range(records):
            at = number * 7919 % (len(noise) - BODY_BYTES)
            while True:
                try:
                    producer.produce(topic, noise[at : at + BODY_BYTES], partition=number % PARTITIONS)
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.flush(60)

    def ours(self, topic: str) -> DataFrame:
        return self._spark.read.format("braid").option("bootstrap", self._bootstrap).option("topics", topic).load()

    def ours_as_theirs(self, topic: str) -> DataFrame:
        """Only what the connector gives as well."""
        reader = self._spark.read.format("braid").option("bootstrap", self._bootstrap).option("topics", topic)
        return reader.option("columns", "key,value,topic,partition,offset,store_time").load()

    def theirs(self, topic: str) -> DataFrame:
        reader = self._spark.read.format("kafka").option("kafka.bootstrap.servers", self._bootstrap)
        return reader.option("subscribe", topic).load()

    def rate(self, frame: Callable[[str], DataFrame], topic: str) -> float:
        """Rows for each second of CPU."""
        before = cpu_seconds(self._node_pid)
        frame(topic).write.format("noop").mode("overwrite").save()
        return self.records / (cpu_seconds(self._node_pid) - before)

    def floor(self, source: str, topic: str) -> float:
        """Milliseconds that a micro-batch of a few rows takes, the median."""
        reader = self._spark.readStream.format(source).option("startingOffsets", "earliest")
        if source == "braid":
            reader = reader.option("bootstrap", self._bootstrap).option("topics", topic)
            reader = reader.option("maxRowsPerBatch", str(FLOOR_ROWS))
        else:
            reader = reader.option("kafka.bootstrap.servers", self._bootstrap).option("subscribe", topic)
            reader = reader.option("maxOffsetsPerTrigger", str(FLOOR_ROWS))
        query = reader.load().writeStream.format("noop").trigger(availableNow=True).start()
        query.awaitTermination()
        taken: list[float] = [
            each["durationMs"]["triggerExecution"] for each in query.recentProgress if each["numInputRows"]
        ]
        return statistics.median(taken[len(taken) // 4 :])


def compared(what: str, ours: Sequence[float], theirs: Sequence[float], wanted: float) -> Figure:
    """The median of the rounds' ratios. The first round warms up the JVM, and does not count."""
    ratios = [mine / other for mine, other in zip(ours[1:], theirs[1:], strict=True)]
    found = statistics.median(ratios)
    middles = " / ".join(f"{statistics.median(rates[1:]):,.0f}" for rates in (ours, theirs))
    detail = f"{middles} rows per CPU second (rounds {', '.join(f'{ratio:.2f}' for ratio in ratios)})"
    return Figure(what, f"{found:.2f}", f">= {wanted}", found >= wanted, detail)


def measure_source(bench: Bench, rounds: int) -> list[Figure]:
    bench.fill("source", bench.records)
    ours: list[float] = []
    alike: list[float] = []
    theirs: list[float] = []
    sides = ((bench.ours, ours), (bench.theirs, theirs), (bench.ours_as_theirs, alike))
    with Progress("source", len(sides) * (rounds + 1)) as progress:
        for number in range(rounds + 1):
            for frame, rates in sides[:: 1 if number % 2 else -1]:
                rates.append(bench.rate(frame, "source"))
                progress.step()
    return [
        compared("source braid -> noop / Spark's connector -> noop", ours, theirs, 1.1),
        compared("the same, with the columns that the connector has", alike, theirs, 1.1),
    ]


def measure_floor(bench: Bench, rounds: int) -> list[Figure]:
    bench.fill("floor", FLOOR_ROWS * FLOOR_BATCHES)
    ours: list[float] = []
    theirs: list[float] = []
    with Progress("floor", 2 * rounds) as progress:
        for _ in range(rounds):
            for source, taken in (("braid", ours), ("kafka", theirs)):
                taken.append(bench.floor(source, "floor"))
                progress.step()
    found = statistics.median(ours)
    detail = f"Spark's connector in the same run: {statistics.median(theirs):.0f} ms"
    return [Figure(f"micro-batch of {FLOOR_ROWS} rows", f"{found:.0f} ms", "<= 200 ms", found <= 200, detail)]


@contextmanager
def spark_session() -> Iterator[SparkSession]:
    spark = session("bench", master="local[1]", conf={"spark.jars": connector_jars(), "spark.log.level": "ERROR"})
    try:
        yield spark
    finally:
        spark.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("figures", nargs="*", help=f"some of {', '.join(FIGURES)}")
    parser.add_argument("--records", type=int, default=600_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", help="where the node's data goes, for the time of the run")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    options = parser.parse_args()
    if unknown := set(options.figures) - set(FIGURES):
        parser.error(f"no such figure: {', '.join(sorted(unknown))}")
    chosen = options.figures or FIGURES
    folder = Path(tempfile.mkdtemp(dir=options.folder, prefix="bench-pipeline-"))
    figures: dict[str, list[Figure]] = {}
    try:
        with our_node(folder, "interval") as node, spark_session() as spark:
            bench = Bench(spark, node, options.records)
            began = time.monotonic()
            for name, measure in (("source", measure_source), ("floor", measure_floor)):
                if name in chosen:
                    figures[name] = measure(bench, options.rounds)
            print(f"{time.monotonic() - began:.0f} s")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print_figures([figure for found in figures.values() for figure in found])
    if options.write:
        for name, found in figures.items():
            write_figures(f"pipeline-{name}", TITLES[name], f"./braid bench pipeline {name} --write", found)


if __name__ == "__main__":
    main()
