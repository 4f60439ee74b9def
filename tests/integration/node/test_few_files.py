"""A node that may open few files: clients beyond them are refused, the log always has those that it needs."""

import contextlib
import re
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from running_node import RunningNode

Launch = Callable[..., Any]
WaitFor = Callable[..., None]

FILES_ALLOWED = 256
CLIENTS = 400
PARTITIONS = 40
LISTENERS = ("http", "kafka", "rocketmq", "rocketmq_grpc")


@contextlib.contextmanager
def crowd(places: list[tuple[str, int]], count: int) -> Iterator[list[socket.socket]]:
    """Clients that connect, and say nothing."""
    with contextlib.ExitStack() as stack:
        (host, port), *_ = places
        yield [stack.enter_context(socket.create_connection((host, port))) for _ in range(count)]


def refused(client: socket.socket) -> bool:
    """Whether the node has closed the connection."""
    client.setblocking(False)
    try:
        return client.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def is_ready(node: RunningNode) -> bool:
    """Until the node has noticed that the crowd is gone, nobody else comes in."""
    try:
        return node.get("/readyz").status == 200
    except OSError:
        return False


@pytest.mark.parametrize("listener", LISTENERS)
async def test_a_crowd_of_clients_leaves_the_log_its_files(launch: Launch, wait_for: WaitFor, listener: str) -> None:
    on = ("--rocketmq", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--set", f"topics.partitions={PARTITIONS}")
    node = launch(*on, open_files_max=FILES_ALLOWED).wait_ready()
    assert "few open files are allowed" in node.err
    assert "LimitNOFILE=" in node.err
    # Who is there before the crowd stays, and writes to files that are not open yet.
    async with AIOKafkaProducer(bootstrap_servers=node.bootstrap) as producer:
        await producer.send_and_wait("orders", b"first", partition=0)
        with crowd(node.ready["listeners"][listener], CLIENTS) as clients:
            wait_for(lambda: sum(map(refused, clients)) >= CLIENTS - FILES_ALLOWED)
            for partition in range(PARTITIONS):
                await producer.send_and_wait("orders", b"x" * 1000, partition=partition)
        wait_for(lambda: is_ready(node))
    assert "a client was refused" in node.err
    assert "storage failed" not in node.err
    async with AIOKafkaConsumer(bootstrap_servers=node.bootstrap, auto_offset_reset="earliest") as consumer:
        places = [TopicPartition("orders", partition) for partition in range(PARTITIONS)]
        consumer.assign(places)
        ends = await consumer.end_offsets(places)
    assert sum(ends.values()) == PARTITIONS + 1
    node.stop()
    assert node.process.returncode == 0


@pytest.mark.parametrize("listener", ["kafka", "rocketmq", "rocketmq_grpc"])
def test_a_crowd_beyond_what_is_allowed_is_refused_in_few_lines(
    launch: Launch, wait_for: WaitFor, listener: str
) -> None:
    on = ("--rocketmq", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--set", f"{listener}.connections_max=3")
    node = launch(*on).wait_ready()
    with crowd(node.ready["listeners"][listener], 200) as clients:
        wait_for(lambda: sum(map(refused, clients)) >= 197)
    node.stop()
    lines = [line for line in node.err.splitlines() if "too many connections" in line]
    assert 1 <= len(lines) <= 3, lines
    assert all(f"{listener}.connections_max" in line for line in lines)
    assert sum(int(re.findall(r"refused=(\d+)", line)[0]) for line in lines) == 197
