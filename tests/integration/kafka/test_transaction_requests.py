"""Transactions over a socket, in every version that is advertised."""

import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from braidmq.core.access import Operation
from braidmq.core.transactions import ProducerIdentity
from braidmq.model import Topic, Transaction
from braidmq.model.errors import StoreFailed
from braidmq.node import Node
from braidmq.protocols.kafka._operations import operations
from braidmq.protocols.kafka.codec import NO_UUID, ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from braidmq.protocols.kafka.codec.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from braidmq.protocols.kafka.codec.messages.api_versions import ApiVersionsRequest
from braidmq.protocols.kafka.codec.messages.describe_producers import DescribeProducersRequest
from braidmq.protocols.kafka.codec.messages.describe_transactions import DescribeTransactionsRequest
from braidmq.protocols.kafka.codec.messages.end_txn import EndTxnRequest
from braidmq.protocols.kafka.codec.messages.fetch import FetchRequest
from braidmq.protocols.kafka.codec.messages.init_producer_id import InitProducerIdRequest
from braidmq.protocols.kafka.codec.messages.list_offsets import ListOffsetsRequest
from braidmq.protocols.kafka.codec.messages.list_transactions import ListTransactionsRequest
from braidmq.protocols.kafka.codec.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from braidmq.protocols.kafka.codec.messages.produce import ProduceRequest
from braidmq.protocols.kafka.codec.messages.txn_offset_commit import TxnOffsetCommitRequest
from braidmq.protocols.kafka.codec.messages.write_txn_markers import WriteTxnMarkersRequest
from braidmq.records import Record, build_batch, read_records, split_batches
from braidmq.store import TransactionRows
from kafka_support import RawClient

Connect = Callable[[], Awaitable[RawClient]]
NOW_MS = time.time_ns() // 1_000_000
NOBODY = ProducerIdentity(-1, -1)


def versions(key: ApiKey) -> range:
    operation: Operation[int, Any] | None = operations.get(key)
    assert operation is not None
    first, last = operation.handler.versions
    return range(first, last + 1)


def last(key: ApiKey) -> int:
    return versions(key)[-1]


def fenced(version: int, since: int) -> ErrorCode:
    """What a zombie is told."""
    return ErrorCode.PRODUCER_FENCED if version >= since else ErrorCode.INVALID_PRODUCER_EPOCH


@pytest.fixture
async def topic(node: Node) -> Topic:
    return await node.topics.create("orders", partitions=2)


@pytest.fixture
async def client(topic: Topic, connect: Connect) -> RawClient:
    return await connect()


def known(node: Node, id: str = "tx") -> Transaction:
    transaction = node.transactions.transaction(id)
    assert transaction is not None
    return transaction


async def begin(
    client: RawClient,
    version: int = last(ApiKey.INIT_PRODUCER_ID),
    *,
    id: str | None = "tx",
    timeout_ms: int = 60_000,
    **given: Any,
) -> Any:
    request = InitProducerIdRequest(transactional_id=id, transaction_timeout_ms=timeout_ms, **given)
    return await client.ask(request, version)


async def producer_of(client: RawClient, id: str | None = "tx") -> ProducerIdentity:
    begun = await begin(client, id=id)
    assert begun.error_code == 0
    return ProducerIdentity(begun.producer_id, begun.producer_epoch)


async def add(
    client: RawClient, producer: ProducerIdentity, *indexes: int, version: int = 3, name: str = "orders", id: str = "tx"
) -> list[int]:
    """The error codes of the partitions."""
    topics = [AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=name, partitions=list(indexes))]
    if version < 4:
        response = await client.ask(
            AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=id,
                v3_and_below_producer_id=producer.id,
                v3_and_below_producer_epoch=producer.epoch,
                v3_and_below_topics=topics,
            ),
            version,
        )
        found = response.results_by_topic_v3_and_below
    else:
        asked = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction(
            transactional_id=id, producer_id=producer.id, producer_epoch=producer.epoch, topics=topics
        )
        response = await client.ask(AddPartitionsToTxnRequest(transactions=[asked]), version)
        assert [each.transactional_id for each in response.results_by_transaction] == [id]
        found = response.results_by_transaction[0].topic_results
    assert [each.name for each in found] == [name]
    assert [each.partition_index for each in found[0].results_by_partition] == list(indexes)
    return [each.partition_error_code for each in found[0].results_by_partition]


