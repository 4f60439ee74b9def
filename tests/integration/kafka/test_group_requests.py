"""Groups over a socket, in every version that is advertised."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from braidmq.core.access import Operation
from braidmq.core.groups import MemberIdentity
from braidmq.log import GroupOffset
from braidmq.model import Topic
from braidmq.node import Node
from braidmq.protocols.kafka._operations import operations
from braidmq.protocols.kafka.codec import NO_UUID, ApiKey, ErrorCode, encode_message
from braidmq.protocols.kafka.codec.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from braidmq.protocols.kafka.codec.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from braidmq.protocols.kafka.codec.messages.consumer_protocol import ConsumerProtocolSubscription
from braidmq.protocols.kafka.codec.messages.delete_groups import DeleteGroupsRequest
from braidmq.protocols.kafka.codec.messages.describe_groups import DescribeGroupsRequest
from braidmq.protocols.kafka.codec.messages.find_coordinator import FindCoordinatorRequest
from braidmq.protocols.kafka.codec.messages.heartbeat import HeartbeatRequest
from braidmq.protocols.kafka.codec.messages.join_group import JoinGroupRequest
from braidmq.protocols.kafka.codec.messages.leave_group import LeaveGroupRequest
from braidmq.protocols.kafka.codec.messages.list_groups import ListGroupsRequest
from braidmq.protocols.kafka.codec.messages.offset_commit import OffsetCommitRequest
from braidmq.protocols.kafka.codec.messages.offset_delete import OffsetDeleteRequest
from braidmq.protocols.kafka.codec.messages.offset_fetch import OffsetFetchRequest
from braidmq.protocols.kafka.codec.messages.sync_group import SyncGroupRequest
from kafka_support import RawClient

Connect = Callable[[], Awaitable[RawClient]]
SUBSCRIPTION = b"\0\1" + encode_message(ConsumerProtocolSubscription(topics=["orders"], user_data=b""), 1)


def versions(key: ApiKey) -> range:
    operation: Operation[int, Any] | None = operations.get(key)
    assert operation is not None
    first, last = operation.handler.versions
    return range(first, last + 1)


def last(key: ApiKey) -> int:
    return versions(key)[-1]


@pytest.fixture
async def topic(node: Node) -> Topic:
    return await node.topics.create("orders", partitions=2)


@pytest.fixture
async def client(topic: Topic, connect: Connect) -> RawClient:
    return await connect()


def join_request(
    member_id: str = "", *, version: int, instance_id: str | None = None, **given: Any
) -> JoinGroupRequest:
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=SUBSCRIPTION)
    request = JoinGroupRequest(
        group_id="g", session_timeout_ms=10_000, member_id=member_id, protocol_type="consumer", protocols=[protocol]
    )
    if version >= 1:
        request.rebalance_timeout_ms = 60_000
    if version >= 5:
        request.group_instance_id = instance_id
    for name, value in given.items():
        setattr(request, name, value)
    return request


async def join(client: RawClient, version: int = last(ApiKey.JOIN_GROUP), **given: Any) -> Any:
    """In as many steps as the version takes."""
    response = await client.ask(join_request(version=version, **given), version)
    if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
        response = await client.ask(join_request(response.member_id, version=version, **given), version)
    return response


async def stable_member(client: RawClient, **given: Any) -> MemberIdentity:
    joined = await join(client, **given)
    assert joined.error_code == 0
    shares = [SyncGroupRequest.SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"share")]
    synced = await client.ask(
        SyncGroupRequest(
            group_id="g", generation_id=joined.generation_id, member_id=joined.member_id, assignments=shares
        ),
        3,
    )
    assert synced.error_code == 0
    return MemberIdentity(joined.member_id, joined.generation_id)


# Finding.


@pytest.mark.parametrize("version", versions(ApiKey.FIND_COORDINATOR))
@pytest.mark.parametrize("key_type", [0, 1])
async def test_this_node_coordinates_everything(node: Node, client: RawClient, version: int, key_type: int) -> None:
    request = FindCoordinatorRequest()
    if version >= 1:
        request.key_type = key_type
    if version >= 4:
        request.coordinator_keys = ["a", "b", ""]
        response = await client.ask(request, version)
        found = response.coordinators
        assert [each.key for each in found] == ["a", "b", ""]
    else:
        request.key = "a"
        found = [await client.ask(request, version)]
    here = (node.settings.kafka.node_id, *node.addresses["kafka"][0])
    assert {(each.node_id, each.host, each.port) for each in found} == {here}
    assert {each.error_code for each in found} == {0}


@pytest.mark.parametrize("version", [1, 3, 4, 6])
async def test_share_groups_have_no_coordinator(client: RawClient, version: int) -> None:
    request = FindCoordinatorRequest(key_type=2)
    if version >= 4:
        request.coordinator_keys = ["a"]
        response = (await client.ask(request, version)).coordinators[0]
    else:
        request.key = "a"
        response = await client.ask(request, version)
    assert (response.error_code, response.node_id) == (ErrorCode.INVALID_REQUEST, -1)


# Members.


@pytest.mark.parametrize("version", versions(ApiKey.JOIN_GROUP))
async def test_every_version_joins(client: RawClient, version: int) -> None:
    joined = await join(client, version)
    assert (joined.error_code, joined.generation_id, joined.protocol_name) == (0, 1, "range")
    assert joined.leader == joined.member_id
    assert [(each.member_id, each.metadata) for each in joined.members] == [(joined.member_id, SUBSCRIPTION)]
    assert joined.member_id.startswith("raw-")
    assert joined.protocol_type == ("consumer" if version >= 7 else None)


@pytest.mark.parametrize("version", range(4, 10))
async def test_the_first_answer_only_gives_an_id(client: RawClient, version: int) -> None:
    response = await client.ask(join_request(version=version), version)
    assert response.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert response.member_id.startswith("raw-")
    assert response.generation_id == -1


@pytest.mark.parametrize("version", range(5, 10))
async def test_an_instance_joins_in_one_step_and_returns_without_a_new_generation(
    client: RawClient, version: int
) -> None:
    joined = await client.ask(join_request(version=version, instance_id="i"), version)
    assert (joined.error_code, joined.generation_id) == (0, 1)
    assert [each.group_instance_id for each in joined.members] == ["i"]
    await client.ask(
        SyncGroupRequest(group_id="g", generation_id=1, member_id=joined.member_id, group_instance_id="i"), 3
    )
    again = await client.ask(join_request(version=version, instance_id="i"), version)
    assert (again.error_code, again.generation_id) == (0, 1)
    assert again.skip_assignment == (version == 9)
    fenced = await client.ask(
        HeartbeatRequest(group_id="g", generation_id=1, member_id=joined.member_id, group_instance_id="i"), 4
    )
    assert fenced.error_code == ErrorCode.FENCED_INSTANCE_ID


@pytest.mark.parametrize("version", versions(ApiKey.JOIN_GROUP))
async def test_every_version_of_join_tells_errors(client: RawClient, version: int) -> None:
    for given, code in (
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"session_timeout_ms": 5_999}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": 1_800_001}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"member_id": "stranger"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"protocols": []}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": ""}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ):
        response = await client.ask(join_request(version=version, **given), version)
        assert response.error_code == code
        assert response.member_id == given.get("member_id", "")
        assert response.protocol_name == (None if version >= 7 else "")


@pytest.mark.parametrize("version", versions(ApiKey.SYNC_GROUP))
async def test_every_version_brings_and_gets_assignments(client: RawClient, version: int) -> None:
    joined = await join(client)
    shares = [SyncGroupRequest.SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"share")]
    request = SyncGroupRequest(
        group_id="g", generation_id=joined.generation_id, member_id=joined.member_id, assignments=shares
    )
    if version >= 5:
        request.protocol_type, request.protocol_name = "consumer", "range"
    synced = await client.ask(request, version)
    assert (synced.error_code, synced.assignment) == (0, b"share")
    if version >= 5:
        assert (synced.protocol_type, synced.protocol_name) == ("consumer", "range")
        request.protocol_name = "other"
        assert (await client.ask(request, version)).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        request.protocol_name = "range"
    request.generation_id += 1
    assert (await client.ask(request, version)).error_code == ErrorCode.ILLEGAL_GENERATION
    request.member_id = "stranger"
    assert (await client.ask(request, version)).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    request.group_id = ""
    assert (await client.ask(request, version)).error_code == ErrorCode.INVALID_GROUP_ID


@pytest.mark.parametrize("version", versions(ApiKey.HEARTBEAT))
async def test_every_version_of_heartbeat(client: RawClient, version: int) -> None:
    member = await stable_member(client)
    request = HeartbeatRequest(group_id="g", generation_id=member.generation, member_id=member.member_id)
    assert (await client.ask(request, version)).error_code == 0
    request.generation_id += 1
    assert (await client.ask(request, version)).error_code == ErrorCode.ILLEGAL_GENERATION
    request.member_id = "stranger"
    assert (await client.ask(request, version)).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    request.group_id = ""
    assert (await client.ask(request, version)).error_code == ErrorCode.INVALID_GROUP_ID


async def test_a_waiting_join_does_not_keep_other_connections_waiting(client: RawClient, connect: Connect) -> None:
    member = await stable_member(client)
    other = await connect()
    asked = await other.ask(join_request(version=9), 9)
    other.send(join_request(asked.member_id, version=9), 9)
    beat = HeartbeatRequest(group_id="g", generation_id=member.generation, member_id=member.member_id)
    async with asyncio.timeout(5):
        while (await client.ask(beat, 4)).error_code != ErrorCode.REBALANCE_IN_PROGRESS:
            pass
    again = await client.ask(join_request(member.member_id, version=9), 9)
    _, joined = await other.receive(ApiKey.JOIN_GROUP, 9)
    assert again.generation_id == joined.generation_id == 2
    assert (len(again.members), len(joined.members)) == (2, 0)


@pytest.mark.parametrize("version", versions(ApiKey.LEAVE_GROUP))
async def test_every_version_leaves(client: RawClient, version: int) -> None:
    member = await stable_member(client)

    def request(group: str, *ids: str) -> LeaveGroupRequest:
        if version < 3:
            return LeaveGroupRequest(group_id=group, member_id=ids[0])
        return LeaveGroupRequest(
            group_id=group, members=[LeaveGroupRequest.MemberIdentity(member_id=each) for each in ids]
        )

    async def codes(group: str, *ids: str) -> list[int]:
        response = await client.ask(request(group, *ids), version)
        return [response.error_code, *(each.error_code for each in response.members)]

    unknown = int(ErrorCode.UNKNOWN_MEMBER_ID)
    assert await codes("", "m") == [ErrorCode.INVALID_GROUP_ID]
    assert await codes("none", "m") == ([unknown] if version < 3 else [0, unknown])
    if version < 3:
        assert await codes("g", "stranger") == [unknown]
        assert await codes("g", member.member_id) == [0]
    else:
        assert await codes("g", "stranger", member.member_id) == [0, unknown, 0]
    described = await client.ask(DescribeGroupsRequest(groups=["g"]), 5)
    assert described.groups[0].group_state == "Empty"


# Offsets.


def commit_request(
    topic: Topic, version: int, member: MemberIdentity | None = None, **given: Any
) -> OffsetCommitRequest:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(
        partition_index=given.get("index", 1),
        committed_offset=given.get("offset", 42),
        committed_metadata=given.get("metadata", "text é"),
    )
    if version >= 6:
        partition.committed_leader_epoch = 0
    asked = OffsetCommitRequest.OffsetCommitRequestTopic(partitions=[partition])
    if version >= 10:
        asked.topic_id = given.get("topic_id", topic.id.bytes)
    else:
        asked.name = given.get("name", topic.name)
    request = OffsetCommitRequest(group_id=given.get("group", "g"), topics=[asked])
    if version >= 1 and member is not None:
        request.member_id, request.generation_id_or_member_epoch = member.member_id, member.generation
    return request


async def commit_code(client: RawClient, topic: Topic, version: int, *rest: Any, **given: Any) -> int:
    response = await client.ask(commit_request(topic, version, *rest, **given), version)
    (answered,) = response.topics
    (partition,) = answered.partitions
    assert answered.name == (given.get("name", topic.name) if version < 10 else "")
    code: int = partition.error_code
    return code


def fetch_request(topics: list[Topic] | None, version: int, group: str = "g") -> OffsetFetchRequest:
    if version < 8:
        wanted = OffsetFetchRequest.OffsetFetchRequestTopic
        named = None if topics is None else [wanted(name=each.name, partition_indexes=[0, 1, 7]) for each in topics]
        return OffsetFetchRequest(group_id=group, topics=named)
    many = None
    if topics is not None:
        many = [
            OffsetFetchRequest.OffsetFetchRequestTopics(
                name=each.name if version < 10 else "",
                topic_id=each.id.bytes if version >= 10 else NO_UUID,
                partition_indexes=[0, 1, 7],
            )
            for each in topics
        ]
    asked = OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group, topics=many)
    return OffsetFetchRequest(groups=[asked, asked])


async def fetched(client: RawClient, topics: list[Topic] | None, version: int, **given: Any) -> dict[int, Any]:
    request = fetch_request(topics, version, **{name: value for name, value in given.items() if name == "group"})
    if "require_stable" in given:
        request.require_stable = given["require_stable"]
    response = await client.ask(request, version)
    if version >= 8:
        assert [group.error_code for group in response.groups] == [0, 0]
        response = response.groups[1]
    return {
        each.partition_index: (each.committed_offset, each.metadata, each.error_code)
        for answered in response.topics
        for each in answered.partitions
    }


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_COMMIT))
async def test_every_version_commits(client: RawClient, topic: Topic, node: Node, version: int) -> None:
    assert await commit_code(client, topic, version) == 0
    kept = node.groups.offsets("g")[topic.partition_numbers[1]]
    assert (kept.offset, kept.metadata, kept.leader_epoch) == (42, "text é", 0 if version >= 6 else -1)
    assert kept.committed_ms > 0


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_COMMIT))
async def test_every_version_of_commit_tells_what_is_wrong_with_a_partition(
    client: RawClient, topic: Topic, version: int
) -> None:
    assert await commit_code(client, topic, version, metadata="x" * 4097) == ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert await commit_code(client, topic, version, metadata=None) == 0
    assert await commit_code(client, topic, version, index=2) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await commit_code(client, topic, version, index=-1) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if version >= 10:
        assert await commit_code(client, topic, version, topic_id=b"\7" * 16) == ErrorCode.UNKNOWN_TOPIC_ID
    else:
        assert await commit_code(client, topic, version, name="none") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await commit_code(client, topic, version, group="") == 0, (
        "Kafka takes this from old consumers without a group"
    )


@pytest.mark.parametrize("version", range(1, 11))
async def test_every_version_of_commit_knows_members(client: RawClient, topic: Topic, version: int) -> None:
    missing = ErrorCode.GROUP_ID_NOT_FOUND if version >= 9 else ErrorCode.ILLEGAL_GENERATION
    assert await commit_code(client, topic, version, MemberIdentity("m", 1)) == missing
    member = await stable_member(client)
    assert await commit_code(client, topic, version, member) == 0
    stale = member._replace(generation=member.generation + 1)
    assert await commit_code(client, topic, version, stale) == ErrorCode.ILLEGAL_GENERATION
    stranger = member._replace(member_id="stranger")
    assert await commit_code(client, topic, version, stranger) == ErrorCode.UNKNOWN_MEMBER_ID
    assert await commit_code(client, topic, version) == ErrorCode.UNKNOWN_MEMBER_ID


async def test_version_1_of_commit_brings_its_own_time(client: RawClient, topic: Topic, node: Node) -> None:
    request = commit_request(topic, 1)
    request.topics[0].partitions[0].commit_timestamp = 1234
    await client.ask(request, 1)
    assert node.groups.offsets("g")[topic.partition_numbers[1]].committed_ms == 1234


async def test_one_bad_partition_does_not_spoil_the_others(client: RawClient, topic: Topic, node: Node) -> None:
    request = commit_request(topic, 9)
    request.topics[0].partitions += commit_request(topic, 9, index=9).topics[0].partitions
    response = await client.ask(request, 9)
    codes = [each.error_code for each in response.topics[0].partitions]
    assert codes == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert set(node.groups.offsets("g")) == {topic.partition_numbers[1]}


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_FETCH))
async def test_every_version_fetches(client: RawClient, topic: Topic, version: int) -> None:
    await commit_code(client, topic, 7)
    found = await fetched(client, [topic], version)
    absent = (-1, "", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if version == 0 else 0)
    assert found == {0: absent, 1: (42, "text é", 0), 7: absent}
    assert await fetched(client, [topic], version, group="none") == {0: absent, 1: absent, 7: absent}


@pytest.mark.parametrize("version", range(2, 11))
async def test_every_version_from_2_on_fetches_all(client: RawClient, topic: Topic, node: Node, version: int) -> None:
    assert await fetched(client, None, version) == {}
    await commit_code(client, topic, 7)
    other = await node.topics.create("other", partitions=1)
    await node.groups.commit("g", None, {other.partition_numbers[0]: GroupOffset(3)})
    assert await fetched(client, None, version) == {0: (3, "", 0), 1: (42, "text é", 0)}
    await node.topics.delete(other)
    assert await fetched(client, None, version) == {1: (42, "text é", 0)}


async def test_a_topic_that_is_made_again_has_no_offsets(client: RawClient, topic: Topic, node: Node) -> None:
    await commit_code(client, topic, 7)
    await node.topics.delete(topic)
    again = await node.topics.create("orders", partitions=2)
    assert (await fetched(client, [again], 9))[1] == (-1, "", 0)


async def test_a_topic_that_is_not_there_has_no_offsets(client: RawClient, topic: Topic, node: Node) -> None:
    await node.topics.delete(topic)
    assert set((await fetched(client, [topic], 9)).values()) == {(-1, "", 0)}
    assert set((await fetched(client, [topic], 10)).values()) == {(-1, "", ErrorCode.UNKNOWN_TOPIC_ID)}


@pytest.mark.parametrize("version", range(7, 11))
async def test_who_requires_stable_offsets_waits_for_transactions(
    client: RawClient, topic: Topic, node: Node, version: int
) -> None:
    await commit_code(client, topic, 7)
    number = topic.partition_numbers[1]
    await node.groups.commit_in_transaction("g", 5, None, {number: GroupOffset(50)})
    assert (await fetched(client, [topic], version, require_stable=True))[1] == (
        -1,
        "",
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
    )
    assert (await fetched(client, None, version, require_stable=True))[1][2] == ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert (await fetched(client, [topic], version))[1][0] == 42
    await node.groups.end_transaction(5, commit=True)
    assert (await fetched(client, [topic], version, require_stable=True))[1] == (50, "", 0)


# Administration.


@pytest.mark.parametrize("version", versions(ApiKey.DESCRIBE_GROUPS))
async def test_every_version_describes(client: RawClient, topic: Topic, node: Node, version: int) -> None:
    member = await stable_member(client)
    await node.groups.commit("simple", None, {topic.partition_numbers[0]: GroupOffset(1)})
    request = DescribeGroupsRequest(groups=["g", "simple", "none"])
    if version >= 3:
        request.include_authorized_operations = True
    stable, simple, missing = (await client.ask(request, version)).groups
    assert (stable.group_state, stable.protocol_type, stable.protocol_data) == ("Stable", "consumer", "range")
    (shown,) = stable.members
    assert (shown.member_id, shown.client_id, shown.client_host) == (member.member_id, "raw", "/127.0.0.1")
    assert (shown.member_metadata, shown.member_assignment) == (SUBSCRIPTION, b"share")
    assert (simple.group_state, simple.protocol_type, simple.members) == ("Empty", "", [])
    assert missing.group_state == "Dead"
    assert missing.error_code == (ErrorCode.GROUP_ID_NOT_FOUND if version >= 6 else 0)
    if version >= 3:
        assert stable.authorized_operations > 0


@pytest.mark.parametrize("version", versions(ApiKey.LIST_GROUPS))
async def test_every_version_lists(client: RawClient, topic: Topic, node: Node, version: int) -> None:
    await stable_member(client)
    await node.groups.commit("simple", None, {topic.partition_numbers[0]: GroupOffset(1)})

    async def listed(**filters: list[str]) -> set[tuple[str, ...]]:
        response = await client.ask(ListGroupsRequest(**filters), version)
        return {(each.group_id, each.protocol_type, each.group_state, each.group_type) for each in response.groups}

    kind = "classic" if version >= 5 else ""
    g = ("g", "consumer", "Stable" if version >= 4 else "", kind)
    simple = ("simple", "", "Empty" if version >= 4 else "", kind)
    assert await listed() == {g, simple}
    if version >= 4:
        assert await listed(states_filter=["stable", "Dead"]) == {g}
        assert await listed(states_filter=["Empty"]) == {simple}
        assert await listed(states_filter=["Nonsense"]) == set()
    if version >= 5:
        assert await listed(types_filter=["Classic"]) == {g, simple}
        assert await listed(types_filter=["consumer"]) == set()


@pytest.mark.parametrize("version", versions(ApiKey.DELETE_GROUPS))
async def test_every_version_deletes(client: RawClient, topic: Topic, node: Node, version: int) -> None:
    await stable_member(client)
    await node.groups.commit("simple", None, {topic.partition_numbers[0]: GroupOffset(1)})
    response = await client.ask(DeleteGroupsRequest(groups_names=["g", "simple", "none"]), version)
    assert {each.group_id: each.error_code for each in response.results} == {
        "g": ErrorCode.NON_EMPTY_GROUP,
        "simple": 0,
        "none": ErrorCode.GROUP_ID_NOT_FOUND,
    }
    assert [view.name for view in node.groups.all()] == ["g"]


def delete_request(group: str, *places: tuple[str, int]) -> OffsetDeleteRequest:
    partition = OffsetDeleteRequest.OffsetDeleteRequestPartition
    return OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequest.OffsetDeleteRequestTopic(name=name, partitions=[partition(partition_index=index)])
            for name, index in places
        ],
    )


async def test_offsets_are_deleted_where_members_do_not_read(client: RawClient, topic: Topic, node: Node) -> None:
    member = await stable_member(client)
    other = await node.topics.create("other", partitions=1)
    await node.groups.commit("g", member, {other.partition_numbers[0]: GroupOffset(3)})
    await commit_code(client, topic, 7, member)
    response = await client.ask(delete_request("g", ("orders", 1), ("other", 0), ("none", 0), ("other", 9)), 0)
    codes = [each.error_code for answered in response.topics for each in answered.partitions]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (response.error_code, codes) == (0, [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, 0, unknown, unknown])
    assert set(node.groups.offsets("g")) == {topic.partition_numbers[1]}
    missing = await client.ask(delete_request("none", ("orders", 0)), 0)
    assert (missing.error_code, missing.topics) == (ErrorCode.GROUP_ID_NOT_FOUND, [])


# Groups that we assign to.


def pulse_request(topic: Topic, member_id: str = "m", epoch: int = 0, **given: Any) -> ConsumerGroupHeartbeatRequest:
    request = ConsumerGroupHeartbeatRequest(group_id="g", member_id=member_id, member_epoch=epoch)
    if epoch == 0:
        request.rebalance_timeout_ms = 60_000
        request.subscribed_topic_names = [topic.name]
        request.topic_partitions = []
    for name, value in given.items():
        setattr(request, name, value)
    return request


@pytest.mark.parametrize("version", versions(ApiKey.CONSUMER_GROUP_HEARTBEAT))
async def test_every_version_is_assigned_to(client: RawClient, topic: Topic, version: int) -> None:
    joined = await client.ask(pulse_request(topic), version)
    assert (joined.error_code, joined.member_id, joined.member_epoch) == (0, "m", 1)
    assert joined.heartbeat_interval_ms == 5_000
    (share,) = joined.assignment.topic_partitions
    assert (share.topic_id, share.partitions) == (topic.id.bytes, [0, 1])
    again = await client.ask(pulse_request(topic, epoch=1), version)
    assert (again.error_code, again.assignment) == (0, None)
    left = await client.ask(pulse_request(topic, epoch=-1), version)
    assert (left.error_code, left.member_epoch) == (0, -1)


async def test_only_version_0_leaves_the_id_to_us(client: RawClient, topic: Topic) -> None:
    assert (await client.ask(pulse_request(topic, member_id=""), 0)).member_id
    assert (await client.ask(pulse_request(topic, member_id=""), 1)).error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("version", versions(ApiKey.CONSUMER_GROUP_HEARTBEAT))
async def test_every_version_of_such_a_heartbeat_tells_errors(client: RawClient, topic: Topic, version: int) -> None:
    async def code(*rest: Any, **given: Any) -> int:
        response = await client.ask(pulse_request(topic, *rest, **given), version)
        assert response.error_message
        number: int = response.error_code
        return number

    assert await code(group_id="") == ErrorCode.INVALID_REQUEST
    assert await code(topic_partitions=None) == ErrorCode.INVALID_REQUEST
    assert await code(server_assignor="sticky") == ErrorCode.UNSUPPORTED_ASSIGNOR
    assert await code(epoch=1) == ErrorCode.GROUP_ID_NOT_FOUND
    if version >= 1:
        assert await code(subscribed_topic_regex="(") == ErrorCode.INVALID_REGULAR_EXPRESSION
    await client.ask(pulse_request(topic, instance_id="i"), version)
    assert await code(epoch=2) == ErrorCode.FENCED_MEMBER_EPOCH
    assert await code("n", epoch=1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert await code("n", epoch=1, instance_id="i") == ErrorCode.FENCED_INSTANCE_ID
    assert await code("n", instance_id="i") == ErrorCode.UNRELEASED_INSTANCE_ID


async def test_a_pattern_is_subscribed_to(client: RawClient, topic: Topic, node: Node) -> None:
    request = pulse_request(topic, subscribed_topic_names=None, subscribed_topic_regex="ord.*|la.er")
    joined = await client.ask(request, 1)
    assert [share.partitions for share in joined.assignment.topic_partitions] == [[0, 1]]
    later = await node.topics.create("later", partitions=3)
    told = await client.ask(pulse_request(topic, epoch=1), 1)
    assert {share.topic_id: share.partitions for share in told.assignment.topic_partitions} == {
        topic.id.bytes: [0, 1],
        later.id.bytes: [0, 1, 2],
    }


async def test_a_member_that_we_assign_to_commits_and_fetches_in_its_epoch(client: RawClient, topic: Topic) -> None:
    joined = await client.ask(pulse_request(topic), 1)
    member = MemberIdentity("m", joined.member_epoch)
    assert await commit_code(client, topic, 9, member) == 0
    assert await commit_code(client, topic, 10, member) == 0
    assert await commit_code(client, topic, 8, member) == ErrorCode.UNSUPPORTED_VERSION
    assert await commit_code(client, topic, 9, member._replace(generation=7)) == ErrorCode.STALE_MEMBER_EPOCH
    assert await commit_code(client, topic, 9, MemberIdentity("n", 1)) == ErrorCode.UNKNOWN_MEMBER_ID

    async def fetch_code(member_id: str | None, epoch: int) -> int:
        request = fetch_request([topic], 9)
        request.groups = request.groups[:1]
        request.groups[0].member_id, request.groups[0].member_epoch = member_id, epoch
        response = await client.ask(request, 9)
        code: int = response.groups[0].error_code
        return code

    assert await fetch_code("m", member.generation) == 0
    assert await fetch_code(None, -1) == 0
    assert await fetch_code("m", 9) == ErrorCode.STALE_MEMBER_EPOCH
    assert await fetch_code("n", 1) == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", versions(ApiKey.CONSUMER_GROUP_DESCRIBE))
async def test_every_version_describes_groups_that_we_assign_to(client: RawClient, topic: Topic, version: int) -> None:
    await client.ask(pulse_request(topic, instance_id="i", rack_id="r"), 1)
    request = ConsumerGroupDescribeRequest(group_ids=["g", "none", ""], include_authorized_operations=True)
    group, missing, nameless = (await client.ask(request, version)).groups
    assert (group.error_code, group.group_state, group.assignor_name) == (0, "Stable", "uniform")
    assert (group.group_epoch, group.assignment_epoch) == (1, 1)
    assert group.authorized_operations > 0
    (member,) = group.members
    assert (member.member_id, member.instance_id, member.rack_id, member.member_epoch) == ("m", "i", "r", 1)
    assert (member.client_id, member.client_host) == ("raw", "/127.0.0.1")
    assert (member.subscribed_topic_names, member.subscribed_topic_regex) == (["orders"], None)
    for assignment in (member.assignment, member.target_assignment):
        (share,) = assignment.topic_partitions
        assert (share.topic_id, share.topic_name, share.partitions) == (topic.id.bytes, "orders", [0, 1])
    assert member.member_type == (1 if version >= 1 else -1)
    assert missing.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert nameless.error_code == ErrorCode.INVALID_GROUP_ID
    (old,) = (await client.ask(DescribeGroupsRequest(groups=["g"]), 6)).groups
    assert (old.error_code, old.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")
    (listed,) = (await client.ask(ListGroupsRequest(types_filter=["consumer"]), 5)).groups
    assert (listed.group_id, listed.protocol_type, listed.group_type) == ("g", "consumer", "consumer")


async def test_classic_members_come_among_those_that_we_assign_to(client: RawClient, topic: Topic) -> None:
    await client.ask(pulse_request(topic), 1)
    unlike = await client.ask(join_request(version=9, protocol_type="connect"), 9)
    assert unlike.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    joined = await join(client)
    assert (joined.error_code, joined.generation_id, joined.protocol_name, joined.leader) == (0, 2, "range", "")
    await client.ask(pulse_request(topic, epoch=-1), 1)
    (listed,) = (await client.ask(ListGroupsRequest(), 5)).groups
    assert (listed.group_id, listed.group_type) == ("g", "classic"), "none is left whom we assign to"


async def test_a_group_that_cannot_be_assigned_to_is_not_one_for_who_wants_that(
    client: RawClient, topic: Topic
) -> None:
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="own", metadata=b"")
    assert (await join(client, protocol_type="connect", protocols=[protocol])).error_code == 0
    assert (await client.ask(pulse_request(topic), 1)).error_code == ErrorCode.GROUP_ID_NOT_FOUND
