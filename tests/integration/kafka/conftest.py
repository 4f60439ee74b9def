"""A node that speaks Kafka inside the test's own process, and raw connections to it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from braidmq.node import Node
from braidmq.settings import KafkaSettings
from inside_node import FREE, StartNode, nodes_on
from kafka_support import InThread, RawClient, T


@pytest.fixture
async def start_node(tmp_path: Path) -> AsyncIterator[StartNode]:
    """Starts a node on the test's folder; stopped with the test. Sections of the settings may be given."""
    async with nodes_on(tmp_path, kafka=KafkaSettings(listen=FREE)) as start:
        yield start


@pytest.fixture
async def node(start_node: StartNode) -> Node:
    return await start_node()


@pytest.fixture
async def connect(node: Node) -> AsyncIterator[Callable[[], Awaitable[RawClient]]]:
    """Opens raw connections to the node."""
    clients: list[RawClient] = []

    async def open_one() -> RawClient:
        address = node.addresses["kafka"][0]
        client = RawClient(*await asyncio.open_connection(address.host, address.port))
        clients.append(client)
        return client

    yield open_one
    for client in clients:
        client.close()


@pytest.fixture
async def in_thread() -> AsyncIterator[InThread[Any]]:
    """Runs what blocks beside the node's event loop."""
    with ThreadPoolExecutor(1) as executor:
        loop = asyncio.get_running_loop()

        async def run(work: Callable[[], T]) -> T:
            return await loop.run_in_executor(executor, work)

        yield run