def batch(producer: ProducerIdentity, *values: bytes, sequence: int = 0, transactional: bool = True) -> bytes:
    built = build_batch(
        [Record(delta, NOW_MS, None, value) for delta, value in enumerate(values)],
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        base_sequence=sequence,
        transactional=transactional,
    )
    return bytes(built.data)


def produce_request(
    topic: Topic, records: bytes, *, version: int, index: int = 0, id: str | None = "tx"
) -> ProduceRequest:
    partition = ProduceRequest.PartitionProduceData(index=index, records=records)
    by_id = version >= 13
    data = ProduceRequest.TopicProduceData(
        name="" if by_id else topic.name, topic_id=topic.id.bytes if by_id else NO_UUID, partition_data=[partition]
    )
    return ProduceRequest(transactional_id=id, acks=-1, timeout_ms=1000, topic_data=[data])


async def produce(client: RawClient, topic: Topic, records: bytes, version: int = 8, **given: Any) -> Any:
    response = await client.ask(produce_request(topic, records, version=version, **given), version)
    return response.responses[0].partition_responses[0]


async def end(
    client: RawClient, producer: ProducerIdentity, *, commit: bool = True, version: int = 3, id: str = "tx"
) -> Any:
    request = EndTxnRequest(
        transactional_id=id, producer_id=producer.id, producer_epoch=producer.epoch, committed=commit
    )
    return await client.ask(request, version)


