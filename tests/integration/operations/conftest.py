"""A node with HTTP, Kafka and RocketMQ inside the test's own process, and clients to ask it."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient

from braidmq.node import Node
from braidmq.protocols.listener import Address
from braidmq.settings import HttpSettings, KafkaSettings, RocketMQSettings
from inside_node import FREE, StartNode, nodes_on
from kafka_support import bootstrap


@pytest.fixture
async def start_node(tmp_path: Path) -> AsyncIterator[StartNode]:
    """Starts a node on the test's folder; stopped with the test. Sections of the settings may be given."""
    listening = {
        "http": HttpSettings(listen=Address("127.0.0.1", 0)),
        "kafka": KafkaSettings(listen=FREE),
        "rocketmq": RocketMQSettings(listen=FREE),
    }
    async with nodes_on(tmp_path, **listening) as start:
        yield start


@pytest.fixture
async def node(start_node: StartNode) -> Node:
    return await start_node()


@pytest.fixture
async def api(node: Node) -> AsyncIterator[httpx.AsyncClient]:
    """Asks under /api/v1."""
    async with httpx.AsyncClient(base_url=f"http://{node.addresses['http'][0]}/api/v1") as client:
        yield client


@pytest.fixture
async def producer(node: Node) -> AsyncIterator[AIOKafkaProducer]:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap(node))
    await producer.start()
    yield producer
    await producer.stop()


@pytest.fixture
async def admin(node: Node) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap(node))
    await admin.start()
    yield admin
    await admin.close()
