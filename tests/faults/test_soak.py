"""One node under a mixed load for some minutes, stopped and killed again and again: it does not grow, readers keep up,
and nothing that was acknowledged is missing at the end.

Kafka, RocketMQ and HTTP clients write, each to a topic of its own; one Kafka group reads all of it, and an HTTP group
takes what came by HTTP and acknowledges it.
"""

import asyncio
import contextlib
import itertools
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaError

from braidmq.protocols.rocketmq.codec import ResponseCode
from rocketmq_support import RawClient
from running_node import RunningNode, WaitFor

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="what a node takes is read from /proc"),
]

LIFE_S: Final = 30.0
ENDS: Final = (signal.SIGTERM, signal.SIGKILL, signal.SIGTERM, signal.SIGKILL, signal.SIGTERM)
COMMIT_LIMIT_S: Final = 5.0
LIMIT_S: Final = 60.0
KAFKA, ROCKETMQ, HTTP = TOPICS = ("by-kafka", "by-rocketmq", "by-http")
PARTITIONS: Final = 4
KAFKA_AT_ONCE: Final = 50
HTTP_TAKEN: Final = 100
BODY_BYTES: Final = 300

RSS_MAX: Final = 400 << 20
GROWTH_MAX: Final = 1.6
"""How much larger the last life may get than the first one did."""
FILES_MAX: Final = 400

GONE = (KafkaError, httpx.HTTPError, OSError, TimeoutError, asyncio.IncompleteReadError)
"""What clients meet when their node goes away."""


class Ledger:
    """What was acknowledged, what was read, and what the HTTP group has acknowledged."""

    def __init__(self) -> None:
        self.kept: set[bytes] = set()
        self.seen: set[bytes] = set()
        self.taken: set[bytes] = set()
        self._numbers = itertools.count()

    def body(self, topic: str) -> bytes:
        return f"{topic} {next(self._numbers)} ".encode().ljust(BODY_BYTES, b".")

    @property
    def lag(self) -> int:
        return len(self.kept - self.seen)


class Watch:
    """The most that a node takes while it runs."""

    def __init__(self, pid: int) -> None:
        self._folder = Path("/proc") / str(pid)
        self.rss_bytes = 0
        self.files = 0

    async def look(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                fields = (self._folder / "statm").read_text().split()
                self.rss_bytes = max(self.rss_bytes, int(fields[1]) * os.sysconf("SC_PAGE_SIZE"))
                self.files = max(self.files, len(os.listdir(self._folder / "fd")))
                await asyncio.sleep(0.2)


async def write_kafka(node: RunningNode, ledger: Ledger) -> None:
    async def send(partition: int) -> None:
        body = ledger.body(KAFKA)
        await producer.send_and_wait(KAFKA, body, partition=partition % PARTITIONS)
        ledger.kept.add(body)

    producer = AIOKafkaProducer(bootstrap_servers=node.bootstrap, request_timeout_ms=3_000)
    try:
        await producer.start()
        while True:
            await asyncio.gather(*map(send, range(KAFKA_AT_ONCE)))
    finally:
        await producer.stop()


async def write_rocketmq(node: RunningNode, ledger: Ledger) -> None:
    host, port = node.ready["listeners"]["rocketmq"][0]
    client = await RawClient.connect(host, port)
    try:
        for number in itertools.count():
            body = ledger.body(ROCKETMQ)
            answer = await client.send(ROCKETMQ, body, queue_id=number % PARTITIONS)
            assert answer.code == ResponseCode.SUCCESS, answer.remark
            ledger.kept.add(body)
    finally:
        await client.close()


async def write_http(node: RunningNode, ledger: Ledger) -> None:
    async with api(node) as client:
        while True:
            body = ledger.body(HTTP)
            (await client.post(f"/topics/{HTTP}/messages", json={"body": body.decode()})).raise_for_status()
            ledger.kept.add(body)


async def read_kafka(node: RunningNode, ledger: Ledger) -> None:
    consumer = AIOKafkaConsumer(
        *TOPICS,
        bootstrap_servers=node.bootstrap,
        group_id="readers",
        auto_offset_reset="earliest",
        enable_auto_commit=False,  # a client that commits by itself waits for a dead node when it closes
        session_timeout_ms=6_000,
        heartbeat_interval_ms=1_000,
    )
    try:
        await consumer.start()
        while True:
            for messages in (await consumer.getmany(timeout_ms=500)).values():
                ledger.seen.update(message.value for message in messages)
            # What is committed has been seen: all of it, since a commit is for all partitions.
            with contextlib.suppress(KafkaError, TimeoutError):  # what is not committed is read once more
                await asyncio.wait_for(consumer.commit(), COMMIT_LIMIT_S)
    finally:
        await consumer.stop()


async def take_http(node: RunningNode, ledger: Ledger) -> None:
    async with api(node) as client:
        while True:
            asked = {"topic": HTTP, "wait_s": 2, "count_max": HTTP_TAKEN, "invisible_s": 10}
            answer = await client.post("/groups/takers/receive", json=asked)
            answer.raise_for_status()
            if messages := answer.json()["messages"]:
                receipts = [message["receipt"] for message in messages]
                (await client.post("/groups/takers/acknowledge", json={"receipts": receipts})).raise_for_status()
                ledger.taken.update(message["body"].encode() for message in messages)


@contextlib.asynccontextmanager
async def api(node: RunningNode) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=node.url + "/api/v1", timeout=10) as client:
        yield client


