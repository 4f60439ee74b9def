"""A node that is in the middle of everything stops in time: all listeners on, requests that wait on each of them,
producers who do not let up, and megabytes that are in no segment yet. What was acknowledged is there afterwards."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import httpx
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from braidmq.protocols.rocketmq.codec import RequestCode
from rocketmq_grpc_support import GrpcClient, consumer_settings
from rocketmq_support import RawClient
from running_node import RunningNode

Launch = Callable[..., RunningNode]

STOP_S_MAX = 2.0
LIMIT_S = 30.0
WAIT_S = 30
PRODUCERS = 4
PARTITIONS = 8
BODY_BYTES = 16 * 1024
BEFORE_BYTES = 24 << 20
HTTP_WAITING = 3


class Load:
    """Producers who count what was acknowledged, by partition."""

    def __init__(self) -> None:
        self.ends = dict.fromkeys(range(PARTITIONS), 0)
        self.size_bytes = 0

    async def produce(self, bootstrap: str) -> None:
        """Until the node is gone."""
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=1, request_timeout_ms=2_000)
        with contextlib.suppress(KafkaError):
            async with producer:
                while True:
                    await asyncio.gather(*(self._send(producer, partition) for partition in self.ends))

    async def _send(self, producer: AIOKafkaProducer, partition: int) -> None:
        there = await producer.send_and_wait("busy", bytes(BODY_BYTES), partition=partition)
        self.ends[partition] = max(self.ends[partition], there.offset + 1)
        self.size_bytes += BODY_BYTES


async def kafka_fetch(node: RunningNode) -> None:
    consumer = AIOKafkaConsumer(bootstrap_servers=node.bootstrap, fetch_max_wait_ms=WAIT_S * 1000)
    async with consumer:
        consumer.assign([TopicPartition("idle", 0)])
        await consumer.getone()


async def rocketmq_pull(node: RunningNode) -> None:
    host, port = node.ready["listeners"]["rocketmq"][0]
    client = await RawClient.connect(host, port)
    try:
        await client.beat("waiting", group="g", topics={"idle": "*"})
        header = {
            "consumerGroup": "g",
            "topic": "idle",
            "queueId": 0,
            "queueOffset": 0,
            "maxMsgNums": 32,
            "sysFlag": 2 | 4,
            "commitOffset": 0,
            "suspendTimeoutMillis": WAIT_S * 1000,
            "subscription": "*",
            "subVersion": 0,
            "expressionType": "TAG",
        }
        await client.ask(RequestCode.PULL_MESSAGE, header)
    finally:
        await client.close()


async def grpc_receive(node: RunningNode) -> None:
    client = GrpcClient(node.grpc_address)
    try:
        async with client.introduced(consumer_settings("g5", "idle")):
            await client.receive("idle", "g5", wait_ms=WAIT_S * 1000, timeout_s=WAIT_S)
    finally:
        await client.close()


async def http_request(node: RunningNode, method: str, path: str, body: object = None) -> None:
    async with httpx.AsyncClient(base_url=node.url + "/api/v1", timeout=WAIT_S) as client:
        (await client.request(method, path, json=body)).raise_for_status()


async def http_events(node: RunningNode, path: str, begun: asyncio.Event) -> None:
    async with (
        httpx.AsyncClient(base_url=node.url + "/api/v1", timeout=WAIT_S) as client,
        client.stream("GET", path) as answer,
    ):
        begun.set()
        async for _ in answer.aiter_bytes():
            pass


@contextlib.asynccontextmanager
async def under_way(*works: Coroutine[Any, Any, None]) -> AsyncIterator[list["asyncio.Task[None]"]]:
    """Ended with the block: the node goes away under them, and some of them would look for it for ever."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not await asyncio.to_thread(condition):  # noqa: ASYNC110 - the condition is another process's doing
            await asyncio.sleep(0.02)


def figure(node: RunningNode, name: str) -> float:
    lines = node.get("/metrics").body.decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.partition("{")[0].partition(" ")[0] == name)


@pytest.mark.parametrize("flush", ["commit", "interval"])
async def test_a_node_under_load_with_requests_that_wait_stops_in_time_and_loses_nothing(
    launch: Launch, flush: str
) -> None:
    on = ("--rocketmq", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--flush", flush)
    node = launch(*on).wait_ready()
    for name, partitions in (("busy", PARTITIONS), ("idle", 1)):
        await http_request(node, "POST", "/topics", {"name": name, "partitions": partitions})
    await http_request(node, "POST", "/groups", {"name": "h"})
    load = Load()
    tails, events = asyncio.Event(), asyncio.Event()
    waiting = (
        kafka_fetch(node),
        rocketmq_pull(node),
        grpc_receive(node),
        http_request(node, "POST", "/groups/h/receive", {"topic": "idle", "wait_s": WAIT_S}),
        http_request(node, "GET", f"/topics/idle/partitions/0/messages?wait_s={WAIT_S}"),
        http_request(node, "GET", f"/producers/p/checks?wait_s={WAIT_S}"),
        http_events(node, "/topics/idle/tail", tails),
        http_events(node, "/events", events),
    )
    producing = [load.produce(node.bootstrap) for _ in range(PRODUCERS)]
    async with under_way(*waiting) as waiters, under_way(*producing):
        async with asyncio.timeout(LIMIT_S):
            await asyncio.gather(tails.wait(), events.wait())
        await until(lambda: figure(node, "braid_http_waiting") >= HTTP_WAITING)
        await until(lambda: figure(node, "braid_rocketmq_grpc_clients") == 1)
        await until(lambda: figure(node, "braid_rocketmq_connections") >= 1)
        await until(lambda: load.size_bytes >= BEFORE_BYTES)
        assert [task for task in waiters if task.done()] == [], "all of them wait"
        assert await asyncio.to_thread(node.stop) < STOP_S_MAX
    assert node.process.returncode == 0
    assert "Traceback" not in node.err
    again = launch(*on).wait_ready()
    async with AIOKafkaConsumer(bootstrap_servers=again.bootstrap) as consumer:
        ends = await consumer.end_offsets([TopicPartition("busy", partition) for partition in load.ends])
    assert all(ends[TopicPartition("busy", partition)] >= end for partition, end in load.ends.items())
    assert again.stop() < STOP_S_MAX
