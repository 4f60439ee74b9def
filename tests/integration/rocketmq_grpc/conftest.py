"""A node that speaks RocketMQ's gRPC inside the test's own process, and raw clients of it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from braidmq.node import Node
from braidmq.settings import HalvesSettings, NodeSettings, RocketMQGrpcSettings
from inside_node import FREE, StartNode, nodes_on
from rocketmq_grpc_support import GrpcClient


@pytest.fixture
async def start_node(tmp_path: Path) -> AsyncIterator[StartNode]:
    """Starts a node on the test's folder; stopped with the test. Sections of the settings may be given."""
    own = NodeSettings(data=tmp_path / "data", drain_ms=100, name="node-1")
    halves = HalvesSettings(immunity_s=1, check_interval_s=1)
    async with nodes_on(
        tmp_path, node=own, rocketmq_grpc=RocketMQGrpcSettings(listen=FREE, auto_create="on"), halves=halves
    ) as start:
        yield start


@pytest.fixture
async def node(start_node: StartNode) -> Node:
    return await start_node()


@pytest.fixture
async def address(node: Node) -> str:
    return str(node.addresses["rocketmq_grpc"][0])


@pytest.fixture
async def client(address: str) -> AsyncIterator[GrpcClient]:
    client = GrpcClient(address)
    yield client
    await client.close()
