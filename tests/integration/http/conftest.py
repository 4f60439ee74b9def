"""A node that speaks every protocol inside the test's own process, and a client of its API."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import httpx
import pytest

from api_support import Eventually, Publish
from braidmq.model import Message
from braidmq.node import Node
from braidmq.protocols.listener import Address
from braidmq.records import batch_messages
from braidmq.settings import HalvesSettings, HttpSettings, KafkaSettings, RocketMQGrpcSettings, RocketMQSettings
from http_support import client_of
from inside_node import FREE, StartNode, nodes_on
from rocketmq_support import RawClient

LIMIT_S = 20.0


@pytest.fixture
async def start_node(tmp_path: Path) -> AsyncIterator[StartNode]:
    """Starts a node on the test's folder; stopped with the test. Sections of the settings may be given."""
    sections = {
        "http": HttpSettings(listen=Address("127.0.0.1", 0)),
        "halves": HalvesSettings(immunity_s=1, check_interval_s=1),
        "kafka": KafkaSettings(listen=FREE, group_session_min_ms=500, group_heartbeat_ms=200),
        "rocketmq": RocketMQSettings(listen=FREE),
        "rocketmq_grpc": RocketMQGrpcSettings(listen=FREE, auto_create="on"),
    }
    async with nodes_on(tmp_path, **sections) as start:
        yield start


@pytest.fixture
async def node(start_node: StartNode) -> Node:
    return await start_node()


@pytest.fixture
async def client(node: Node) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(node) as client:
        yield client


@pytest.fixture
async def api(node: Node) -> AsyncIterator[httpx.AsyncClient]:
    """Asks the node; paths are those behind `/api/v1`."""
    async with httpx.AsyncClient(base_url=f"http://{node.addresses['http'][0]}/api/v1", timeout=LIMIT_S) as client:
        yield client


@pytest.fixture
async def rocketmq(node: Node) -> AsyncIterator[RawClient]:
    client = await RawClient.connect(*node.addresses["rocketmq"][0])
    yield client
    await client.close()


@pytest.fixture
def publish(node: Node) -> Publish:
    """Messages into one partition of a topic, each in a batch of its own; the first one was born at the time."""

    async def publish(topic: str, count: int, *, partition: int = 0, born_ms: int | None = None) -> None:
        found = node.catalog.topic("default", topic)
        assert found is not None
        first_ms = time.time_ns() // 1_000_000 if born_ms is None else born_ms
        for nth in range(count):
            batch = batch_messages([Message(body=b"x", born_ms=first_ms + nth)])
            await node.log.append([(found.partition_numbers[partition], batch)])

    return publish


@pytest.fixture
def eventually() -> Eventually:
    """Waits until what is asked is true."""

    async def eventually(holds: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(LIMIT_S):
            while not await holds():  # noqa: ASYNC110 - what is asked changes in the node
                await asyncio.sleep(0.02)

    return eventually