@contextlib.asynccontextmanager
async def under_way(*works: Coroutine[Any, Any, None]) -> AsyncIterator[list["asyncio.Task[None]"]]:
    """Ended with the block. They may end before, when their node goes away, but not for any other reason."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    others = [
        end for end in ended if isinstance(end, BaseException) and not isinstance(end, (*GONE, asyncio.CancelledError))
    ]
    assert others == []


async def until(condition: Callable[[], bool], why: Callable[[], str]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, why()
        await asyncio.sleep(0.1)


class Lives:
    """A node on one folder, started again and again."""

    def __init__(self, folder: Path, wait_for: WaitFor) -> None:
        self._folder = folder
        self._wait_for = wait_for
        self._count = 0
        self.node: RunningNode | None = None

    async def start(self) -> RunningNode:
        self.end()
        self._count += 1
        folder = self._folder / f"life-{self._count}"
        folder.mkdir()
        any_port = [part for name in ("http", "kafka", "rocketmq") for part in (f"--{name}", "127.0.0.1:0")]
        given = ["--data", str(self._folder / "data"), *any_port, "--set", "log.maintenance_interval_s=5"]
        self.node = RunningNode(folder, given, {}, self._wait_for)
        return await asyncio.to_thread(self.node.wait_ready)

    def end(self) -> None:
        if self.node is not None:
            self.node.clean_up()


@pytest.fixture
def lives(tmp_path: Path, wait_for: WaitFor) -> Iterator[Lives]:
    lives = Lives(tmp_path, wait_for)
    yield lives
    lives.end()


async def live(node: RunningNode, ledger: Ledger, end: signal.Signals) -> Watch:
    """A life under load: cut off in the middle of it, or stopped when its readers have come to the end."""
    watch = Watch(node.process.pid)
    kept_before = len(ledger.kept)
    async with under_way(read_kafka(node, ledger), take_http(node, ledger), watch.look()) as readers:
        async with under_way(
            write_kafka(node, ledger), write_rocketmq(node, ledger), write_http(node, ledger)
        ) as writers:
            await asyncio.wait([*readers, *writers], timeout=LIFE_S, return_when=asyncio.FIRST_COMPLETED)
            assert [task for task in (*readers, *writers) if task.done()] == []
            if end is signal.SIGKILL:
                await asyncio.to_thread(node.stop, end)
        if end is not signal.SIGKILL:
            await until(lambda: ledger.lag == 0, lambda: f"the group is {ledger.lag} messages behind: {readers}")
            by_http = {body for body in ledger.kept if body.startswith(HTTP.encode())}
            await until(lambda: by_http <= ledger.taken, lambda: f"of HTTP: {len(by_http - ledger.taken)}: {readers}")
            await asyncio.to_thread(node.stop, end)
            assert node.process.returncode == 0, node.err
    assert len(ledger.kept) > kept_before + LIFE_S * 10, "there was a load"
    assert "Traceback" not in node.err
    return watch


async def test_a_node_that_works_for_long_does_not_grow_and_loses_nothing(lives: Lives) -> None:
    ledger = Ledger()
    node = await lives.start()
    async with api(node) as client:
        for name in TOPICS:
            asked = {"name": name, "partitions": PARTITIONS}
            (await client.post("/topics", json=asked)).raise_for_status()
        (await client.post("/groups", json={"name": "takers"})).raise_for_status()
    watches = [await live(node, ledger, ENDS[0])]
    watches += [await live(await lives.start(), ledger, end) for end in ENDS[1:]]
    assert ledger.kept <= ledger.seen
    assert max(watch.files for watch in watches) < FILES_MAX
    assert max(watch.rss_bytes for watch in watches) < RSS_MAX
    assert watches[-1].rss_bytes < watches[0].rss_bytes * GROWTH_MAX
