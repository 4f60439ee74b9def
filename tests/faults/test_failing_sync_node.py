"""A node whose disk fails a sync says so and ends with status 3; the next one serves everything that was acknowledged.

A real `braid up`, written to by a Kafka client; only the one sync is not real.
"""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from running_node import RunningNode, WaitFor

STORAGE_STATUS = 3
PARTITIONS = 4
FIRST_MESSAGES = 200
BODY_BYTES = 2_000
LIMIT_S = 40.0

Launch = Callable[..., RunningNode]


@pytest.fixture
def launch(tmp_path: Path, wait_for: WaitFor) -> Iterator[Launch]:
    nodes: list[RunningNode] = []

    def start(flush: str, program: tuple[str, ...] = ("-m", "braidmq")) -> RunningNode:
        folder = tmp_path / f"process-{len(nodes)}"
        folder.mkdir()
        given = ["--data", str(tmp_path / "data"), "--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0", "--flush", flush]
        given += ["--set", f"topics.partitions={PARTITIONS}", "--set", "log.journal_file_bytes=1MiB"]
        nodes.append(RunningNode(folder, given, {}, wait_for, program=program))
        return nodes[-1]

    yield start
    for node in nodes:
        node.clean_up()


class Sender:
    """Sends numbered messages, and remembers where those are that were acknowledged."""

    def __init__(self, producer: AIOKafkaProducer) -> None:
        self._producer = producer
        self.kept: dict[tuple[int, int], bytes] = {}

    async def send(self) -> None:
        """One to each partition. Raises what the client raises."""
        number = len(self.kept)
        await asyncio.gather(*(self._send(partition, number) for partition in range(PARTITIONS)))

    async def _send(self, partition: int, number: int) -> None:
        body = f"{partition} {number} ".encode().ljust(BODY_BYTES, b".")
        there = await self._producer.send_and_wait("orders", body, partition=partition)
        self.kept[partition, there.offset] = body


async def served(bootstrap: str) -> dict[tuple[int, int], bytes | None]:
    """All that a consumer is given."""
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    async with consumer, asyncio.timeout(LIMIT_S):
        places = [TopicPartition("orders", partition) for partition in range(PARTITIONS)]
        consumer.assign(places)
        missing = sum((await consumer.end_offsets(places)).values())
        found: dict[tuple[int, int], bytes | None] = {}
        while len(found) < missing:
            for place, messages in (await consumer.getmany(timeout_ms=1_000)).items():
                found |= {(place.partition, message.offset): message.value for message in messages}
        return found


@pytest.mark.parametrize(
    ("kind", "flush"),
    [
        ("journal", "commit"),  # acknowledging
        *((kind, flush) for kind in ("segments", "manifest") for flush in ("commit", "interval")),
    ],
)
async def test_a_node_whose_disk_fails_a_sync_ends_and_the_next_serves_all_that_was_acknowledged(
    launch: Launch, tmp_path: Path, kind: str, flush: str
) -> None:
    trigger = tmp_path / "trigger"
    program = (str(Path(__file__).with_name("failing_sync_node.py")), kind, str(trigger))
    node = launch(flush, program).wait_ready()
    producer = AIOKafkaProducer(
        bootstrap_servers=node.bootstrap, acks="all", request_timeout_ms=2_000, retry_backoff_ms=50
    )
    sender = Sender(producer)
    async with producer:
        while len(sender.kept) < FIRST_MESSAGES:
            await sender.send()
        trigger.touch()
        async with asyncio.timeout(LIMIT_S):
            while node.process.poll() is None:
                try:
                    await asyncio.wait_for(sender.send(), 2)
                except (KafkaError, TimeoutError):
                    await asyncio.sleep(0.05)
    assert not trigger.exists(), "the fault was met"
    assert node.process.returncode == STORAGE_STATUS
    assert "storage failed, stopping" in node.err
    assert "braid: the disk failed at " in node.err
    assert "Input/output error" in node.err
    assert "Traceback" not in node.err
    again = launch(flush).wait_ready()
    assert again.get("/readyz").status == 200
    found = await served(again.bootstrap)
    assert len(sender.kept) >= FIRST_MESSAGES
    assert {place: found.get(place) for place in sender.kept} == sender.kept
    again.stop()
    assert again.process.returncode == 0
