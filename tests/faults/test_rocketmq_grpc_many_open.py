"""A group holds very many messages that it does not acknowledge: memory stays in bounds, and a kill loses none of them.

The messages come in by Kafka, because that is fast. They are taken as push consumers do: each is its receiver's while
the receiver's stream lives, so that none comes again by itself before the node is killed.
"""

import asyncio
import logging
import random
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import confluent_kafka
import psutil
import pytest

from braidmq.core.cursors._cursor import Cursor
from braidmq.protocols.rocketmq_grpc.codes import ClientType, Code
from braidmq.store import CursorRows, Store
from rocketmq_grpc_support import GrpcClient, consumer_settings
from running_node import RunningNode, WaitFor

pytestmark = pytest.mark.timeout(3_000)

TOPIC, GROUP = "orders", "readers"
RECEIVERS = 8
ACKNOWLEDGED_TOGETHER = 1_000
BYTES_EACH_MAX = 600
"""How much memory of the node an open message may take, all things that know of it together."""
BYTES_MORE_MAX = 150 << 20
"""What the node takes for its work whatever is open: batches that are read, requests, changes on their way to disk."""
START_LIMIT_S = 60.0
"""A million messages that are open are read from the store before the node is ready."""
RECEIVE_LIMIT_S = 1_200.0
ANSWER_LIMIT_S = 30.0

_logger = logging.getLogger(__name__)

Handles = dict[tuple[int, int], str]
"""Of messages by their place: what they are acknowledged by."""


def start(folder: Path, wait_for: WaitFor) -> RunningNode:
    arguments = ["--data", str(folder / "data"), "--http", "off", "--kafka", "127.0.0.1:0", "--flush", "interval"]
    arguments += ["--grpc", "127.0.0.1:0", "--set", "cursors.open_max=2000000"]
    arguments += ["--set", "rocketmq_grpc.auto_create=on", "--set", "topics.partitions=8"]
    node = RunningNode(folder, arguments, {}, wait_for)
    began = time.monotonic()
    wait_for(lambda: node.ready_file.exists() or node.process.poll() is not None, START_LIMIT_S)
    _logger.info("ready after %.1f s", time.monotonic() - began)
    return node.wait_ready()


def fill(node: RunningNode, count: int) -> None:
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": node.bootstrap, "linger.ms": 20, "queue.buffering.max.messages": 200_000}
    )
    for number in range(count):
        while True:
            try:
                producer.produce(TOPIC, b"%d" % number)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(300) == 0


@asynccontextmanager
async def consumer(node: RunningNode) -> AsyncIterator[GrpcClient]:
    """A push consumer, as far as the node can tell."""
    client = GrpcClient(node.grpc_address, "holder")
    async with client.introduced(consumer_settings(GROUP, TOPIC, kind=ClientType.PUSH_CONSUMER)):
        yield client
    await client.close()


async def take(client: GrpcClient, count: int, attempt: int) -> Handles:
    """So many messages, each once, at this attempt."""
    handles: Handles = {}
    began_s = 0.0

    async def receive() -> None:
        nonlocal began_s
        while len(handles) < count:
            _, given = await client.receive(TOPIC, GROUP, wait_ms=1_000, timeout_s=ANSWER_LIMIT_S, auto_renew=True)
            began_s = began_s if handles else time.monotonic()
            for each in given:
                place = (each.system_properties.queue_id, each.system_properties.queue_offset)
                assert place not in handles, f"{place} came twice"
                assert each.system_properties.delivery_attempt == attempt
                handles[place] = each.system_properties.receipt_handle

    async with asyncio.timeout(RECEIVE_LIMIT_S), asyncio.TaskGroup() as receivers:
        for _ in range(RECEIVERS):
            receivers.create_task(receive())
    _logger.info("%d messages, %.0f in a second", count, count / (time.monotonic() - began_s))
    return handles


async def acknowledge(client: GrpcClient, handles: Handles) -> None:
    """All of them, in no order."""
    shuffled = list(handles.values())
    random.Random(7).shuffle(shuffled)
    for first in range(0, len(shuffled), ACKNOWLEDGED_TOGETHER):
        answer = await client.acknowledge(TOPIC, GROUP, *shuffled[first : first + ACKNOWLEDGED_TOGETHER])
        assert answer.status.code == Code.OK


def memory_bytes(node: RunningNode) -> int:
    return int(psutil.Process(node.process.pid).memory_info().rss)


async def kept(folder: Path, count: int) -> None:
    """Until the node's store knows of all that were given out: they are kept a moment later."""
    store = await Store.open(f"sqlite:///{folder / 'data' / 'store.sqlite'}")
    try:
        async with asyncio.timeout(120):
            while await given_out(store) < count:  # noqa: ASYNC110 - another process writes it
                await asyncio.sleep(0.2)
    finally:
        await store.close()


async def given_out(store: Store) -> int:
    rows = await CursorRows(store).load()
    cursors = [Cursor.restored(changes, renewal_ms=0) for changes in rows.values()]
    return sum(cursor.out_count for cursor in cursors)


@pytest.mark.slow
@pytest.mark.parametrize("count", [20_000, 1_000_000])
async def test_messages_that_a_group_holds_outlive_a_kill_and_come_again_once(
    tmp_path: Path, wait_for: WaitFor, count: int
) -> None:
    node = start(tmp_path, wait_for)
    try:
        await asyncio.to_thread(fill, node, count)
        before_bytes = memory_bytes(node)
        async with consumer(node) as client:
            first = await take(client, count, attempt=1)
            held_bytes = memory_bytes(node) - before_bytes
            _logger.info("%d bytes for each", held_bytes / count)
            assert held_bytes < count * BYTES_EACH_MAX + BYTES_MORE_MAX
            await kept(tmp_path, count)
            node.stop(signal.SIGKILL)
        node.clean_up()
        node = start(tmp_path, wait_for)
        async with consumer(node) as client:
            again = await take(client, count, attempt=2)
            assert again.keys() == first.keys()
            assert memory_bytes(node) < before_bytes + count * BYTES_EACH_MAX + BYTES_MORE_MAX
            await acknowledge(client, again)
            _, more = await client.receive(TOPIC, GROUP, wait_ms=1_000, auto_renew=True)
            assert more == []
    finally:
        node.clean_up()