def fetch_request(offset: int, index: int = 0, **given: Any) -> FetchRequest:
    partition = FetchRequest.FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20)
    wanted = FetchRequest.FetchTopic(topic="orders", partitions=[partition])
    return FetchRequest(topics=[wanted], **{"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20} | given)


async def committed_values(client: RawClient, index: int = 0) -> list[bytes | None]:
    """What a consumer of committed records makes of the answer, where each producer has aborted once at the most."""
    response = await client.ask(fetch_request(0, index, isolation_level=1), 11)
    (found,) = response.responses[0].partitions
    aborted = {each.producer_id: each.first_offset for each in found.aborted_transactions or ()}
    values: list[bytes | None] = []
    for each in split_batches(found.records):
        if each.is_control:
            aborted.pop(each.producer_id, None)
        elif each.base_offset < aborted.get(each.producer_id, 1 << 62):
            values += [record.value for record in read_records(each)]
    return values


# Beginning.


@pytest.mark.parametrize("version", versions(ApiKey.INIT_PRODUCER_ID))
async def test_every_version_gives_ids_to_producers_without_a_name(client: RawClient, version: int) -> None:
    given = [await begin(client, version, id=None) for _ in range(2)]
    assert [(each.error_code, each.producer_epoch) for each in given] == [(0, 0), (0, 0)]
    assert given[0].producer_id != given[1].producer_id


@pytest.mark.parametrize("version", versions(ApiKey.INIT_PRODUCER_ID))
async def test_every_version_begins_and_begins_again(client: RawClient, version: int) -> None:
    first, second = await begin(client, version), await begin(client, version)
    assert (first.error_code, first.producer_epoch) == (0, 0)
    assert (second.error_code, second.producer_id, second.producer_epoch) == (0, first.producer_id, 1)


@pytest.mark.parametrize("version", versions(ApiKey.INIT_PRODUCER_ID))
async def test_every_version_refuses_a_beginning_that_makes_no_sense(client: RawClient, version: int) -> None:
    nonsense: list[tuple[dict[str, Any], ErrorCode]] = [
        ({"id": ""}, ErrorCode.INVALID_REQUEST),
        ({"timeout_ms": 0}, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ({"timeout_ms": 900_001}, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
    ]
    for given, code in nonsense:
        refused = await begin(client, version, **given)
        assert (refused.error_code, refused.producer_id, refused.producer_epoch) == (code, -1, -1)


@pytest.mark.parametrize("version", [3, 4, 5])
async def test_a_producer_may_say_who_it_was(client: RawClient, version: int) -> None:
    first = await begin(client, version)
    again = await begin(client, version, producer_id=first.producer_id, producer_epoch=0)
    assert (again.producer_id, again.producer_epoch) == (first.producer_id, 1)
    await begin(client, version)
    late = await begin(client, version, producer_id=first.producer_id, producer_epoch=1)
    assert late.error_code == fenced(version, 4)
    half = await begin(client, version, producer_id=first.producer_id)
    assert half.error_code == ErrorCode.INVALID_REQUEST


async def test_readers_of_committed_records_hear_of_no_time_behind_an_open_transaction(
    client: RawClient, topic: Topic
) -> None:
    producer = await producer_of(client)
    await add(client, producer, 0)
    await produce(client, topic, batch(producer, b"open"))

    async def found(at_ms: int, isolation: int) -> int:
        partition = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=at_ms)
        wanted = ListOffsetsRequest.ListOffsetsTopic(name="orders", partitions=[partition])
        response = await client.ask(ListOffsetsRequest(topics=[wanted], isolation_level=isolation), 7)
        return int(response.topics[0].partitions[0].offset)

    for at_ms in (NOW_MS, -3):
        assert (await found(at_ms, 0), await found(at_ms, 1)) == (0, -1)
    assert (await end(client, producer)).error_code == 0
    assert await found(NOW_MS, 1) == 0
    assert await found(-3, 1) == 1, "the marker came last"


# Growing.


@pytest.mark.parametrize("version", versions(ApiKey.ADD_PARTITIONS_TO_TXN))
async def test_every_version_adds_partitions(node: Node, topic: Topic, client: RawClient, version: int) -> None:
    producer = await producer_of(client)
    assert await add(client, producer, 0, 1, version=version) == [0, 0]
    assert known(node).partitions == frozenset(topic.partition_numbers)


@pytest.mark.parametrize("version", versions(ApiKey.ADD_PARTITIONS_TO_TXN))
async def test_every_version_adds_all_partitions_or_none(node: Node, client: RawClient, version: int) -> None:
    producer = await producer_of(client)
    codes = await add(client, producer, 0, 7, version=version)
    assert codes == [ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert await add(client, producer, 0, version=version, name="none") == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert not known(node).partitions


@pytest.mark.parametrize("version", versions(ApiKey.ADD_PARTITIONS_TO_TXN))
async def test_every_version_refuses_the_partitions_of_the_wrong_producer(client: RawClient, version: int) -> None:
    old = await producer_of(client)
    await producer_of(client)
    assert await add(client, old, 0, version=version) == [fenced(version, 2)]
    stranger = ProducerIdentity(old.id + 1, 0)
    assert await add(client, stranger, 0, version=version) == [ErrorCode.INVALID_PRODUCER_ID_MAPPING]
    assert await add(client, old, 0, version=version, id="new") == [ErrorCode.INVALID_PRODUCER_ID_MAPPING]
    assert await add(client, old, 0, version=version, id="") == [ErrorCode.INVALID_REQUEST]


@pytest.mark.parametrize("version", [4, 5])
async def test_brokers_may_only_ask_whether_partitions_were_added(client: RawClient, version: int) -> None:
    producer = await producer_of(client)
    await add(client, producer, 1)
    topics = [AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name="orders", partitions=[0, 1])]
    asked = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction(
        transactional_id="tx", producer_id=producer.id, producer_epoch=0, verify_only=True, topics=topics
    )
    response = await client.ask(AddPartitionsToTxnRequest(transactions=[asked, asked]), version)
    for result in response.results_by_transaction:
        codes = [each.partition_error_code for each in result.topic_results[0].results_by_partition]
        assert codes == [ErrorCode.TRANSACTION_ABORTABLE, 0]


@pytest.mark.parametrize("version", versions(ApiKey.ADD_OFFSETS_TO_TXN))
async def test_every_version_adds_a_group(node: Node, client: RawClient, version: int) -> None:
    producer = await producer_of(client)

    async def ask(epoch: int = 0, id: str = "tx", group: str = "g") -> int:
        request = AddOffsetsToTxnRequest(
            transactional_id=id, producer_id=producer.id, producer_epoch=epoch, group_id=group
        )
        return int((await client.ask(request, version)).error_code)

    assert await ask() == 0
    assert await ask(id="new") == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert await ask(id="") == ErrorCode.INVALID_REQUEST
    assert await ask(group="") == ErrorCode.INVALID_GROUP_ID
    assert await ask(epoch=3) == fenced(version, 2)
    assert known(node).groups == {"g"}


async def commit_offset(
    client: RawClient,
    producer: ProducerIdentity,
    offset: int,
    version: int = 4,
    *,
    metadata: str | None = None,
    **given: Any,
) -> dict[tuple[str, int], int]:
    """The error codes of a partition that is there, and of two that are not."""

    def partition(index: int) -> TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition:
        return TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
            partition_index=index, committed_offset=offset, committed_metadata=metadata
        )

    asked = [
        TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(name="orders", partitions=[partition(0), partition(9)]),
        TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(name="none", partitions=[partition(0)]),
    ]
    request = TxnOffsetCommitRequest(
        transactional_id="tx",
        group_id="g",
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        topics=asked,
        **given,
    )
    response = await client.ask(request, version)
    return {
        (found.name, each.partition_index): each.error_code for found in response.topics for each in found.partitions
    }


@pytest.mark.parametrize("version", versions(ApiKey.TXN_OFFSET_COMMIT))
async def test_every_version_commits_offsets_with_the_transaction(
    node: Node, topic: Topic, client: RawClient, version: int
) -> None:
    producer = await producer_of(client)
    if version < 5:
        early = await commit_offset(client, producer, 5, version)
        expected = ErrorCode.TRANSACTION_ABORTABLE if version >= 4 else ErrorCode.INVALID_TXN_STATE
        assert early["orders", 0] == expected
        await node.transactions.add("tx", producer, groups=["g"])
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    codes = await commit_offset(client, producer, 7, version)
    assert codes == {("orders", 0): 0, ("orders", 9): unknown, ("none", 0): unknown}
    number = topic.partition_numbers[0]
    assert node.groups.has_pending("g", number)
    assert not node.groups.offsets("g")
    assert (await end(client, producer)).error_code == 0
    assert node.groups.offsets("g")[number].offset == 7
    assert not node.groups.has_pending("g", number)


@pytest.mark.parametrize("version", versions(ApiKey.TXN_OFFSET_COMMIT))
async def test_every_version_refuses_the_offsets_of_a_zombie(client: RawClient, version: int) -> None:
    old = await producer_of(client)
    await producer_of(client)
    assert (await commit_offset(client, old, 5, version))["orders", 0] == ErrorCode.INVALID_PRODUCER_EPOCH
    stranger = ProducerIdentity(old.id + 1, 0)
    codes = await commit_offset(client, stranger, 5, version)
    assert codes["orders", 0] == ErrorCode.INVALID_PRODUCER_ID_MAPPING


@pytest.mark.parametrize("version", [3, 4, 5])
async def test_a_member_that_is_not_in_the_group_commits_nothing(node: Node, client: RawClient, version: int) -> None:
    producer = await producer_of(client)
    await node.transactions.add("tx", producer, groups=["g"])
    codes = await commit_offset(client, producer, 5, version, member_id="nobody", generation_id_or_member_epoch=3)
    assert codes["orders", 0] in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION)


async def test_metadata_that_is_too_long_is_refused_for_its_partition(node: Node, client: RawClient) -> None:
    producer = await producer_of(client)
    await node.transactions.add("tx", producer, groups=["g"])
    codes = await commit_offset(client, producer, 5, metadata="x" * 5000)
    assert codes["orders", 0] == ErrorCode.OFFSET_METADATA_TOO_LARGE


# Records.


@pytest.mark.parametrize("version", range(3, last(ApiKey.PRODUCE) + 1))
async def test_every_version_of_produce_stores_what_its_transaction_may(
    topic: Topic, client: RawClient, version: int
) -> None:
    producer = await producer_of(client)
    early = await produce(client, topic, batch(producer, b"a"), version)
    expected = {11: ErrorCode.TRANSACTION_ABORTABLE, 12: 0, 13: 0}.get(version, ErrorCode.INVALID_TXN_STATE)
    assert early.error_code == expected
    assert await add(client, producer, 0) == [0]
    stored = await produce(client, topic, batch(producer, b"a"), version)
    assert (stored.error_code, stored.base_offset) == (0, 0)
    assert await committed_values(client) == []
    assert (await end(client, producer)).error_code == 0
    assert await committed_values(client) == [b"a"]


@pytest.mark.parametrize("version", range(3, last(ApiKey.PRODUCE) + 1))
async def test_every_version_of_produce_refuses_zombies_and_strangers(
    topic: Topic, client: RawClient, version: int
) -> None:
    old = await producer_of(client)
    await add(client, old, 0)
    await producer_of(client)
    late = await produce(client, topic, batch(old, b"late"), version)
    assert late.error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    for stranger in (ProducerIdentity(old.id + 1, 0), NOBODY):
        refused = await produce(client, topic, batch(stranger, b"strange"), version)
        assert refused.error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING


async def test_a_batch_sent_again_after_a_lost_answer_is_stored_once(
    node: Node, topic: Topic, connect: Connect, client: RawClient
) -> None:
    producer = await producer_of(client, None)
    records = batch(producer, b"a", b"b", transactional=False)
    lost = await connect()
    lost.send(produce_request(topic, records, version=8, id=None), 8)
    await lost.receive_frame()
    lost.close()
    for _ in range(2):
        again = await produce(client, topic, records, id=None)
        assert (again.error_code, again.base_offset) == (0, 0)
    assert node.log.bounds(topic.partition_numbers[0]).end == 2
    gap = await produce(client, topic, batch(producer, b"d", sequence=3, transactional=False), id=None)
    assert gap.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


@pytest.mark.parametrize("version", [12, 13])
async def test_many_requests_that_add_their_partition_stay_in_order(
    node: Node, topic: Topic, client: RawClient, version: int
) -> None:
    producer = await producer_of(client)
    for turn in range(5):
        for number in range(20):
            records = batch(producer, b"%d" % number, sequence=number)
            client.send(produce_request(topic, records, version=version, index=turn % 2), version)
        for number in range(20):
            _, response = await client.receive(ApiKey.PRODUCE, version)
            stored = response.responses[0].partition_responses[0]
            assert stored.error_code == 0, (turn, number)
        ended = await end(client, producer, version=5)
        assert (ended.error_code, ended.producer_epoch) == (0, turn + 1)
        producer = ProducerIdentity(ended.producer_id, ended.producer_epoch)
    assert node.log.bounds(topic.partition_numbers[0]).end == 63
    assert await committed_values(client) == [b"%d" % number for _ in range(3) for number in range(20)]


@pytest.mark.parametrize("version", [12, 13])
async def test_what_follows_a_partition_that_could_not_be_added_waits_for_it(
    node: Node, topic: Topic, client: RawClient, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = await producer_of(client)
    failures = [StoreFailed()]
    save = TransactionRows.save

    async def failing_once(self: TransactionRows, transaction: Transaction) -> None:
        if failures:
            raise failures.pop()
        await save(self, transaction)

    monkeypatch.setattr(TransactionRows, "save", failing_once)

    async def send_all() -> list[int]:
        for number in range(3):
            records = batch(producer, b"%d" % number, sequence=number)
            client.send(produce_request(topic, records, version=version), version)
        answers = [await client.receive(ApiKey.PRODUCE, version) for _ in range(3)]
        return [answer.responses[0].partition_responses[0].error_code for _, answer in answers]

    early = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert await send_all() == [ErrorCode.NOT_ENOUGH_REPLICAS, early, early]
    assert await send_all() == [0, 0, 0]
    assert await send_all() == [0, 0, 0], "again, and stored once"
    await end(client, producer, version=5)
    assert await committed_values(client) == [b"0", b"1", b"2"]


async def test_a_database_that_does_not_answer_is_a_reason_to_come_again(
    client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = await producer_of(client)
    await add(client, producer, 0)

    async def failing(*_: object) -> None:
        raise StoreFailed

    with monkeypatch.context() as broken:
        broken.setattr(TransactionRows, "save", failing)
        again = ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert (await begin(client)).error_code == again
        assert await add(client, producer, 1) == [again]
        assert (await end(client, producer)).error_code == again
    assert await add(client, producer, 1) == [0]
    assert (await end(client, producer)).error_code == 0


@pytest.mark.parametrize("version", [12, 13])
async def test_a_request_of_several_producers_is_refused_where_it_would_add(
    topic: Topic, client: RawClient, version: int
) -> None:
    one, two = await producer_of(client), await producer_of(client, "other")
    request = produce_request(topic, batch(one, b"a"), version=version)
    request.topic_data[0].partition_data.append(ProduceRequest.PartitionProduceData(index=1, records=batch(two, b"b")))
    response = await client.ask(request, version)
    codes = [each.error_code for each in response.responses[0].partition_responses]
    assert codes == [ErrorCode.INVALID_REQUEST] * 2


# Ending.


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("version", versions(ApiKey.END_TXN))
async def test_every_version_ends(topic: Topic, client: RawClient, version: int, commit: bool) -> None:
    producer = await producer_of(client)
    await add(client, producer, 0, 1)
    for index in (0, 1):
        await produce(client, topic, batch(producer, b"in %d" % index), index=index)
    for _ in range(2):
        ended = await end(client, producer, commit=commit, version=version)
        assert ended.error_code == 0
        if version >= 5:
            assert (ended.producer_id, ended.producer_epoch) == (producer.id, 1)
    for index in (0, 1):
        assert await committed_values(client, index) == ([b"in %d" % index] if commit else [])
    other = await end(client, producer, commit=not commit, version=version)
    assert other.error_code == ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize("version", versions(ApiKey.END_TXN))
async def test_every_version_refuses_what_cannot_be_ended(client: RawClient, version: int) -> None:
    old = await producer_of(client)
    assert (await end(client, old, version=version)).error_code == ErrorCode.INVALID_TXN_STATE
    await producer_of(client)
    assert (await end(client, old, version=version)).error_code == fenced(version, 2)
    stranger = ProducerIdentity(old.id + 1, 0)
    assert (await end(client, stranger, version=version)).error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert (await end(client, old, version=version, id="")).error_code == ErrorCode.INVALID_REQUEST


# Looking, and operators' ways out.


async def describe_producers(client: RawClient, index: int = 0, name: str = "orders") -> Any:
    asked = DescribeProducersRequest.TopicRequest(name=name, partition_indexes=[index])
    response = await client.ask(DescribeProducersRequest(topics=[asked]), 0)
    return response.topics[0].partitions[0]


async def test_a_partition_is_asked_for_its_producers(topic: Topic, client: RawClient) -> None:
    producer = await producer_of(client)
    await add(client, producer, 0)
    await produce(client, topic, batch(producer, b"a", b"b"))
    (found,) = (await describe_producers(client)).active_producers
    assert (found.producer_id, found.producer_epoch, found.last_sequence) == (*producer, 1)
    assert found.current_txn_start_offset == 0
    assert abs(found.last_timestamp - time.time_ns() // 1_000_000) < 3_600_000
    await end(client, producer)
    (found,) = (await describe_producers(client)).active_producers
    assert found.current_txn_start_offset == -1
    assert (await describe_producers(client, 9)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (await describe_producers(client, name="none")).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_transactional_ids_are_described(client: RawClient) -> None:
    producer = await producer_of(client)
    await add(client, producer, 1, 0)
    response = await client.ask(DescribeTransactionsRequest(transactional_ids=["tx", "none", ""]), 0)
    found, unknown, empty = response.transaction_states
    assert (found.error_code, found.transaction_state, found.transaction_timeout_ms) == (0, "Ongoing", 60_000)
    assert (found.producer_id, found.producer_epoch) == producer
    assert [(each.topic, each.partitions) for each in found.topics] == [("orders", [0, 1])]
    assert found.transaction_start_time_ms > 0
    assert unknown.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert empty.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("version", versions(ApiKey.LIST_TRANSACTIONS))
async def test_every_version_lists_transactional_ids(client: RawClient, version: int) -> None:
    one = await producer_of(client, "one")
    await producer_of(client, "two")
    await add(client, one, 0, id="one")

    async def ids(**given: Any) -> list[tuple[str, str]]:
        response = await client.ask(ListTransactionsRequest(**given), version)
        assert response.error_code == 0
        return sorted((each.transactional_id, each.transaction_state) for each in response.transaction_states)

    assert await ids() == [("one", "Ongoing"), ("two", "Empty")]
    assert await ids(state_filters=["Ongoing"]) == [("one", "Ongoing")]
    assert await ids(state_filters=["Dead"]) == []
    assert await ids(producer_id_filters=[one.id]) == [("one", "Ongoing")]
    response = await client.ask(ListTransactionsRequest(state_filters=["Odd", "Empty"]), version)
    assert response.unknown_state_filters == ["Odd"]
    if version >= 1:
        assert await ids(duration_filter=3_600_000, state_filters=["Ongoing"]) == []
    if version >= 2:
        assert await ids(transactional_id_pattern="t.*") == [("two", "Empty")]
        assert await ids(transactional_id_pattern="t") == []
        assert len(await ids(transactional_id_pattern="")) == 2
        response = await client.ask(ListTransactionsRequest(transactional_id_pattern="("), version)
        assert response.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


@pytest.mark.parametrize("version", versions(ApiKey.WRITE_TXN_MARKERS))
async def test_every_version_of_write_txn_markers_ends_what_hangs(
    node: Node, topic: Topic, client: RawClient, version: int
) -> None:
    producer = await producer_of(client)
    await add(client, producer, 0)
    await produce(client, topic, batch(producer, b"a"))
    wanted = [
        WriteTxnMarkersRequest.WritableTxnMarkerTopic(name="orders", partition_indexes=[0, 9]),
        WriteTxnMarkersRequest.WritableTxnMarkerTopic(name="none", partition_indexes=[0]),
    ]
    marker = WriteTxnMarkersRequest.WritableTxnMarker(
        producer_id=producer.id, producer_epoch=producer.epoch, transaction_result=False, topics=wanted
    )
    response = await client.ask(WriteTxnMarkersRequest(markers=[marker]), version)
    (result,) = response.markers
    assert result.producer_id == producer.id
    codes = [[each.error_code for each in found.partitions] for found in result.topics]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == [[0, unknown], [unknown]]
    bounds = node.log.bounds(topic.partition_numbers[0])
    assert bounds.stable == bounds.end == 2
    assert await committed_values(client) == []


@pytest.mark.parametrize("version", versions(ApiKey.API_VERSIONS))
async def test_the_newer_way_of_transactions_is_announced(client: RawClient, version: int) -> None:
    request = ApiVersionsRequest(client_software_name="raw", client_software_version="1") if version >= 3 else None
    response = await client.ask(request or ApiVersionsRequest(), version)
    finalized = {each.name: each.max_version_level for each in response.finalized_features}
    supported = {each.name: (each.min_version, each.max_version) for each in response.supported_features}
    assert finalized.get("transaction.version") == (2 if version >= 3 else None)
    assert supported.get("transaction.version") == {3: (1, 2), 4: (0, 2)}.get(version)


# What else reads around transactions.


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_FOR_LEADER_EPOCH))
async def test_every_version_finds_the_end_of_the_only_epoch(topic: Topic, client: RawClient, version: int) -> None:
    await produce(client, topic, batch(NOBODY, b"a", b"b", sequence=-1, transactional=False), id=None)

    async def ask(name: str = "orders", leader_epoch: int = 0, current: int = -1) -> tuple[int, int, int]:
        wanted = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(
            partition=0, leader_epoch=leader_epoch, current_leader_epoch=current
        )
        asked = OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=name, partitions=[wanted])
        response = await client.ask(OffsetForLeaderEpochRequest(topics=[asked]), version)
        (found,) = response.topics[0].partitions
        return found.error_code, found.leader_epoch, found.end_offset

    assert await ask() == (0, 0, 2)
    assert await ask(current=0) == (0, 0, 2)
    assert await ask(leader_epoch=5) == (0, -1, -1)
    assert await ask(current=1) == (ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1)
    assert await ask("none") == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)


@pytest.mark.parametrize("version", versions(ApiKey.LIST_OFFSETS))
async def test_the_latest_time_is_found_by_versions_that_know_of_it(
    topic: Topic, client: RawClient, version: int
) -> None:
    asked = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=-3)
    request = ListOffsetsRequest(topics=[ListOffsetsRequest.ListOffsetsTopic(name="orders", partitions=[asked])])

    async def ask() -> Any:
        return (await client.ask(request, version)).topics[0].partitions[0]

    if version < 7:
        assert (await ask()).error_code == ErrorCode.UNSUPPORTED_VERSION
        return
    empty = await ask()
    assert (empty.error_code, empty.offset, empty.timestamp) == (0, -1, -1)
    times = [NOW_MS, NOW_MS + 9, NOW_MS + 5]
    records = build_batch([Record(offset, at_ms, None, b"v") for offset, at_ms in enumerate(times)])
    await produce(client, topic, bytes(records.data), id=None)
    found = await ask()
    assert (found.offset, found.timestamp, found.leader_epoch) == (1, NOW_MS + 9, 0)


@pytest.mark.parametrize("version", range(4))
async def test_old_clients_read_on_behind_the_ends_of_transactions(
    topic: Topic, client: RawClient, version: int
) -> None:
    from aiokafka.record.memory_records import MemoryRecords

    producer = await producer_of(client)
    for sequence in range(2):
        await add(client, producer, 0)
        await produce(client, topic, batch(producer, b"%d" % sequence, sequence=sequence))
        await end(client, producer)

    async def fetch(offset: int) -> list[tuple[int, bytes | None]]:
        response = await client.ask(fetch_request(offset), version)
        (found,) = response.responses[0].partitions
        assert found.error_code == 0
        reader = MemoryRecords(bytes(found.records))
        seen = []
        while (each := reader.next_batch()) is not None:
            seen += [(record.offset, record.value) for record in each]
        return seen

    assert await fetch(0) == [(0, b"0"), (2, b"1")]
    assert await fetch(1) == [(2, b"1")]
    assert await fetch(3) == []
    await add(client, producer, 0)
    await produce(client, topic, batch(producer, b"2", sequence=2))
    assert await fetch(3) == [(4, b"2")]
