"""Where a group begins that is new, as its clients say: RocketMQ's Java clients 4.9.8 and 5.3.3 and its Go client,
unmodified. What they say counts in queues that are not young any more, and everywhere where the node is told so.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import uuid4

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from braidmq.protocols.rocketmq.codec import RequestCode
from compat_support import Listening, java_listener
from kafka_support import until
from rocketmq_peer import Peer, connected, eventually
from rocketmq_support import topic_fields
from running_node import RunningNode, WaitFor

QUEUES = 2
QUEUE_IDS = set(range(QUEUES))
LIMIT_S = 60.0

pytestmark = pytest.mark.timeout(300)

Command = Callable[[str, str, Sequence[str]], list[str]]


@pytest.fixture(scope="module", params=["4.9.8", "5.3.3", "go"])
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Command:
    """The command of a program that listens, by name server, topic, and groups with where they begin, behind a time."""
    if request.param == "go":
        go_client = request.getfixturevalue("go_client")
        return lambda name_server, topic, more: [go_client, "listen", name_server, topic, *more]
    request.getfixturevalue("require_tool")("javac", "compiles the program")
    command = java_listener(request.param, request.getfixturevalue("compile_java"), tmp_path_factory.mktemp("home"))
    return lambda name_server, topic, more: [*command, name_server, topic, "side-by-side", *more]


class Kinds(NamedTuple):
    """Two nodes."""

    obedient: RunningNode
    """Where what clients say counts."""
    usual: RunningNode


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory, wait_for: WaitFor) -> Iterator[Kinds]:
    started = []
    for more in (["--set", "rocketmq.new_group_from_start=off"], []):
        folder = tmp_path_factory.mktemp("node")
        arguments = ["--data", str(folder / "data"), "--http", "off", "--kafka", "127.0.0.1:0"]
        arguments += ["--rocketmq", "127.0.0.1:0", "--flush", "interval", *more]
        started.append(RunningNode(folder, arguments, {}, wait_for))
    yield Kinds(*(node.wait_ready() for node in started))
    for node in started:
        node.clean_up()
        assert "Traceback" not in node.err, node.err[-5000:]


class Sender:
    """Sends to a topic of its own."""

    def __init__(self, peer: Peer, topic: str) -> None:
        self._peer = peer
        self.topic = topic

    async def send(self, what: str) -> None:
        """To each queue."""
        for queue in range(QUEUES):
            assert (await self._peer.publish(self.topic, what.encode(), queue_id=queue)).code == 0


@asynccontextmanager
async def sender_at(node: RunningNode, topic: str) -> AsyncIterator[Sender]:
    host, _, port = node.name_server.partition(":")
    peer = await connected(host, int(port))
    try:
        await peer.get(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields(topic, QUEUES))
        yield Sender(peer, topic)
    finally:
        await peer.close()


async def next_second() -> str:
    """The second that has just begun, as clients write it: what was sent before is older."""
    now_s = int(time.time())
    await until(lambda: time.time() >= now_s + 1)
    return datetime.fromtimestamp(now_s + 1, UTC).strftime("%Y%m%d%H%M%S")


def told_apart(got: Sequence[tuple[int, str]]) -> set[str]:
    """The kinds of messages that came of each queue, in order; one where all queues are the same."""
    return {" ".join(dict.fromkeys(body for at, body in got if at == queue)) for queue in QUEUE_IDS}


async def beginnings(client: Command, node: RunningNode, sender: Sender, at: str, *wheres: str) -> dict[str, set[str]]:
    """Start a group for each way to begin, while messages come; what each got."""
    groups = {where: f"{sender.topic}-{where}" for where in wheres}
    said = [at, *(f"{group}={where}" for where, group in groups.items())]
    listening = Listening(client(node.name_server, sender.topic, said))

    def have_all(what: str) -> bool:
        return all(
            {queue for queue, body in listening.got(each) if body == what} == QUEUE_IDS for each in groups.values()
        )

    async def have_begun() -> bool:
        await sender.send("new")
        return have_all("new")

    try:
        await eventually(have_begun, LIMIT_S)
        await sender.send("last")
        await until(lambda: have_all("last"), LIMIT_S)
        return {where: told_apart(listening.got(group)) for where, group in groups.items()}
    finally:
        await asyncio.to_thread(listening.kill)


async def test_a_new_group_begins_where_its_clients_say_where_the_node_lets_them(client: Command, nodes: Kinds) -> None:
    node = nodes.obedient
    async with sender_at(node, f"begin-{uuid4().hex}") as sender:
        await sender.send("old")
        at = await next_second()
        await sender.send("recent")
        assert await beginnings(client, node, sender, at, "FIRST", "LAST", "TIMESTAMP") == {
            "FIRST": {"old recent new last"},
            "LAST": {"new last"},
            "TIMESTAMP": {"recent new last"},
        }


async def test_a_new_group_gets_all_of_a_young_queue_and_begins_where_its_clients_say_in_one_whose_head_is_gone(
    client: Command, nodes: Kinds
) -> None:
    node = nodes.usual
    async with sender_at(node, f"begin-{uuid4().hex}") as sender:
        await sender.send("gone")
        await sender.send("old")
        young = await beginnings(client, node, sender, await next_second(), "LAST")
        assert young == {"LAST": {"gone old new last"}}
    async with sender_at(node, f"begin-{uuid4().hex}") as sender:
        await sender.send("gone")
        await sender.send("old")
        at = await next_second()
        await sender.send("recent")
        heads = [TopicPartition(sender.topic, queue, 1) for queue in range(QUEUES)]
        admin = AdminClient({"bootstrap.servers": node.bootstrap})
        for deleted in admin.delete_records(heads).values():
            assert (await asyncio.to_thread(deleted.result, 10)).low_watermark == 1
        assert await beginnings(client, node, sender, at, "FIRST", "LAST", "TIMESTAMP") == {
            "FIRST": {"old recent new last"},
            "LAST": {"new last"},
            "TIMESTAMP": {"recent new last"},
        }
