"""What it costs to keep messages findable, and how long finding them takes.

    ./braid bench query             a table of figures; about two minutes
    ./braid bench query --write     and put it into docs/benchmarks.md

The cost: 64 publishers in one process append one message of 1 KiB after the other, each with an id and a key, to a
node with the index and to one without, in turns. Finding: one topic of 8 partitions with two million small messages.
"""

import argparse
import asyncio
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import uvloop
from report import Figure, Progress, print_figures, write_figures

from braidmq.model import Message, Topic
from braidmq.node import Node
from braidmq.records import batch_messages
from braidmq.settings import (
    HttpSettings,
    KafkaSettings,
    LogSettings,
    NodeSettings,
    QuerySettings,
    RocketMQGrpcSettings,
    RocketMQSettings,
    Settings,
)

PUBLISHERS = 64
ROUND_S = 3.0
ROUNDS = 5
MESSAGES = 2_000_000
BATCH = 200
PARTITIONS = 8
LOOKUPS = 300
BODY = bytes(1024)
COST_RATIO_MIN = 0.8
LOOKUP_MS_MAX = 20.0
BEGAN_MS = time.time_ns() // 1_000_000 - MESSAGES
"""When the first message was born; not so long ago that it could not be kept."""


async def start(folder: Path, index: str, share_percent: int = 15) -> tuple[Node, Topic]:
    settings = Settings(
        node=NodeSettings(data=folder),
        log=LogSettings(flush="interval"),
        http=HttpSettings(listen=None),
        kafka=KafkaSettings(listen=()),
        rocketmq=RocketMQSettings(listen=()),
        rocketmq_grpc=RocketMQGrpcSettings(listen=()),
        query=QuerySettings(index="on" if index == "on" else "off", share_percent=share_percent),
    )
    node = await Node.start(settings)
    return node, await node.topics.create("orders", partitions=PARTITIONS)


async def publish_rate(index: str) -> tuple[float, float]:
    """Messages in a second, and the part of them that the index had taken in at the end."""
    with tempfile.TemporaryDirectory() as folder:
        node, topic = await start(Path(folder), index)
        until = time.perf_counter() + ROUND_S
        sent = 0

        async def publisher(number: int) -> None:
            nonlocal sent
            at = 0
            while time.perf_counter() < until:
                at += 1
                message = Message.create(
                    BODY, id=f"7F0000{number:04X}{at:022X}", keys=[f"order-{at}"], born_ms=BEGAN_MS
                )
                await node.log.append([(number, batch_messages([message]))])
                sent += 1

        numbers = topic.partition_numbers
        await asyncio.gather(*(publisher(numbers[n % PARTITIONS]) for n in range(PUBLISHERS)))
        indexed = _figure(node, "braid_query_indexed_records") / sent
        await node.stop()
        return sent / ROUND_S, indexed


def _figure(node: Node, name: str) -> float:
    return next((metric.value for metric in node.metrics() if metric.name == name), 0.0)


async def measure_cost(progress: Progress) -> list[Figure]:
    ratios, indexed, rates = [], [], []
    for _ in range(ROUNDS):
        without, _ = await publish_rate("off")
        with_index, part = await publish_rate("on")
        ratios.append(with_index / without)
        indexed.append(part)
        rates.append(with_index)
        progress.step()
    ratio = statistics.median(ratios)
    detail = f"{statistics.median(rates):,.0f} /s; meanwhile {statistics.median(indexed):.0%} of them were indexed"
    wanted = f"at least {COST_RATIO_MIN:g}"
    return [Figure("publish rate, index / no index", f"{ratio:.2f}", wanted, ratio >= COST_RATIO_MIN, detail)]


async def measure_lookups(progress: Progress) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        node, topic = await start(Path(folder), "on", share_percent=90)
        began = time.perf_counter()
        for first in range(0, MESSAGES, BATCH):
            messages = [
                Message.create(b"%d" % n, id=f"7F0000010000{n:020X}", keys=[f"order-{n // 4}"], born_ms=BEGAN_MS + n)
                for n in range(first, first + BATCH)
            ]
            await node.log.append([(topic.partition_numbers[first // BATCH % PARTITIONS], batch_messages(messages))])
        while _figure(node, "braid_query_behind_records"):  # noqa: ASYNC110 - a figure tells nobody when it changes
            await asyncio.sleep(0.1)
        indexed_s = time.perf_counter() - began
        progress.step()
        files, size_bytes = _figure(node, "braid_query_files"), _figure(node, "braid_query_bytes")
        figures = [await _lookups(node, topic, what) for what in ("id", "key")]
        figures.append(await _by_time(node, topic))
        progress.step()
        await node.stop()
    size = f"{size_bytes / MESSAGES:.1f} bytes"
    detail = f"{files:.0f} files; written and indexed in {indexed_s:.0f} s"
    return [*figures, Figure("size of the index for each message (an id, a key)", size, "", True, detail)]


async def _lookups(node: Node, topic: Topic, what: str) -> Figure:
    chance = random.Random(7)
    times_ms = []
    for _ in range(LOOKUPS):
        wanted = chance.randrange(MESSAGES)
        began = time.perf_counter()
        if what == "id":
            found = await node.query.by_id(topic, f"7F0000010000{wanted:020X}")
        else:
            found = await node.query.by_key(topic, f"order-{wanted // 4}")
        times_ms.append((time.perf_counter() - began) * 1000)
        assert len(found) == (1 if what == "id" else 4)
    return _times(f"finding a message by {what} among {MESSAGES:,}", times_ms)


async def _by_time(node: Node, topic: Topic) -> Figure:
    chance = random.Random(8)
    times_ms = []
    for _ in range(LOOKUPS // 10):
        wanted = BEGAN_MS + chance.randrange(MESSAGES - 1000)
        began = time.perf_counter()
        assert len(await node.query.by_time(topic, wanted, wanted + 999, limit=32)) == 32
        times_ms.append((time.perf_counter() - began) * 1000)
    return _times(f"a page of 32 messages by time among {MESSAGES:,}", times_ms)


def _times(what: str, times_ms: list[float]) -> Figure:
    median_ms, worst_ms = statistics.median(times_ms), statistics.quantiles(times_ms, n=100)[98]
    wanted = f"at most {LOOKUP_MS_MAX:g} ms"
    return Figure(what, f"{median_ms:.1f} ms", wanted, median_ms <= LOOKUP_MS_MAX, f"99 of 100 in {worst_ms:.1f} ms")


async def measure() -> list[Figure]:
    with Progress("query", ROUNDS + 2) as progress:
        return [*await measure_cost(progress), *await measure_lookups(progress)]


def main() -> int:
    parser = argparse.ArgumentParser(description="What it costs to keep messages findable, and how fast they are found")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    options = parser.parse_args()
    figures = uvloop.run(measure())
    print_figures(figures)
    if options.write:
        write_figures("query", "Finding messages", "./braid bench query --write", figures)
    return 0 if all(figure.reached for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
