"""A node that speaks Kafka inside the test's own process, and raw connections to it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from braidmq.node import Node
from braidmq.protocols.listener import Address, Endpoint
from braidmq.settings import (
    HttpSettings,
    KafkaSettings,
    LogSettings,
    NodeSettings,
    RocketMQGrpcSettings,
    RocketMQSettings,
    Settings,
)
from kafka_support import RawClient

StartNode = Callable[..., Awaitable[Node]]
FREE = (Endpoint(Address("127.0.0.1", 0)),)


@pytest.fixture
async def start_node(tmp_path: Path) -> AsyncIterator[StartNode]:
    """Starts a node on the test's folder; stopped with the test. Sections of the settings may be given."""
    nodes: list[Node] = []

    async def start(**sections: Any) -> Node:
        chosen: dict[str, Any] = {
            "node": NodeSettings(data=tmp_path / "data", drain_ms=100),
            "http": HttpSettings(listen=None),
            "kafka": KafkaSettings(listen=FREE),
            "rocketmq": RocketMQSettings(listen=()),
            "rocketmq_grpc": RocketMQGrpcSettings(listen=()),
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
