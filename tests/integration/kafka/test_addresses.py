"""Where clients are sent: by which address they came, unless a listener says another; several listeners; IPv6; a
forwarded port."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import pytest
from confluent_kafka import Consumer, Producer

from braidmq.protocols.kafka.codec import ApiMessage
from braidmq.protocols.kafka.codec.messages.describe_cluster import DescribeClusterRequest
from braidmq.protocols.kafka.codec.messages.find_coordinator import FindCoordinatorRequest
from braidmq.protocols.kafka.codec.messages.metadata import MetadataRequest
from braidmq.protocols.listener import Address, Endpoint
from braidmq.settings import KafkaSettings
from inside_node import StartNode
from kafka_support import RawClient

HERE = Address("127.0.0.1", 0)
OUTSIDE = Address("broker.example", 9092)
LIMIT_S = 20.0


async def told_by(address: Address) -> set[tuple[str, int]]:
    """All addresses that a client is told which came by this one."""
    client = RawClient(*await asyncio.open_connection(address.host, address.port))
    try:
        asked: list[tuple[ApiMessage, int]] = [
            (MetadataRequest(topics=None), 12),
            (DescribeClusterRequest(), 0),
            (FindCoordinatorRequest(key="group"), 3),
            (FindCoordinatorRequest(coordinator_keys=["group"]), 4),
        ]
        answers = [await client.ask(request, version) for request, version in asked]
    finally:
        client.close()
    nodes = [*answers[0].brokers, *answers[1].brokers, answers[2], *answers[3].coordinators]
    return {(node.host, node.port) for node in nodes}


async def test_a_client_is_sent_to_where_it_came(start_node: StartNode) -> None:
    node = await start_node(kafka=KafkaSettings(listen=(Endpoint(HERE), Endpoint(HERE))))
    first, second = node.addresses["kafka"]
    assert first != second
    assert await told_by(first) == {tuple(first)}
    assert await told_by(second) == {tuple(second)}


async def test_a_listener_that_is_reached_by_another_address_tells_that(start_node: StartNode) -> None:
    node = await start_node(kafka=KafkaSettings(listen=(Endpoint(HERE, OUTSIDE), Endpoint(HERE))))
    outer, inner = node.addresses["kafka"]
    assert await told_by(outer) == {tuple(OUTSIDE)}
    assert await told_by(inner) == {tuple(inner)}


async def test_who_came_to_all_addresses_is_sent_to_the_one_that_was_meant(start_node: StartNode) -> None:
    node = await start_node(kafka=KafkaSettings(listen=(Endpoint(Address("0.0.0.0", 0)),)))  # noqa: S104 - a test's own port
    port = node.addresses["kafka"][0].port
    assert await told_by(Address("127.0.0.1", port)) == {("127.0.0.1", port)}
    assert await told_by(Address("127.0.0.2", port)) == {("127.0.0.2", port)}


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
async def test_clients_come_by_ipv6(start_node: StartNode) -> None:
    node = await start_node(kafka=KafkaSettings(listen=(Endpoint(Address("::1", 0)),)))
    (here,) = node.addresses["kafka"]
    assert here.host == "::1"
    assert await told_by(here) == {tuple(here)}
    await asyncio.to_thread(send_and_receive, f"[::1]:{here.port}")


async def test_a_client_behind_a_forwarded_port_stays_there(start_node: StartNode) -> None:
    """As behind Docker's port mapping: nothing but the forwarded port is reached."""
    forwarded = await asyncio.start_server(lambda *_: None, "127.0.0.3", 0)
    port: int = forwarded.sockets[0].getsockname()[1]
    forwarded.close()
    outside = Address("127.0.0.3", port)
    node = await start_node(kafka=KafkaSettings(listen=(Endpoint(HERE, outside),)))
    async with forwarding(outside, node.addresses["kafka"][0]) as seen:
        await asyncio.to_thread(send_and_receive, f"{outside.host}:{outside.port}")
        assert len(seen) >= 2, "both clients came by it"


@contextlib.asynccontextmanager
async def forwarding(outside: Address, inside: Address) -> AsyncIterator[list[Address]]:
    """Bytes that come to one address go to the other; who came."""
    seen: list[Address] = []
    pumps: set[asyncio.Task[None]] = set()

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(Address(*writer.get_extra_info("peername")[:2]))
        there, back = await asyncio.open_connection(inside.host, inside.port)
        for one in (pump(reader, back), pump(there, writer)):
            pumps.add(asyncio.create_task(one))

    server = await asyncio.start_server(forward, outside.host, outside.port)
    try:
        yield seen
    finally:
        server.close()
        for each in pumps:
            each.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)


def send_and_receive(bootstrap: str) -> None:
    """One message there and back, by librdkafka."""
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce("orders", b"a body")
    assert producer.flush(LIMIT_S) == 0
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "readers", "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe(["orders"])
        message = consumer.poll(LIMIT_S)
        assert message is not None
        assert message.error() is None
        assert message.value() == b"a body"
    finally:
        consumer.close()
