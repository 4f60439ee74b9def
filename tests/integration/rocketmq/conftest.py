"""A node that speaks RocketMQ inside the test's own process, and raw connections to it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from braidmq.node import Node
from braidmq.settings import NodeSettings, RocketMQSettings
from inside_node import FREE, StartNode, nodes_on
from rocketmq_support import Connect, RawClient


@pytest.fixture
async def start_node(tmp_path: Path) -> AsyncIterator[StartNode]:
    """Starts a node on the test's folder; stopped with the test. Sections of the settings may be given."""
    own = NodeSettings(data=tmp_path / "data", drain_ms=100, name="node-1")
    async with nodes_on(tmp_path, node=own, rocketmq=RocketMQSettings(listen=FREE)) as start:
        yield start


@pytest.fixture
async def node(start_node: StartNode) -> Node:
    return await start_node()


@pytest.fixture
async def connect(node: Node) -> AsyncIterator[Connect]:
    """Opens raw connections to the node."""
    clients: list[RawClient] = []

    async def open_one() -> RawClient:
        client = await RawClient.connect(*node.addresses["rocketmq"][0])
        clients.append(client)
        return client

    yield open_one
    for client in clients:
        await client.close()


@pytest.fixture
async def client(connect: Connect) -> RawClient:
    return await connect()
