"""The node, the places of partitions, and what a node without accounts says, in every advertised version."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from braidmq.model import Message
from braidmq.node import Node
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from braidmq.protocols.kafka.codec.messages.create_acls import CreateAclsRequest
from braidmq.protocols.kafka.codec.messages.delete_acls import DeleteAclsRequest
from braidmq.protocols.kafka.codec.messages.describe_acls import DescribeAclsRequest
from braidmq.protocols.kafka.codec.messages.describe_cluster import DescribeClusterRequest
from braidmq.protocols.kafka.codec.messages.describe_log_dirs import DescribeLogDirsRequest
from braidmq.protocols.kafka.codec.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from braidmq.protocols.kafka.codec.messages.elect_leaders import ElectLeadersRequest
from braidmq.protocols.kafka.codec.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from braidmq.protocols.kafka.codec.messages.sasl_authenticate import SaslAuthenticateRequest
from braidmq.protocols.kafka.codec.messages.sasl_handshake import SaslHandshakeRequest
from braidmq.records import batch_messages
from kafka_support import RawClient, every_version, topic_of

Connect = Callable[[], Awaitable[RawClient]]
NODE_ID = 1
TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


@pytest.fixture
async def client(node: Node, connect: Connect) -> RawClient:
    await node.topics.create("orders", partitions=2)
    return await connect()


async def fill(node: Node, count: int, name: str = "orders", index: int = 0) -> None:
    number = topic_of(node, name).partition_numbers[index]
    for _ in range(count):
        await node.log.append([(number, batch_messages([Message(body=b"x" * 100)]))])


@every_version(ApiKey.DESCRIBE_CLUSTER)
async def test_every_version_describes_the_cluster(node: Node, client: RawClient, version: int) -> None:
    response = await client.ask(DescribeClusterRequest(include_cluster_authorized_operations=True), version)
    address = node.addresses["kafka"][0]
    assert (response.cluster_id, response.controller_id) == (node.cluster_id, NODE_ID)
    assert [(each.broker_id, each.host, each.port) for each in response.brokers] == [
        (NODE_ID, address.host, address.port)
    ]
    assert response.cluster_authorized_operations > 0
    plain = await client.ask(DescribeClusterRequest(), version)
    assert plain.cluster_authorized_operations == -(1 << 31)
    if version >= 1:
        refused = await client.ask(DescribeClusterRequest(endpoint_type=2), version)
        assert refused.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE


async def describe_partitions(
    client: RawClient, *names: str, limit: int = 2000, cursor: tuple[str, int] | None = None
) -> Any:
    request = DescribeTopicPartitionsRequest(
        topics=[DescribeTopicPartitionsRequest.TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=None
        if cursor is None
        else DescribeTopicPartitionsRequest.Cursor(topic_name=cursor[0], partition_index=cursor[1]),
    )
    return await client.ask(request, 0)


async def test_topics_are_described_with_their_partitions(node: Node, client: RawClient) -> None:
    response = await describe_partitions(client, "orders", "nosuch", "bad name")
    invalid, unknown, orders = response.topics
    assert (invalid.name, invalid.error_code) == ("bad name", ErrorCode.INVALID_TOPIC_EXCEPTION)
    assert (unknown.name, unknown.error_code) == ("nosuch", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert (orders.name, orders.topic_id, orders.error_code) == ("orders", topic_of(node).id.bytes, 0)
    assert [(each.partition_index, each.leader_id, each.isr_nodes) for each in orders.partitions] == [
        (0, NODE_ID, [NODE_ID]),
        (1, NODE_ID, [NODE_ID]),
    ]
    assert response.next_cursor is None


@pytest.mark.parametrize("names", [(), ("c", "a", "orders", "b", "nosuch")])
async def test_topics_are_described_in_pieces(node: Node, client: RawClient, names: tuple[str, ...]) -> None:
    for name in ("a", "b", "c"):
        await node.topics.create(name, partitions=5)
    seen: list[tuple[str, int]] = []
    cursor = None
    for _ in range(20):
        response = await describe_partitions(client, *names, limit=3, cursor=cursor)
        pieces = [(topic.name, each.partition_index) for topic in response.topics for each in topic.partitions]
        assert len(pieces) <= 3
        seen += pieces
        if response.next_cursor is None:
            break
        cursor = (response.next_cursor.topic_name, response.next_cursor.partition_index)
    assert seen == [(name, index) for name in "abc" for index in range(5)] + [("orders", 0), ("orders", 1)]


async def test_a_cursor_that_points_behind_everything_ends_the_description(client: RawClient) -> None:
    response = await describe_partitions(client, "orders", cursor=("orders", 99))
    assert [topic.partitions for topic in response.topics] == [[]]
    assert (await describe_partitions(client, "orders", cursor=("z", 0))).topics == []


@every_version(ApiKey.DESCRIBE_LOG_DIRS)
async def test_every_version_describes_the_folder(node: Node, client: RawClient, version: int) -> None:
    await fill(node, 3)
    response = await client.ask(DescribeLogDirsRequest(topics=None), version)
    (folder,) = response.results
    assert folder.log_dir == str((node.settings.node.data / "log").absolute())
    sizes = {
        (topic.name, each.partition_index): each.partition_size for topic in folder.topics for each in topic.partitions
    }
    first, second = topic_of(node).partition_numbers
    assert sizes == {("orders", 0): node.log.size_bytes(first), ("orders", 1): node.log.size_bytes(second)}
    assert sizes["orders", 0] > 300
    if version >= 4:
        assert folder.total_bytes >= folder.usable_bytes > 0
    asked = [
        DescribeLogDirsRequest.DescribableLogDirTopic(topic="orders", partitions=[1, 9]),
        DescribeLogDirsRequest.DescribableLogDirTopic(topic="nosuch", partitions=[0]),
    ]
    (folder,) = (await client.ask(DescribeLogDirsRequest(topics=asked), version)).results
    assert [(topic.name, [each.partition_index for each in topic.partitions]) for topic in folder.topics] == [
        ("orders", [1])
    ]


@every_version(ApiKey.ELECT_LEADERS)
async def test_every_version_has_nothing_to_elect(client: RawClient, version: int) -> None:
    asked = [
        ElectLeadersRequest.TopicPartitions(topic="orders", partitions=[0, 9]),
        ElectLeadersRequest.TopicPartitions(topic="nosuch", partitions=[0]),
    ]
    response = await client.ask(ElectLeadersRequest(topic_partitions=asked), version)
    codes = [[each.error_code for each in result.partition_result] for result in response.replica_election_results]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == [[ErrorCode.ELECTION_NOT_NEEDED, unknown], [unknown]]
    assert (await client.ask(ElectLeadersRequest(topic_partitions=None), version)).replica_election_results == []
    if version >= 1:
        refused = await client.ask(ElectLeadersRequest(election_type=5, topic_partitions=None), version)
        assert refused.error_code == ErrorCode.INVALID_REQUEST


@every_version(ApiKey.LIST_PARTITION_REASSIGNMENTS)
async def test_no_partition_is_on_its_way(client: RawClient, version: int) -> None:
    response = await client.ask(ListPartitionReassignmentsRequest(), version)
    assert (response.error_code, response.topics) == (0, [])


@every_version(ApiKey.ALTER_PARTITION_REASSIGNMENTS)
async def test_partitions_stay_where_they_are(client: RawClient, version: int) -> None:
    partitions = [
        AlterPartitionReassignmentsRequest.ReassignablePartition(partition_index=index, replicas=replicas)
        for index, replicas in ((0, [NODE_ID]), (0, [2]), (0, [NODE_ID, 2]), (1, None), (9, [NODE_ID]))
    ]
    asked = AlterPartitionReassignmentsRequest.ReassignableTopic(name="orders", partitions=partitions)
    response = await client.ask(AlterPartitionReassignmentsRequest(topics=[asked]), version)
    assert [each.error_code for each in response.responses[0].partitions] == [
        0,
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]


# What a node without accounts says.


@every_version(ApiKey.DESCRIBE_ACLS)
async def test_permissions_are_not_described(client: RawClient, version: int) -> None:
    response = await client.ask(DescribeAclsRequest(resource_type_filter=1, operation=1, permission_type=1), version)
    assert (response.error_code, response.resources) == (ErrorCode.SECURITY_DISABLED, [])
    assert "accounts" in response.error_message


@every_version(ApiKey.CREATE_ACLS)
async def test_permissions_are_not_given(client: RawClient, version: int) -> None:
    response = await client.ask(CreateAclsRequest(creations=[CreateAclsRequest.AclCreation()] * 2), version)
    assert [each.error_code for each in response.results] == [ErrorCode.SECURITY_DISABLED] * 2


@every_version(ApiKey.DELETE_ACLS)
async def test_permissions_are_not_taken(client: RawClient, version: int) -> None:
    response = await client.ask(DeleteAclsRequest(filters=[DeleteAclsRequest.DeleteAclsFilter()]), version)
    assert [each.error_code for each in response.filter_results] == [ErrorCode.SECURITY_DISABLED]


@every_version(ApiKey.SASL_HANDSHAKE)
async def test_nobody_logs_in(client: RawClient, version: int) -> None:
    response = await client.ask(SaslHandshakeRequest(mechanism="PLAIN"), version)
    assert (response.error_code, response.mechanisms) == (ErrorCode.ILLEGAL_SASL_STATE, [])


@every_version(ApiKey.SASL_AUTHENTICATE)
async def test_nobody_logs_in_by_going_on_either(client: RawClient, version: int) -> None:
    response = await client.ask(SaslAuthenticateRequest(auth_bytes=b"\0user\0password"), version)
    assert (response.error_code, response.auth_bytes) == (ErrorCode.ILLEGAL_SASL_STATE, b"")
