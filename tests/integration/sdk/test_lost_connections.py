"""Connections that break: a repeated send makes no second message, and clients go on when the node is back.

Between client and node stands a relay that lets requests through and loses answers.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from braidmq.sdk import AsyncConsumer, AsyncProducer, AsyncReceived, Producer, Unreachable
from running_node import RunningNode

LIMIT_S = 20.0


@pytest.fixture
def target(node: RunningNode) -> str:
    return node.url


class LossyRelay:
    """Passes bytes on; `lose` answers are cut off before they reach the client."""

    def __init__(self, url: str) -> None:
        self._host, self._port = urlsplit(url).hostname, urlsplit(url).port
        self.lose = 0
        self.lost = 0
        self.url = ""
        self._served: set[asyncio.Task[None]] = set()

    async def end(self) -> None:
        for task in self._served:
            task.cancel()
        await asyncio.gather(*self._served, return_exceptions=True)

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._served.add(asyncio.create_task(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        node_reader, node_writer = await asyncio.open_connection(self._host, self._port)
        forth = asyncio.create_task(_copy(reader, node_writer))
        try:
            while data := await node_reader.read(65536):
                if self.lose > 0:
                    self.lose -= 1
                    self.lost += 1
                    break
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            forth.cancel()
            await asyncio.gather(forth, return_exceptions=True)
            node_writer.close()
            writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


@asynccontextmanager
async def relay_to(node: RunningNode) -> AsyncIterator[LossyRelay]:
    relay = LossyRelay(node.url)
    server = await asyncio.start_server(relay.accept, "127.0.0.1", 0)
    relay.url = "http://{}:{}".format(*server.sockets[0].getsockname())
    try:
        yield relay
    finally:
        server.close()
        await relay.end()


async def test_a_send_whose_answer_was_lost_is_repeated_and_makes_one_message(
    node: RunningNode, topic: str, group: str
) -> None:
    async with relay_to(node) as relay, AsyncProducer(relay.url) as producer:
        relay.lose = 2
        sent = await producer.send(topic, "once")
        relay.lose = 2
        await producer.send_many(topic, ["a", "b"])
        relay.lose = 1
        await (await producer.send_async(topic, "c"))
        assert relay.lost == 5
    async with AsyncConsumer(node.url, group=group, topics=topic, wait_s=0.2) as consumer:
        found = [await consumer.next(5) for _ in range(4)]
        assert await consumer.next(0.5) is None
    assert sorted(message.text for message in found if message) == ["a", "b", "c", "once"]
    assert sent.id in {message.id for message in found if message}


async def test_a_receiver_whose_answer_was_lost_gets_the_same_messages(
    node: RunningNode, topic: str, group: str
) -> None:
    async with AsyncProducer(node.url) as producer:
        await producer.send_many(topic, [f"{nth}" for nth in range(5)])
    async with (
        relay_to(node) as relay,
        AsyncConsumer(relay.url, group=group, topics=topic, invisible_s=3600, with_retries=False) as consumer,
    ):
        relay.lose = 1
        found: list[AsyncReceived] = []
        async with asyncio.timeout(LIMIT_S):
            while len(found) < 5:
                found += await consumer.receive(topic, count_max=10, wait_s=1)
        assert relay.lost == 1
        assert {message.attempt for message in found} == {1}
        await consumer.acknowledge(found)


async def test_clients_go_on_when_the_node_is_back(tmp_path: Path, wait_for: Any, unused_tcp_port: int) -> None:
    topic, url = f"t-{uuid.uuid4().hex[:8]}", f"http://127.0.0.1:{unused_tcp_port}"
    arguments = ["--data", str(tmp_path / "data"), "--http", f"127.0.0.1:{unused_tcp_port}", "--kafka", "off"]
    first = RunningNode(tmp_path, arguments, {}, wait_for)
    second: RunningNode | None = None
    try:
        await asyncio.to_thread(first.wait_ready)
        async with AsyncProducer(url) as producer, AsyncConsumer(url, group="g", topics=topic, wait_s=0.5) as consumer:
            await producer.send(topic, "before")
            message = await consumer.next(10)
            assert message is not None
            await message.ack()
            await asyncio.to_thread(first.stop)
            waiting = asyncio.create_task(producer.send(topic, "after"))
            second = RunningNode(tmp_path, arguments, {}, wait_for)
            await asyncio.to_thread(second.wait_ready)
            assert (await waiting).offset is not None
            again = await consumer.next(LIMIT_S)
            assert again is not None
            assert again.text == "after"
            await again.ack()
    finally:
        for node in (first, second):
            if node is not None:
                node.clean_up()


def test_nobody_there_is_told_after_a_while() -> None:
    with Producer("http://127.0.0.1:1", retry_s=0.3) as producer, pytest.raises(Unreachable, match=r"127\.0\.0\.1:1"):
        producer.send("orders", "x")


@pytest.mark.parametrize("address", ["nowhere", "ftp://x", "http://", "http://x:port"])
def test_what_is_no_address_is_told_at_once(address: str) -> None:
    with pytest.raises(Unreachable, match="no address"):
        Producer(address)
