"""Clients that send nonsense, lies and floods get Kafka's error or a closed connection, and nobody else notices."""

import asyncio
import os
import random
import struct
import time
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from braidmq.protocols.kafka._operations import operations
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode, RequestHeader, encode_request
from braidmq.protocols.kafka.codec.messages.fetch import FetchRequest
from braidmq.protocols.kafka.codec.messages.metadata import MetadataRequest
from braidmq.protocols.kafka.codec.messages.produce import ProduceRequest
from braidmq.records import Codec, Record, build_batch
from kafka_support import RawClient
from running_node import RunningNode, WaitFor

MIB = 1 << 20
IDLE_CONNECTIONS = 5_000
IDLE_BYTES_MAX = 40_000
FUZZ_SEED = int(os.environ.get("BRAID_FUZZ_SEED", "1"))


class Node:
    """A node in its own process, so that its memory can be measured."""

    def __init__(self, running: RunningNode) -> None:
        self.running = running
        host, port = running.ready["listeners"]["kafka"][0]
        self._address = host, port
        self._clients: list[RawClient] = []

    async def connect(self) -> RawClient:
        client = RawClient(*await asyncio.open_connection(*self._address))
        self._clients.append(client)
        return client

    async def disconnect(self) -> None:
        for client in self._clients:
            await client.end()

    @property
    def memory_bytes(self) -> int:
        resident: int = psutil.Process(self.running.process.pid).memory_info().rss
        return resident

    async def serves_others(self) -> None:
        """A well-behaved client gets its answers, soon."""
        async with asyncio.timeout(10):
            client = await self.connect()
            asked = MetadataRequest.MetadataRequestTopic(name="well-behaved")
            assert (await client.ask(MetadataRequest(topics=[asked]), 9)).topics[0].error_code == 0
            stored = await client.ask(produce_request(batch_of(b"a"), "well-behaved"), 9)
            assert stored.responses[0].partition_responses[0].error_code == 0
        assert self.running.process.poll() is None


@pytest.fixture
async def node(tmp_path: Path, wait_for: WaitFor) -> AsyncIterator[Node]:
    arguments = ["--data", str(tmp_path / "data"), "--http", "off", "--kafka", "127.0.0.1:0", "--flush", "interval"]
    running = RunningNode(tmp_path, arguments, {}, wait_for)
    node = Node(await asyncio.to_thread(running.wait_ready))
    yield node
    await node.disconnect()
    running.clean_up()
    assert "Traceback" not in running.err, running.err[-3000:]


