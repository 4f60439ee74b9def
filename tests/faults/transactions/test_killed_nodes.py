"""A node is killed at every point of a transaction. Its client does what clients do: connects again, repeats what was
not answered, and goes on. In the end the transaction is whole, or it never was."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from braidmq.core.transactions import ProducerIdentity
from braidmq.protocols.kafka.codec import ErrorCode
from braidmq.protocols.kafka.codec.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from braidmq.protocols.kafka.codec.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from braidmq.protocols.kafka.codec.messages.end_txn import EndTxnRequest
from braidmq.protocols.kafka.codec.messages.fetch import FetchRequest
from braidmq.protocols.kafka.codec.messages.init_producer_id import InitProducerIdRequest
from braidmq.protocols.kafka.codec.messages.offset_fetch import OffsetFetchRequest
from braidmq.protocols.kafka.codec.messages.produce import ProduceRequest
from braidmq.protocols.kafka.codec.messages.txn_offset_commit import TxnOffsetCommitRequest
from braidmq.records import read_records, split_batches
from kafka_support import RawClient
from transaction_support import batch_in

HERE = Path(__file__).parent
START_LIMIT_S = 30.0
PARTITIONS = (0, 1)
OFFSET = 42

BEFORE_THE_DECISION = [
    "beginning_unsaved",
    "beginning_saved",
    "partitions_unsaved",
    "partitions_saved",
    "record_stored",
    "offsets_pending",
    "decision_unsaved",
]
AFTER_THE_DECISION = [
    "decision_saved",
    "partitions_told",
    "offsets_counted",
    "groups_told",
    "end_unsaved",
    "end_saved",
]

StartNode = Callable[[str], Awaitable["MortalNode"]]


class Died(Exception):
    """The node is gone, and did not answer."""


class MortalNode:
    """A process of mortal_node.py."""

    def __init__(self, process: asyncio.subprocess.Process, client: RawClient) -> None:
        self._process = process
        self._client = client

    @classmethod
    async def start(cls, folder: Path, point: str) -> "MortalNode":
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(HERE / "mortal_node.py"),
            str(folder),
            point,
            stdout=asyncio.subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert process.stdout is not None
        async with asyncio.timeout(START_LIMIT_S):
            while not (line := await process.stdout.readline()).startswith(b"port "):
                assert line, "the node ended by itself"
            port = int(line.split()[1])
        return cls(process, RawClient(*await asyncio.open_connection("127.0.0.1", port)))

    async def ask(self, request: Any, version: int) -> Any:
        try:
            return await self._client.ask(request, version)
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise Died from error

    async def end(self) -> None:
        self._client.close()
        if self._process.returncode is None:
            self._process.kill()
        await self._process.communicate()  # only the end of its pipes closes them


@pytest.fixture
async def start_node(tmp_path: Path) -> AsyncIterator[StartNode]:
    nodes: list[MortalNode] = []

    async def start(point: str) -> MortalNode:
        for node in nodes:
            await node.end()
        nodes.append(await MortalNode.start(tmp_path / "data", point))
        return nodes[-1]

    yield start
    for node in nodes:
        await node.end()


class Producer:
    """A client that carries out one transaction, step by step; a step can be repeated."""

    def __init__(self, *, commit: bool) -> None:
        self.identity = ProducerIdentity(-1, -1)
        self.commit = commit

    def steps(self) -> list[Callable[[MortalNode], Awaitable[None]]]:
        return [self.begin, self.add, self.write, self.add_group, self.send_offsets, self.end]

    async def begin(self, node: MortalNode) -> None:
        response = await node.ask(InitProducerIdRequest(transactional_id="tx", transaction_timeout_ms=60_000), 4)
        assert response.error_code == 0
        self.identity = ProducerIdentity(response.producer_id, response.producer_epoch)

    async def add(self, node: MortalNode) -> None:
        topics = [AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name="orders", partitions=list(PARTITIONS))]
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="tx",
            v3_and_below_producer_id=self.identity.id,
            v3_and_below_producer_epoch=self.identity.epoch,
            v3_and_below_topics=topics,
        )
        response = await node.ask(request, 3)
        for result in response.results_by_topic_v3_and_below[0].results_by_partition:
            assert result.partition_error_code == 0

    async def write(self, node: MortalNode) -> None:
        partitions = [
            ProduceRequest.PartitionProduceData(
                index=index, records=bytes(batch_in(self.identity, b"in %d" % index).data)
            )
            for index in PARTITIONS
        ]
        data = ProduceRequest.TopicProduceData(name="orders", partition_data=partitions)
        request = ProduceRequest(transactional_id="tx", acks=-1, timeout_ms=1000, topic_data=[data])
        response = await node.ask(request, 8)
        for result in response.responses[0].partition_responses:
            assert (result.error_code, result.base_offset) == (0, 0), "stored once, however often it was sent"

    async def add_group(self, node: MortalNode) -> None:
        request = AddOffsetsToTxnRequest(
            transactional_id="tx", producer_id=self.identity.id, producer_epoch=self.identity.epoch, group_id="g"
        )
        assert (await node.ask(request, 3)).error_code == 0

    async def send_offsets(self, node: MortalNode) -> None:
        partition = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=OFFSET)
        topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(name="orders", partitions=[partition])
        request = TxnOffsetCommitRequest(
            transactional_id="tx",
            group_id="g",
            producer_id=self.identity.id,
            producer_epoch=self.identity.epoch,
            topics=[topic],
        )
        response = await node.ask(request, 3)
        assert response.topics[0].partitions[0].error_code == 0

    async def end(self, node: MortalNode) -> None:
        request = EndTxnRequest(
            transactional_id="tx",
            producer_id=self.identity.id,
            producer_epoch=self.identity.epoch,
            committed=self.commit,
        )
        assert (await node.ask(request, 3)).error_code == 0


async def committed(node: MortalNode, index: int) -> list[bytes | None]:
    """What a reader of committed records sees, who must get to the end."""
    partition = FetchRequest.FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(
        topics=[FetchRequest.FetchTopic(topic="orders", partitions=[partition])],
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=1 << 20,
        isolation_level=1,
    )
    (found,) = (await node.ask(request, 6)).responses[0].partitions
    assert found.last_stable_offset == found.high_watermark, "something is still open"
    if found.aborted_transactions:
        return []
    return [
        record.value for each in split_batches(found.records) if not each.is_control for record in read_records(each)
    ]


async def committed_offset(node: MortalNode) -> int:
    topics = [OffsetFetchRequest.OffsetFetchRequestTopic(name="orders", partition_indexes=[0])]
    request = OffsetFetchRequest(group_id="g", topics=topics, require_stable=True)
    (found,) = (await node.ask(request, 7)).topics[0].partitions
    assert found.error_code == ErrorCode.NONE, "the offset is still pending"
    return int(found.committed_offset)


async def check(node: MortalNode, *, is_committed: bool) -> None:
    for index in PARTITIONS:
        assert await committed(node, index) == ([b"in %d" % index] if is_committed else [])
    assert await committed_offset(node) == (OFFSET if is_committed else -1)


async def run_into_death(node: MortalNode, producer: Producer) -> list[Callable[[MortalNode], Awaitable[None]]]:
    """The steps that were not answered. The end is saved a while after it was answered: that is waited for."""
    steps = producer.steps()
    try:
        while steps:
            await steps[0](node)
            del steps[0]
        async with asyncio.timeout(START_LIMIT_S):
            await node._process.wait()
    except Died:
        pass
    return steps


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("point", BEFORE_THE_DECISION + AFTER_THE_DECISION)
async def test_a_producer_that_repeats_what_was_not_answered_ends_its_transaction(
    start_node: StartNode, point: str, commit: bool
) -> None:
    producer = Producer(commit=commit)
    left = await run_into_death(await start_node(point), producer)
    node = await start_node("none")
    for step in left:
        await step(node)
    await check(node, is_committed=commit)
    node = await start_node("none")
    await check(node, is_committed=commit)


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("point", BEFORE_THE_DECISION + AFTER_THE_DECISION)
async def test_a_producer_that_does_not_come_back_leaves_nothing_half_done(
    start_node: StartNode, point: str, commit: bool
) -> None:
    await run_into_death(await start_node(point), Producer(commit=commit))
    node = await start_node("none")
    await Producer(commit=True).begin(node)
    await check(node, is_committed=commit and point in AFTER_THE_DECISION)
