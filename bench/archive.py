"""The archive: what writing it costs, how long finding a message takes, and how far it is behind under load.

    ./braid bench archive                  all figures but the large search
    ./braid bench archive write search     some of them
    ./braid bench archive large            finding an id among 20 million rows: needs 10 GB of disk, and minutes
                                           (--built FOLDER keeps what it built)
    ./braid bench archive --write          and put them into docs/benchmarks.md, each in a section of its own

`write` reads a topic of messages of 1 KiB of random bytes, each with an id and a key, into an archive with Bloom
filters and an index; beside it, in the same session, Spark's connector reads the same into plain Parquet. Counted are
rows for each second of CPU that Spark, its JVM and its Python workers took together. `search` looks ids up that lie
anywhere among two million rows. `lag` is how old messages are when they are in the archive, at 20,000 in a second.
"""

import argparse
import multiprocessing
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # a class of its C part
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

from kafka import Side, our_node
from pipeline import compared, cpu_seconds, spark_session
from report import Figure, Progress, print_figures, write_figures

from braidmq.pipeline import archive
from braidmq.pipeline.archive._index import write_for_files
from braidmq.pipeline.archive._layout import APP, LOOKED_UP, bucket_of
from braidmq.pipeline.tables import FileWriter, LiveFile, Range

FIGURES = ("write", "search", "lag")
TITLES = {
    "write": "Writing the archive, beside Spark's connector writing Parquet",
    "search": "Finding a message in the archive",
    "large": "Finding a message in a large archive",
    "lag": "How far the archive is behind",
}
BODY_BYTES = 1024
SEARCH_BODY_BYTES = 256
PARTITIONS = 2
SEARCH_ROWS = 2_000_000
LARGE_ROWS = 20_000_000
ROWS_AT_ONCE = 50_000
LOOKUPS = 300
LAG_RATE = 20_000
LAG_S = 180
LAG_LIMIT_S = 90.0
WRITE_RATIO_MIN = 0.9
SEARCH_MS_MAX = 15.0
LARGE_MS_MAX = 30.0


