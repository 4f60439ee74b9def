"""Kafka, by aiokafka."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from braidmq.cli._errors import NodeRefused, Unreachable
from braidmq.cli._peers import Sending


class KafkaPeer:
    """A producer, and a consumer once something is read."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._producer: Any = AIOKafkaProducer(bootstrap_servers=place, acks="all", linger_ms=0, client_id="braid")
        self._consumer: Any = None

    @classmethod
    async def connect(cls, place: str) -> "KafkaPeer":
        peer = cls(place)
        try:
            await peer._producer.start()
        except KafkaError as error:
            await peer._producer.stop()
            raise Unreachable(f"no Kafka broker answers at {place}: {error}") from error
        return peer

    async def send(self, topic: str, messages: Sequence[Sending]) -> None:
        """The producer makes batches of them."""
        try:
            under_way = [
                await self._producer.send(topic, each.body, key=each.key.encode() or None, headers=_headers(each))
                for each in messages
            ]
            await asyncio.gather(*under_way)
        except KafkaError as error:
            raise NodeRefused(f"Kafka: {error}") from error

    async def read(self, topic: str, partitions: int, *, earliest: bool) -> AsyncIterator[list[bytes]]:
        """Without a group."""
        self._consumer = AIOKafkaConsumer(bootstrap_servers=self._place, enable_auto_commit=False, client_id="braid")
        await self._consumer.start()
        assigned = [TopicPartition(topic, index) for index in range(partitions)]
        self._consumer.assign(assigned)
        await (self._consumer.seek_to_beginning if earliest else self._consumer.seek_to_end)(*assigned)
        for each in assigned:
            await self._consumer.position(each)  # the seek is done where the position is known
        yield []
        while True:
            batches = await self._consumer.getmany(timeout_ms=1000)
            yield [record.value or b"" for records in batches.values() for record in records]

    async def close(self) -> None:
        await self._producer.stop()
        if self._consumer is not None:
            await self._consumer.stop()


def _headers(message: Sending) -> list[tuple[str, bytes]]:
    found = dict(message.headers) | ({"TAGS": message.tag} if message.tag else {})
    if message.key:
        found["KEYS"] = message.key
    return [(name, value.encode()) for name, value in found.items()]
