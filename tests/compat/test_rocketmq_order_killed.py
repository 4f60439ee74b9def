"""A member of a group that consumes in order is killed: RocketMQ's Java clients, each in a process of its own."""

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from braidmq.protocols.rocketmq.codec import RequestCode
from compat_support import Listening, java_listener
from kafka_support import until
from rocketmq_peer import Peer, connected
from rocketmq_support import topic_fields
from running_node import RunningNode, WaitFor

TOPIC, GROUP = "steps", "walkers"
QUEUES = 4
TAKEN_OVER_S = 60.0
START_S = 90.0

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

Steps = Mapping[int, list[int]]


@pytest.fixture
def node(tmp_path: Path, wait_for: WaitFor) -> Iterator[RunningNode]:
    arguments = ["--data", str(tmp_path / "data"), "--http", "off", "--kafka", "off", "--rocketmq", "127.0.0.1:0"]
    node = RunningNode(tmp_path, arguments, {}, wait_for).wait_ready()
    yield node
    node.clean_up()
    assert "Traceback" not in node.err, node.err[-5000:]


async def send_steps(peer: Peer, is_over: asyncio.Event) -> None:
    """Numbers one after the other, the same ones to each queue."""
    for step in itertools.count():
        if is_over.is_set():
            return
        for queue in range(QUEUES):
            assert (await peer.publish(TOPIC, b"%d" % step, queue_id=queue)).code == 0
        await asyncio.sleep(0.05)


def steps_of(member: Listening) -> Steps:
    got = member.got(GROUP)
    return {queue: [int(body) for at, body in got if at == queue] for queue in range(QUEUES)}


def queues_of(member: Listening) -> set[int]:
    return {queue for queue, steps in steps_of(member).items() if steps}


@pytest.mark.parametrize("version", ["4.9.8", "5.3.3"])
async def test_the_queues_of_a_member_that_was_killed_are_taken_over_in_order_and_within_a_minute(
    node: RunningNode,
    version: str,
    require_tool: Callable[[str, str], object],
    compile_java: Callable[[str, str], str],
    tmp_path: Path,
) -> None:
    require_tool("javac", "compiles the program")
    command = java_listener(version, compile_java, tmp_path)
    command += [node.name_server, TOPIC, "in-order", "20200101000000", f"{GROUP}=FIRST"]
    host, _, port = node.name_server.partition(":")
    peer = await connected(host, int(port))
    await peer.get(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields(TOPIC, QUEUES))
    members, is_over = [Listening(command)], asyncio.Event()
    sending = asyncio.create_task(send_steps(peer, is_over))
    try:
        survivor = members[0]
        await until(lambda: len(queues_of(survivor)) == QUEUES, START_S)
        members.append(victim := Listening(command))
        await until(lambda: len(queues_of(victim)) == QUEUES // 2, START_S)
        await asyncio.to_thread(victim.kill)
        killed_s = time.monotonic()
        held, before = steps_of(victim), steps_of(survivor)
        shares = queues_of(victim)

        def has_taken_over() -> bool:
            now = steps_of(survivor)
            return all(len(now[queue]) > len(before[queue]) and now[queue][-1] > held[queue][-1] for queue in shares)

        await until(has_taken_over, 2 * TAKEN_OVER_S)
        assert time.monotonic() - killed_s < TAKEN_OVER_S
        found = steps_of(survivor)
    finally:
        is_over.set()
        for member in members:
            await asyncio.to_thread(member.kill)
        await sending
        await peer.close()
    for queue, steps in found.items():
        if queue not in shares:
            assert steps == list(range(len(steps))), "whose member lives is not disturbed"
            continue
        own = before[queue]
        check_in_order([own, held[queue], steps[len(own) :]])


def check_in_order(hands: list[list[int]]) -> None:
    """From hand to hand nothing is left out, and only what the last hand had not acknowledged comes again."""
    end = 0
    for steps in hands:
        assert steps == list(range(steps[0], steps[0] + len(steps))), "each in order, and once"
        assert steps[0] <= end
        end = steps[-1] + 1
    assert hands[-1][0] >= hands[1][0]