def make_topic(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(30)


def send_apart(bootstrap: str, topic: str, records: int, rate: int, cores: set[int]) -> None:
    """From these cores, in a process of its own."""
    with on_cores(cores):
        send(bootstrap, topic, records, rate)


def send(bootstrap: str, topic: str, records: int, rate: int | None = None) -> None:
    """Messages with an id and a key; so many in a second, where a rate is given."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "batch.size": 65536})
    noise = os.urandom(1 << 20)
    chance = random.Random(topic)
    began = time.monotonic()
    for number in range(records):
        at = number * 7919 % (len(noise) - BODY_BYTES)
        headers: list[tuple[str, str | bytes | None]] = [
            ("UNIQ_KEY", f"{chance.getrandbits(128):032x}"),
            ("KEYS", f"order-{number}"),
        ]
        while True:
            try:
                body = noise[at : at + BODY_BYTES]
                producer.produce(topic, body, headers=headers, partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
        if rate is not None and number % 200 == 0:
            producer.poll(0)
            time.sleep(max(0.0, began + number / rate - time.monotonic()))
    producer.flush(60)


class Writing:
    """Both ways from the same topic to a disk."""

    def __init__(self, spark: SparkSession, node: Side, folder: Path, records: int) -> None:
        self._spark = spark
        self._node = node
        self._folder = folder
        self.records = records

    def ours(self, topic: str) -> None:
        path = str(self._folder / "ours")
        query = archive.start(
            self._spark, bootstrap=self._node.bootstrap, path=path, topics=[topic], trigger=archive.ONCE
        )
        query.awaitTermination()
        shutil.rmtree(path)

    def theirs(self, topic: str) -> None:
        path = str(self._folder / "theirs")
        reader = self._spark.read.format("kafka").option("kafka.bootstrap.servers", self._node.bootstrap)
        frame = reader.option("subscribe", topic).option("includeHeaders", "true").load()
        frame.write.option("compression", "zstd").parquet(path)
        shutil.rmtree(path)

    def rate(self, way: str, topic: str) -> float:
        """Rows for each second of CPU."""
        before = cpu_seconds(self._node.pid)
        (self.ours if way == "ours" else self.theirs)(topic)
        return self.records / (cpu_seconds(self._node.pid) - before)


def measure_write(spark: SparkSession, node: Side, folder: Path, records: int, rounds: int) -> list[Figure]:
    make_topic(node.bootstrap, "write")
    send(node.bootstrap, "write", records)
    writing = Writing(spark, node, folder, records)
    rates: dict[str, list[float]] = {"ours": [], "theirs": []}
    with Progress("write", 2 * (rounds + 1)) as progress:
        for number in range(rounds + 1):
            for way in ("ours", "theirs")[:: 1 if number % 2 else -1]:
                rates[way].append(writing.rate(way, "write"))
                progress.step()
    what = "source braid -> archive with Bloom filters and index / Spark's connector -> plain Parquet"
    return [compared(what, rates["ours"], rates["theirs"], WRITE_RATIO_MIN)]


def rows_of(first: int, count: int, chance: np.random.Generator) -> pa.RecordBatch:
    """Rows with random ids and bodies, all of one topic, a millisecond apart."""
    ids = [identity.hex() for identity in _cut(chance.bytes(16 * count), 16)]
    offsets = np.arange(first, first + count)
    times = pa.array(offsets * 1000 + 1_767_225_600_000_000, pa.int64()).cast(pa.timestamp("us", tz="UTC"))
    columns = {
        "instance": pa.repeat("default", count),
        "topic": pa.repeat("search", count),
        "partition": pa.repeat(pa.scalar(0, pa.int32()), count),
        "offset": pa.array(offsets, pa.int64()),
        "message_id": pa.array(ids),
        "keys": pa.array([[f"order-{number}"] for number in offsets.tolist()]),
        "store_time": times,
        "born_time": times,
        "value": pa.array(_cut(chance.bytes(SEARCH_BODY_BYTES * count), SEARCH_BODY_BYTES), pa.binary()),
        "protocol": pa.repeat("kafka", count),
        "traffic": pa.repeat("normal", count),
        "day": times.cast(pa.date32()),
        "bucket": pa.repeat(pa.scalar(bucket_of("search"), pa.int32()), count),
        "schema_ver": pa.repeat(pa.scalar(1, pa.int32()), count),
    }
    arrays = [columns.get(field.name, pa.nulls(count, field.type)) for field in archive.ARCHIVED]
    return pa.RecordBatch.from_arrays(arrays, schema=archive.ARCHIVED)


def _cut(block: bytes, size: int) -> list[bytes]:
    return [block[at : at + size] for at in range(0, len(block), size)]


def build(path: str, rows: int) -> list[str]:
    """An archive as the job and compaction leave it; gives some of its ids."""
    table = archive.messages_table(path)
    epoch = table.claim(APP)
    chance, choice = np.random.Generator(np.random.PCG64(1)), random.Random(1)
    chosen: list[str] = []
    per_batch = 20 * ROWS_AT_ONCE
    with Progress("build", rows // ROWS_AT_ONCE) as progress:
        for batch, first in enumerate(range(0, rows, per_batch)):
            writer = FileWriter(table.path, archive.ARCHIVED, table.layout, keeps=LOOKED_UP)
            last = min(rows, first + per_batch)
            for start in range(first, last, ROWS_AT_ONCE):
                made = rows_of(start, min(ROWS_AT_ONCE, last - start), chance)
                chosen += choice.sample(made.column("message_id").to_pylist(), 10)
                writer.write(made)
                progress.step()
            files = writer.close()
            write_for_files(archive.Folders(path).index, ((file.path, columns) for file, columns in writer.kept))
            table.append(files, [Range("search", 0, first, last, last - first)], APP, epoch, batch)
    return choice.sample(chosen, min(LOOKUPS, len(chosen)))


def built(folder: Path, rows: int) -> tuple[str, list[str]]:
    """An archive of so many rows in the folder, and some of its ids; one that an earlier run has left there is used."""
    path, known = folder / f"search-{rows}", folder / f"search-{rows}.json"
    if not known.exists():
        shutil.rmtree(path, ignore_errors=True)
        known.write_bytes(msgspec.json.encode(build(str(path), rows)))
    return str(path), msgspec.json.decode(known.read_bytes(), type=list[str])


def measure_search(folder: Path, rows: int, limit_ms: float) -> list[Figure]:
    path, ids = built(folder, rows)
    found: dict[str, list[float]] = {"id": [], "key": [], "time": []}
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    chance = random.Random(2)
    with archive.Searcher(path) as searcher:
        searcher.find(id="nothing")
        for identity in ids:
            number = chance.randrange(rows)
            start = begin + timedelta(milliseconds=number)
            questions: dict[str, dict[str, Any]] = {
                "id": {"id": identity},
                "key": {"key": f"order-{number}"},
                "time": {"topic": "search", "start": start, "limit": 100},
            }
            for kind, question in questions.items():
                began = time.perf_counter()
                assert searcher.find(**question), "not found"
                found[kind].append((time.perf_counter() - began) * 1000)
    middle = {kind: statistics.median(each) for kind, each in found.items()}
    high = statistics.quantiles(found["id"], n=20)[-1]
    detail = f"p95 {high:.1f} ms; a key {middle['key']:.1f} ms, 100 messages from a time on {middle['time']:.1f} ms"
    reached = middle["id"] <= limit_ms
    return [Figure(f"id among {rows:,} rows", f"{middle['id']:.1f} ms", f"<= {limit_ms:.0f} ms", reached, detail)]


def measure_lag(folder: Path, seconds: int) -> list[Figure]:
    """All of Spark shares one core; the node and the sender have the others, where there are others."""
    first, *rest = sorted(os.sched_getaffinity(0))
    others = set(rest) or {first}
    with on_cores(others), our_node(folder, "interval") as node, on_cores({first}), spark_session() as spark:
        make_topic(node.bootstrap, "lag")
        sender = multiprocessing.get_context("spawn").Process(
            target=send_apart, args=(node.bootstrap, "lag", LAG_RATE * seconds, LAG_RATE, others)
        )
        sender.start()
        query = archive.start(spark, bootstrap=node.bootstrap, path=str(folder / "lag"), topics=["lag"])
        ages, rate = watch(query, str(folder / "lag"), LAG_RATE * seconds)
        query.stop()
        sender.join()
    high = statistics.quantiles(ages, n=20)[-1]
    detail = (
        f"median {statistics.median(ages):.0f} s, of the oldest message of each file; {rate:,.0f}/s for {seconds} s"
    )
    what = f"age of messages when archived, at {LAG_RATE:,} in a second, one core for Spark, p95"
    return [Figure(what, f"{high:.0f} s", f"<= {LAG_LIMIT_S:.0f} s", high <= LAG_LIMIT_S, detail)]


def watch(query: StreamingQuery, path: str, rows: int) -> tuple[list[float], float]:
    """How old the oldest message of each file was when the file was there, and how many were sent in a second."""
    table = archive.messages_table(path)
    seen: dict[str, LiveFile] = {}
    ages: list[float] = []
    while sum(file.rows for file in seen.values()) < rows:
        time.sleep(0.5)
        if (error := query.exception()) is not None:
            raise error
        now = datetime.now(UTC)
        for file in table.files():
            if file.path not in seen:
                seen[file.path] = file
                ages.append((now - file.low["store_time"]).total_seconds())
    first = min(file.low["store_time"] for file in seen.values())
    last = max(file.high["store_time"] for file in seen.values())
    return ages, rows / (last - first).total_seconds()


@contextmanager
def on_cores(cores: set[int]) -> Iterator[None]:
    """What is started from here on runs on these."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def place(folder: str | None) -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(dir=folder, prefix="bench-archive-"))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("figures", nargs="*", help=f"some of {', '.join(FIGURES)} and large")
    parser.add_argument("--records", type=int, default=600_000)
    parser.add_argument("--rows", type=int, default=SEARCH_ROWS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=LAG_S)
    parser.add_argument("--folder", help="where data goes, for the time of the run")
    parser.add_argument("--built", type=Path, help="a folder in which archives to search stay for the next run")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    options = parser.parse_args()
    if unknown := set(options.figures) - {*FIGURES, "large"}:
        parser.error(f"no such figure: {', '.join(sorted(unknown))}")
    chosen = options.figures or FIGURES
    figures: dict[str, list[Figure]] = {}
    with place(options.folder) as folder:
        if "search" in chosen:
            figures["search"] = measure_search(options.built or folder, options.rows, SEARCH_MS_MAX)
        if "large" in chosen:
            figures["large"] = measure_search(options.built or folder, LARGE_ROWS, LARGE_MS_MAX)
        if "write" in chosen:
            with our_node(folder, "interval") as node, spark_session() as spark:
                figures["write"] = measure_write(spark, node, folder, options.records, options.rounds)
        if "lag" in chosen:
            figures["lag"] = measure_lag(folder, options.seconds)
    print_figures([figure for found in figures.values() for figure in found])
    if options.write:
        for name, found in figures.items():
            write_figures(f"archive-{name}", TITLES[name], f"./braid bench archive {name} --write", found)


if __name__ == "__main__":
    main()