def batch_of(value: bytes, codec: Codec = Codec.NONE) -> bytes:
    return bytes(build_batch([Record(0, time.time_ns() // 1_000_000, b"k", value)], codec=codec).data)


def produce_request(records: bytes, topic: str) -> ProduceRequest:
    partition = ProduceRequest.PartitionProduceData(index=0, records=records)
    return ProduceRequest(acks=-1, topic_data=[ProduceRequest.TopicProduceData(name=topic, partition_data=[partition])])


@pytest.mark.parametrize("size", [-1, -(1 << 31), (1 << 31) - 1, 200 << 20])
async def test_a_frame_that_claims_an_impossible_size_closes_the_connection(node: Node, size: int) -> None:
    client = await node.connect()
    client.send_bytes(struct.pack(">i", size) + b"x" * 100)
    assert await client.is_closed()
    await node.serves_others()


@pytest.mark.parametrize(("key", "version"), [(9999, 0), (-1, 0), (ApiKey.PRODUCE, 99), (ApiKey.METADATA, -1)])
async def test_an_api_or_version_that_does_not_exist_closes_the_connection(node: Node, key: int, version: int) -> None:
    client = await node.connect()
    client.send_bytes(struct.pack(">ihhih", 10, key, version, 1, -1))
    assert await client.is_closed()
    await node.serves_others()


async def test_an_array_that_claims_two_billion_elements_costs_nothing(node: Node) -> None:
    before = node.memory_bytes
    for key in (ApiKey.METADATA, ApiKey.PRODUCE, ApiKey.FETCH):
        client = await node.connect()
        body = struct.pack(">hhih", key, 0, 1, -1) + b"\x7f\xff\xff\xff" * 5
        client.send_bytes(struct.pack(">i", len(body)) + body)
        assert await client.is_closed()
    assert node.memory_bytes - before < 32 << 20
    await node.serves_others()


async def test_random_frames_for_every_api_and_version_never_hurt_anybody(node: Node) -> None:
    draw = random.Random(FUZZ_SEED)
    for operation in operations:
        first, last = operation.handler.versions
        for version in range(first, last + 1):
            client = await node.connect()
            for _ in range(5):
                body = struct.pack(">hhih", operation.key, version, 1, -1) + draw.randbytes(draw.randrange(64))
                client.send_bytes(struct.pack(">i", len(body)) + body)
            client.close()
    await node.serves_others()


async def test_a_frame_cut_off_is_forgotten_with_its_connection(node: Node) -> None:
    before = node.memory_bytes
    for _ in range(20):
        client = await node.connect()
        client.send_bytes(struct.pack(">i", 50 << 20) + b"x" * (4 << 20))
        await client.drain()
        client.close()
    await node.serves_others()
    assert node.memory_bytes - before < 64 << 20


async def test_requests_that_never_end_cannot_take_all_memory(tmp_path: Path, wait_for: WaitFor) -> None:
    arguments = ["--data", str(tmp_path / "data"), "--http", "off", "--kafka", "127.0.0.1:0"]
    limit = ["--set", "kafka.buffer_bytes_max=16MiB"]
    running = RunningNode(tmp_path, arguments + limit, {}, wait_for)
    try:
        node = Node(await asyncio.to_thread(running.wait_ready))
        before = node.memory_bytes
        clients = [await node.connect() for _ in range(20)]
        for client in clients:
            client.send_bytes(struct.pack(">i", 50 << 20) + b"x" * (4 << 20))
        await asyncio.gather(*(client.drain() for client in clients), return_exceptions=True)
        await node.serves_others()
        assert node.memory_bytes - before < 64 << 20
        await node.disconnect()
    finally:
        running.clean_up()


async def test_a_zip_bomb_is_refused_where_a_batch_must_be_opened(node: Node) -> None:
    client = await node.connect()
    asked = MetadataRequest.MetadataRequestTopic(name="bombed")
    await client.ask(MetadataRequest(topics=[asked]), 9)
    before = node.memory_bytes
    bomb = batch_of(bytes(100 << 20), Codec.GZIP)
    assert len(bomb) < 1 << 20
    stored = await client.ask(produce_request(bomb, "bombed"), 9)
    assert stored.responses[0].partition_responses[0].error_code == 0, "it is not opened on the way in"
    partition = FetchRequest.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    wanted = FetchRequest.FetchTopic(topic="bombed", partitions=[partition])
    answer = await client.ask(FetchRequest(topics=[wanted], max_wait_ms=10), 2)
    assert answer.responses[0].partitions[0].error_code == ErrorCode.CORRUPT_MESSAGE, "an old client's needs opening"
    assert node.memory_bytes - before < 256 << 20
    await node.serves_others()


async def test_a_client_that_does_not_read_its_answers_is_not_read_from_either(node: Node) -> None:
    client = await node.connect()
    asked = [MetadataRequest.MetadataRequestTopic(name=f"deaf-{number}") for number in range(50)]
    await client.ask(MetadataRequest(topics=asked), 9)
    before = node.memory_bytes
    frame = encode_request(
        RequestHeader(request_api_key=ApiKey.METADATA, request_api_version=9), MetadataRequest(topics=None)
    )
    client.send_bytes(frame * (64 * MIB // len(frame)))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(3):
            await client.drain()
    assert node.memory_bytes - before < 64 << 20
    await node.serves_others()


async def test_five_thousand_idle_connections_cost_little(node: Node) -> None:
    warm = [await node.connect() for _ in range(50)]
    before = node.memory_bytes
    clients = list(warm)
    for _ in range(IDLE_CONNECTIONS // 100):
        clients += await asyncio.gather(*(node.connect() for _ in range(100)))
    await clients[-1].ask(MetadataRequest(topics=[]), 9)
    each = (node.memory_bytes - before) / IDLE_CONNECTIONS
    assert each < IDLE_BYTES_MAX, f"{each:.0f} bytes each"
