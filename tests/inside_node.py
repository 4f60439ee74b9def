"""Nodes inside the test's own process: only what a test asks for listens, and all is gone with the test."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

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

StartNode = Callable[..., Awaitable[Node]]
FREE = (Endpoint(Address("127.0.0.1", 0)),)


@asynccontextmanager
async def nodes_on(folder: Path, **own: Any) -> AsyncIterator[StartNode]:
    """Gives what starts nodes on a folder. `own` are sections of the settings of all of them; each start may have
    others."""
    nodes: list[Node] = []

    async def start(**sections: Any) -> Node:
        chosen: dict[str, Any] = {
            "node": NodeSettings(data=folder / "data", drain_ms=100),
            "http": HttpSettings(listen=None),
            "kafka": KafkaSettings(listen=()),
            "rocketmq": RocketMQSettings(listen=()),
            "rocketmq_grpc": RocketMQGrpcSettings(listen=()),
            "log": LogSettings(flush="interval"),
        }
        node = await Node.start(Settings(**chosen | own | sections))
        nodes.append(node)
        return node

    yield start
    for node in nodes:
        await node.stop()
