"""Whether messages that wait slow down those that do not: `./braid bench deferred [--timers N] [--halves N] [--write]`

Two nodes in turn, one with an empty store and one with a million timers and a hundred thousand halves in it, do the
same work: plain messages, delayed ones that fall due meanwhile, transactional ones. The halves that lie there have no
producers, and come up to be looked at again and again, as they would.
"""

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from uuid import UUID

from report import Figure, Progress, print_figures, write_figures

from braidmq.core.delivery import pack
from braidmq.model import Half, Message, Timer, Topic
from braidmq.node import Node
from braidmq.settings import HttpSettings, KafkaSettings, NodeSettings, RocketMQGrpcSettings, RocketMQSettings, Settings
from braidmq.store import HalfRows, Store, TimerRows

TIMERS, HALVES, ROUNDS = 1_000_000, 100_000, 5
PLAIN, DELAYED, TRANSACTIONAL, AT_ONCE = 20_000, 2_000, 1_000, 64
DELAY_MS = 500
DAY_MS = 86_400_000
CHUNK = 10_000
BODY = bytes(1024)

Work = Callable[[Node, Topic], Awaitable[float]]
Medians = tuple[float, float]


def settings_for(folder: Path) -> Settings:
    return Settings(
        node=NodeSettings(data=folder),
        http=HttpSettings(listen=None),
        kafka=KafkaSettings(listen=()),
        rocketmq=RocketMQSettings(listen=()),
        rocketmq_grpc=RocketMQGrpcSettings(listen=()),
    )


def now_ms() -> int:
    return time.time_ns() // 1_000_000


async def fill(settings: Settings, topic: Topic, timers: int, halves: int) -> None:
    """Put waiting messages straight into the store of a node that does not run."""
    store = await Store.open(settings.store_url)
    content = pack(Message.create(BODY[:200], id="waiting"))
    place = {"topic_id": topic.id, "instance": topic.instance, "topic": topic.name, "message_id": "waiting"}
    kept = {"content": content, "size_bytes": len(content)}
    began_ms = now_ms()

    def timer(number: int) -> Timer:
        due_ms = began_ms + DAY_MS + number * (38 * DAY_MS // timers)
        return Timer(id=_id(due_ms), wake_ms=due_ms, due_ms=due_ms, **place, **kept)  # type: ignore[arg-type]  # by name

    def half(number: int) -> Half:
        wake_ms = began_ms + 30_000 + number * (570_000 // halves)
        return Half(id=_id(began_ms), group="gone", prepared_ms=began_ms, wake_ms=wake_ms, **place, **kept)  # type: ignore[arg-type]  # by name

    for rows, make, count in ((TimerRows(store), timer, timers), (HalfRows(store), half, halves)):
        for begin in range(0, count, CHUNK):
            made = [make(number) for number in range(begin, min(begin + CHUNK, count))]
            await rows._add(made)  # type: ignore[arg-type]  # rows of one kind each
    await store.close()


def _id(at_ms: int) -> UUID:
    """As the node makes them: in the order of their times, and random behind."""
    return UUID(int=at_ms << 64 | random.getrandbits(63))


async def _share(count: int, work: Callable[[], Awaitable[object]]) -> float:
    """How many a second, so many at a time."""

    async def worker() -> None:
        for _ in range(count // AT_ONCE):
            await work()

    began = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
    return count / (time.perf_counter() - began)


async def plain(node: Node, topic: Topic) -> float:
    message = Message.create(BODY, id="plain")
    return await _share(PLAIN, lambda: node.publisher.published(topic, (message,)))


async def delayed(node: Node, topic: Topic) -> float:
    """Messages that are taken, wait for half a second, and are all in their topic: a second, over all of it."""
    message = Message.create(BODY, id="delayed")
    before = _end(node, topic)
    began = time.perf_counter()
    await _share(DELAYED, lambda: node.publisher.publish_at(topic, message, now_ms() + DELAY_MS))
    while _end(node, topic) < before + DELAYED // AT_ONCE * AT_ONCE:  # noqa: ASYNC110 - the node's own tasks do it
        await asyncio.sleep(0.001)
    return DELAYED / (time.perf_counter() - began)


async def transactional(node: Node, topic: Topic) -> float:
    message = Message.create(BODY, id="half")

    async def one() -> None:
        handle, _ = await node.publisher.prepare(topic, message, group="here")
        await node.halves.end(handle, commit=True, group="here")

    return await _share(TRANSACTIONAL, one)


def _end(node: Node, topic: Topic) -> int:
    return sum(node.log.bounds(number).end for number in topic.partition_numbers)


WORKS: dict[str, tuple[Work, float]] = {
    "plain messages published": (plain, 0.9),
    "delayed messages taken and delivered": (delayed, 0.8),
    "transactional messages prepared and committed": (transactional, 0.8),
}


async def compared(
    places: Sequence[Settings], topics: Sequence[Topic], rounds: int, name: str, works: Mapping[str, Work]
) -> dict[str, Medians]:
    """Two nodes do all works in turn: for each the ratio of the second's rate to the first's, and the second's rate."""
    found: dict[str, list[Medians]] = {what: [] for what in works}
    with Progress(name, rounds) as progress:
        nodes = [await Node.start(settings) for settings in places]
        try:
            for number in range(rounds):
                for what, work in works.items():
                    rates = {at: await work(nodes[at], topics[at]) for at in ((0, 1) if number % 2 else (1, 0))}
                    found[what].append((rates[1] / rates[0], rates[1]))
                progress.step()
        finally:
            for node in nodes:
                await node.stop()
    return {
        what: (statistics.median(ratio for ratio, _ in all_found), statistics.median(rate for _, rate in all_found))
        for what, all_found in found.items()
    }


async def measure(timers: int, halves: int, rounds: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        places = [settings_for(Path(folder) / name) for name in ("empty", "full")]
        topics = [await prepared(settings) for settings in places]
        await fill(places[1], topics[1], timers, halves)
        works = {what: work for what, (work, _) in WORKS.items()}
        found = await compared(places, topics, rounds, "deferred", works)
    beside = f"beside {timers:,} timers and {halves:,} halves"
    return [figure(what, *found[what], wanted, beside) for what, (_, wanted) in WORKS.items()]


def figure(what: str, ratio: float, rate: float, wanted: float, how: str) -> Figure:
    return Figure(what, f"{ratio:.2f}", f">= {wanted}", ratio >= wanted, f"{rate:,.0f}/s {how}")


async def prepared(settings: Settings) -> Topic:
    node = await Node.start(settings)
    topic = await node.topics.create("orders", partitions=4)
    await node.stop()
    return topic


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--timers", type=int, default=TIMERS)
    parser.add_argument("--halves", type=int, default=HALVES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    asked = parser.parse_args()
    figures = asyncio.run(measure(asked.timers, asked.halves, asked.rounds))
    print_figures(figures)
    if asked.write:
        write_figures("deferred", "Beside messages that wait", "./braid bench deferred --write", figures)


if __name__ == "__main__":
    main()
