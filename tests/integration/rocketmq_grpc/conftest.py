"""A node that speaks RocketMQ's gRPC inside the test's own process, and raw clients of it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from braidmq.node import Node
from braidmq.protocols.listener import Address, Endpoint
from braidmq.settings import (
    HalvesSettings,
    HttpSettings,
    KafkaSettings,
    LogSettings,
    NodeSettings,
    RocketMQGrpcSettings,
    RocketMQSettings,
    Settings,
)
from rocketmq_grpc_support import GrpcClient

StartNode = Callable[..., Awaitable[Node]]
FREE = (Endpoint(Address("127.0.0.1", 0)),)


@pytest.fixture
async def start_node(tmp_path: Path) -> AsyncIterator[StartNode]:
    """Starts a node on the test's folder; stopped with the test. Sections of the settings may be given."""
    nodes: list[Node] = []

    async def start(**sections: Any) -> Node:
        chosen: dict[str, Any] = {
            "node": NodeSettings(data=tmp_path / "data", drain_ms=100, name="node-1"),
            "http": HttpSettings(listen=None),
            "kafka": KafkaSettings(listen=()),
            "rocketmq": RocketMQSettings(listen=()),
            "rocketmq_grpc": RocketMQGrpcSettings(listen=FREE),
            "halves": HalvesSettings(immunity_s=1, check_interval_s=1),
            "log": LogSettings(flush="interval"),
        }
        node = await Node.start(Settings(**chosen | sections))
        nodes.append(node)
        return node

    yield start
    for node in nodes:
        await node.stop()


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
