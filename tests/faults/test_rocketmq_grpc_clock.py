"""The time of day jumps while messages are with RocketMQ 5 clients: their deadlines are those that were promised."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from braidmq.node import Node
from braidmq.protocols.rocketmq_grpc.codes import ClientType, Code
from braidmq.settings import RocketMQGrpcSettings
from inside_node import FREE, nodes_on
from rocketmq_grpc_support import GrpcClient, consumer_settings, message, resource, span

HOUR_S = 3600
INVISIBLE_S = 2.0
LATE_S = 3.0
"""More than a loaded machine needs, and far less than any of the jumps."""
JUMPS = pytest.mark.parametrize("jump_s", [HOUR_S, -HOUR_S, 72 * HOUR_S], ids=["forwards", "backwards", "three days"])

Jump = Callable[[int], None]


@pytest.fixture
def jump(monkeypatch: pytest.MonkeyPatch) -> Jump:
    """Sets the time of day as the node sees it; gRPC's client, whose deadlines are by `time.time`, is spared."""
    real_ns, moved = time.time_ns, [0]
    monkeypatch.setattr(time, "time_ns", lambda: real_ns() + moved[0])

    def jump(by_s: int) -> None:
        moved[0] += by_s * 1_000_000_000

    return jump


@pytest.fixture
async def node(tmp_path: Path, jump: Jump) -> AsyncIterator[Node]:
    grpc_settings = RocketMQGrpcSettings(listen=FREE, auto_create="on")
    async with nodes_on(tmp_path, rocketmq_grpc=grpc_settings) as start:
        yield await start()


@pytest.fixture
async def client(node: Node) -> AsyncIterator[GrpcClient]:
    client = GrpcClient(str(node.addresses["rocketmq_grpc"][0]))
    yield client
    await client.close()


async def held(client: GrpcClient, body: bytes, invisible_s: float) -> tuple[str, float]:
    """A message that is with its receiver for so long: its handle, and since when at the latest."""
    assert (await client.send(message("orders", body))).status.code == Code.OK
    _, (given,) = await client.receive("orders", "readers", wait_ms=5_000)
    changed = await client.call(
        "ChangeInvisibleDuration",
        group=resource("readers"),
        topic=resource("orders"),
        receipt_handle=given.system_properties.receipt_handle,
        invisible_duration=span(int(invisible_s * 1000)),
    )
    assert changed.status.code == Code.OK
    return changed.receipt_handle, time.monotonic()


@JUMPS
async def test_a_message_comes_again_at_its_deadline_wherever_the_clock_goes(
    client: GrpcClient, jump: Jump, jump_s: int
) -> None:
    _, since_s = await held(client, b"again", INVISIBLE_S)
    jump(jump_s)
    _, given = await client.receive("orders", "readers", wait_ms=20_000, timeout_s=25)
    passed_s = time.monotonic() - since_s
    assert [each.body for each in given] == [b"again"]
    assert INVISIBLE_S - 0.5 < passed_s < INVISIBLE_S + LATE_S


@JUMPS
async def test_a_handle_stays_good_until_its_deadline_wherever_the_clock_goes(
    client: GrpcClient, jump: Jump, jump_s: int
) -> None:
    handle, _ = await held(client, b"held", 60.0)
    jump(jump_s)
    assert (await client.receive("orders", "readers", wait_ms=300))[1] == []
    assert (await client.acknowledge("orders", "readers", handle)).status.code == Code.OK


@JUMPS
async def test_a_push_consumer_keeps_its_place_and_its_messages_wherever_the_clock_goes(
    node: Node, client: GrpcClient, jump: Jump, jump_s: int
) -> None:
    async with client.introduced(consumer_settings("readers", "orders", kind=ClientType.PUSH_CONSUMER)):
        await client.send(message("orders", b"long work"))
        _, (given,) = await client.receive("orders", "readers", wait_ms=5_000, auto_renew=True)
        jump(jump_s)
        node.members.expire()
        assert [member.id for member in node.members.consumers("readers")] == [client.id]
        assert (await client.receive("orders", "readers", wait_ms=300, auto_renew=True))[1] == []
        handle = given.system_properties.receipt_handle
        assert (await client.acknowledge("orders", "readers", handle)).status.code == Code.OK


@JUMPS
async def test_a_waiting_receiver_is_woken_by_a_new_message_wherever_the_clock_goes(
    node: Node, client: GrpcClient, jump: Jump, jump_s: int
) -> None:
    topic = await node.topics.create("orders", partitions=2)
    waiting = asyncio.create_task(client.receive("orders", "readers", wait_ms=15_000, timeout_s=20))
    async with asyncio.timeout(10):
        while not node.cursors.waiting("readers", topic):  # noqa: ASYNC110 - it is the node that changes
            await asyncio.sleep(0.01)
    jump(jump_s)
    began_s = time.monotonic()
    await client.send(message("orders", b"new"))
    assert [each.body for each in (await waiting)[1]] == [b"new"]
    assert time.monotonic() - began_s < LATE_S
