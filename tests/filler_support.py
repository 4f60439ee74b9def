"""How tests of the console's pages fill a node: through the HTTP interface and with a real Kafka client."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
from confluent_kafka import Consumer

from console_support import Api
from rocketmq_support import RawClient
from running_node import RunningNode, WaitFor


class Filler(Api):
    """Makes topics, messages and groups on a running node."""

    def topic(self, name: str, *, messages: int = 0, partitions: int = 2, **more: Any) -> str:
        self.post("/topics", {"name": name, "partitions": partitions, **more})
        if messages:
            self.fill(name, messages)
        return name

    def fill(self, topic: str, count: int = 1, **message: Any) -> None:
        bodies = [{"body": f"message {nth}", **message} for nth in range(count)]
        self.post(f"/topics/{topic}/messages", {"messages": bodies})

    def group(self, name: str, topic: str) -> str:
        """One that has all of the topic's messages before it."""
        self.post(f"/groups/{name}/offsets/reset", {"to": "earliest", "topics": [topic]})
        return name

    def committed(self, group: str) -> dict[tuple[str, int], int | None]:
        offsets = self.get(f"/groups/{group}/offsets")
        return {(each["topic"], each["partition"]): each["committed"] for each in offsets}

    @contextlib.contextmanager
    def sending(self, topic: str) -> Iterator[None]:
        """A producer that goes on until the block ends."""
        over = threading.Event()

        def produce() -> None:
            with httpx.Client(base_url=self.client.base_url, timeout=30) as client:
                while not over.wait(0.02):
                    client.post(f"/topics/{topic}/messages", json={"body": "on and on", "tag": "paid"})

        thread = threading.Thread(target=produce)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


@contextlib.contextmanager
def kafka_member(node: RunningNode, group: str, topic: str, wait_for: WaitFor) -> Iterator[None]:
    """A live member of a Kafka group that was assigned something."""
    consumer = Consumer(
        {
            "bootstrap.servers": node.bootstrap,
            "group.id": group,
            "client.id": f"{group}-client",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([topic])

    def is_assigned() -> bool:
        consumer.poll(0.1)
        return bool(consumer.assignment())

    try:
        wait_for(is_assigned, 30)
        yield
    finally:
        consumer.close()


@contextlib.contextmanager
def rocketmq_members(node: RunningNode, group: str, topic: str, wishes: Mapping[str, str]) -> Iterator[None]:
    """Live members of a RocketMQ group, by their names, each with the tags that it wants of the topic."""
    host, _, port = node.name_server.rpartition(":")
    ready, over = threading.Event(), threading.Event()

    async def live() -> None:
        clients = [await RawClient.connect(host, int(port)) for _ in wishes]
        for client, (name, tags) in zip(clients, wishes.items(), strict=True):
            await client.beat(name, group=group, topics={topic: tags})
        ready.set()
        await asyncio.to_thread(over.wait)
        for client in clients:
            await client.close()

    thread = threading.Thread(target=asyncio.run, args=(live(),))
    thread.start()
    try:
        assert ready.wait(20)
        yield
    finally:
        over.set()
        thread.join()
