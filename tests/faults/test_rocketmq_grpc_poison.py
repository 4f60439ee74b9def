"""A message kills every client that takes it: after its last attempt it is a dead letter, and all goes on."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from braidmq.protocols.rocketmq.codec import RequestCode
from braidmq.protocols.rocketmq.codec.bodies import SubscriptionGroupConfig
from braidmq.protocols.rocketmq_grpc.codes import Code
from rocketmq_grpc_support import GrpcClient, message
from rocketmq_support import RawClient
from running_node import RunningNode, WaitFor

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

VICTIM = Path(__file__).parent / "rocketmq_grpc_victim.py"
GROUP, TOPIC = "victims", "orders"
LETTERS = f"%DLQ%{GROUP}"
ATTEMPTS = 2
LIMIT_S = 150.0


@pytest.fixture
def node(tmp_path: Path, wait_for: WaitFor) -> Iterator[RunningNode]:
    arguments = ["--data", str(tmp_path / "data"), "--http", "off", "--kafka", "off", "--flush", "interval"]
    arguments += ["--rocketmq", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--set", "rocketmq.vip=off"]
    node = RunningNode(tmp_path, [*arguments, "--set", "rocketmq_grpc.auto_create=on"], {}, wait_for).wait_ready()
    yield node
    node.clean_up()
    assert "Traceback" not in node.err, node.err[-5000:]


@contextmanager
def victim(node: RunningNode, said: Path) -> Iterator["subprocess.Popen[bytes]"]:
    with said.open("ab") as out:
        command = [sys.executable, str(VICTIM), node.grpc_address, GROUP, TOPIC]
        with subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL) as process:
            try:
                yield process
            finally:
                process.kill()


async def prepare(node: RunningNode, client: GrpcClient) -> None:
    """A group that tries twice, and three messages of which one is poison."""
    host, _, port = node.name_server.partition(":")
    admin = await RawClient.connect(host, int(port))
    config = SubscriptionGroupConfig(group_name=GROUP, retry_max_times=ATTEMPTS - 1)
    await admin.get(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, config)
    await admin.close()
    for body in (b"one", b"poison", b"two"):
        assert (await client.send(message(TOPIC, body))).status.code == Code.OK


async def letters_of(client: GrpcClient) -> list[bytes]:
    code, found = await client.receive(LETTERS, "undertakers")
    return [each.body for each in found] if code is Code.OK else []


async def test_a_message_that_kills_its_readers_ends_among_the_dead_letters(node: RunningNode, tmp_path: Path) -> None:
    client, said = GrpcClient(node.grpc_address), tmp_path / "said"
    await prepare(node, client)
    deadline, killed, letters = time.monotonic() + LIMIT_S, 0, list[bytes]()
    while not letters and time.monotonic() < deadline:
        with victim(node, said) as process:
            while process.poll() is None and not letters and time.monotonic() < deadline:
                await asyncio.sleep(0.2)
                letters = await letters_of(client)
            killed += process.poll() is not None
    await client.close()
    assert letters == [b"poison"]
    lines = said.read_text().splitlines()
    assert [line for line in lines if "poison" in line] == ["GOT poison 1", "GOT poison 2"]
    assert killed == ATTEMPTS
    assert {"GOT one", "GOT two"} <= {line.rpartition(" ")[0] for line in lines}
