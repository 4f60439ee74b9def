"""Share groups over a socket: sessions and their errors, acknowledgements, and what outlives whom."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from braidmq.core.groups import GroupLimits
from braidmq.log import GroupOffset
from braidmq.model import DEFAULT_INSTANCE, Group, Topic
from braidmq.model.share_settings import ISOLATION, LOCK_MS, READ_COMMITTED, RESET
from braidmq.node import Node
from braidmq.protocols.kafka import _share_sessions
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.alter_configs import AlterConfigsRequest
from braidmq.protocols.kafka.codec.messages.alter_share_group_offsets import AlterShareGroupOffsetsRequest
from braidmq.protocols.kafka.codec.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from braidmq.protocols.kafka.codec.messages.delete_groups import DeleteGroupsRequest
from braidmq.protocols.kafka.codec.messages.delete_share_group_offsets import DeleteShareGroupOffsetsRequest
from braidmq.protocols.kafka.codec.messages.describe_configs import DescribeConfigsRequest
from braidmq.protocols.kafka.codec.messages.describe_groups import DescribeGroupsRequest
from braidmq.protocols.kafka.codec.messages.describe_share_group_offsets import DescribeShareGroupOffsetsRequest
from braidmq.protocols.kafka.codec.messages.list_config_resources import ListConfigResourcesRequest
from braidmq.protocols.kafka.codec.messages.list_groups import ListGroupsRequest
from braidmq.protocols.kafka.codec.messages.offset_commit import OffsetCommitRequest
from braidmq.protocols.kafka.codec.messages.produce import ProduceRequest
from braidmq.protocols.kafka.codec.messages.share_acknowledge import ShareAcknowledgeRequest
from braidmq.protocols.kafka.codec.messages.share_fetch import ShareFetchRequest
from braidmq.protocols.kafka.codec.messages.share_group_describe import ShareGroupDescribeRequest
from braidmq.protocols.kafka.codec.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from braidmq.records import Codec, Record, build_batch, split_batches
from inside_node import StartNode
from kafka_support import RawClient, every_version, topic_of, until

Connect = Callable[[], Awaitable[RawClient]]
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
EARLIEST = {RESET: "earliest"}


@pytest.fixture
async def topic(node: Node) -> Topic:
    await node.catalog.save_group(Group(name="g", settings=EARLIEST))
    return await node.topics.create("orders", partitions=2)


@pytest.fixture
async def client(topic: Topic, connect: Connect) -> RawClient:
    client = await connect()
    await join(client, "one")
    return client


async def join(client: RawClient, member: str, epoch: int = 0, group: str = "g", **given: Any) -> Any:
    names = ["orders"] if epoch == 0 else None
    request = ShareGroupHeartbeatRequest(
        group_id=group, member_id=member, member_epoch=epoch, subscribed_topic_names=names
    )
    for name, value in given.items():
        setattr(request, name, value)
    return await client.ask(request, 1)


async def write(client: RawClient, *values: bytes, index: int = 0, codec: Codec = Codec.NONE) -> None:
    records = [Record(offset, 1_700_000_000_000 + offset, b"k", value) for offset, value in enumerate(values)]
    data = bytes(build_batch(records, codec=codec).data)
    partition = ProduceRequest.PartitionProduceData(index=index, records=data)
    topic = ProduceRequest.TopicProduceData(name="orders", partition_data=[partition])
    answer = await client.ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic]), 9)
    assert answer.responses[0].partition_responses[0].error_code == 0


def fetch_request(
    node: Node,
    epoch: int,
    *,
    member: str = "one",
    indexes: Sequence[int] = (0,),
    acknowledged: Sequence[tuple[int, int, list[int]]] = (),
    **given: Any,
) -> ShareFetchRequest:
    batches = [
        ShareFetchRequest.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=types)
        for first, last, types in acknowledged
    ]
    partitions = [
        ShareFetchRequest.FetchPartition(
            partition_index=index, acknowledgement_batches=batches if index == indexes[0] else []
        )
        for index in indexes
    ]
    topics = [ShareFetchRequest.FetchTopic(topic_id=topic_of(node).id.bytes, partitions=partitions)] if indexes else []
    limits = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, "max_records": 100, "batch_size": 100} | given
    return ShareFetchRequest(group_id="g", member_id=member, share_session_epoch=epoch, topics=topics, **limits)


async def fetch(client: RawClient, node: Node, epoch: int, version: int = 1, **given: Any) -> Any:
    return await client.ask(fetch_request(node, epoch, **given), version)


async def acknowledge(
    client: RawClient,
    node: Node,
    epoch: int,
    *acknowledged: tuple[int, int, list[int]],
    member: str = "one",
    version: int = 1,
    **given: Any,
) -> Any:
    batches = [
        ShareAcknowledgeRequest.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=types)
        for first, last, types in acknowledged
    ]
    partition = ShareAcknowledgeRequest.AcknowledgePartition(partition_index=0, acknowledgement_batches=batches)
    topic = ShareAcknowledgeRequest.AcknowledgeTopic(topic_id=topic_of(node).id.bytes, partitions=[partition])
    topics = [topic] if batches else []
    request = ShareAcknowledgeRequest(group_id="g", member_id=member, share_session_epoch=epoch, topics=topics, **given)
    return await client.ask(request, version)


def acquired(answer: Any, index: int = 0) -> list[tuple[int, int, int]]:
    assert answer.error_code == 0
    for topic in answer.responses:
        for partition in topic.partitions:
            if partition.partition_index == index:
                assert partition.error_code == 0
                return [
                    (each.first_offset, each.last_offset, each.delivery_count) for each in partition.acquired_records
                ]
    return []


def fate(answer: Any) -> int:
    """What became of acknowledgements."""
    assert answer.error_code == 0
    partition = answer.responses[0].partitions[0]
    code: int = (
        partition.error_code
        if hasattr(partition, "current_leader") and not hasattr(partition, "acknowledge_error_code")
        else partition.acknowledge_error_code
    )
    return code


# Membership.


async def test_every_member_is_assigned_all_partitions_and_learns_of_new_ones(node: Node, client: RawClient) -> None:
    second = await join(client, "two")
    [assigned] = second.assignment.topic_partitions
    assert (assigned.topic_id, assigned.partitions) == (topic_of(node).id.bytes, [0, 1])
    first = await join(client, "one", 1)
    assert (first.error_code, first.member_epoch, first.assignment) == (0, second.member_epoch, None)
    await node.topics.expand(topic_of(node), 3)
    grown = await join(client, "one", first.member_epoch)
    assert grown.assignment.topic_partitions[0].partitions == [0, 1, 2]
    assert grown.member_epoch > first.member_epoch


async def test_heartbeats_that_cannot_be_right_are_refused(client: RawClient) -> None:
    assert (await join(client, "stranger", 3)).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert (await join(client, "one", 99)).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert (await join(client, "")).error_code == ErrorCode.INVALID_REQUEST
    assert (await join(client, "one", -2)).error_code == ErrorCode.INVALID_REQUEST
    assert (await join(client, "new", subscribed_topic_names=None)).error_code == ErrorCode.INVALID_REQUEST
    assert (await join(client, "new", group="")).error_code == ErrorCode.INVALID_GROUP_ID
    refused = await join(client, "new", group="no topic/can be named so")
    assert refused.error_code == ErrorCode.INVALID_GROUP_ID
    assert "dead letters" in refused.error_message


async def test_a_member_that_leaves_is_unknown_and_its_group_is_empty(client: RawClient) -> None:
    assert (await join(client, "one", -1)).member_epoch == -1
    assert (await join(client, "one", 1)).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    answer = await client.ask(ShareGroupDescribeRequest(group_ids=["g", "other", ""]), 1)
    assert [each.error_code for each in answer.groups] == [0, ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.INVALID_GROUP_ID]
    assert (answer.groups[0].group_state, answer.groups[0].members) == ("Empty", [])


async def test_a_member_that_falls_silent_is_out_and_what_it_held_is_others(
    start_node: StartNode, node: Node, client: RawClient, connect: Connect
) -> None:
    node.groups.limits = GroupLimits(consumer_session_ms=200)
    await write(client, b"a")
    await join(client, "one", 1)
    assert acquired(await fetch(client, node, 0)) == [(0, 0, 1)]
    node.groups.limits = GroupLimits()
    other = await connect()
    await join(other, "two")
    await until(lambda: node.groups.size("g") == 1)
    assert acquired(await fetch(other, node, 0, member="two", max_wait_ms=5000)) == [(0, 0, 2)]
    assert (await fetch(client, node, 1)).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


async def test_a_share_group_is_listed_as_such_and_described_by_its_own_request_only(client: RawClient) -> None:
    listed = await client.ask(ListGroupsRequest(types_filter=["Share"]), 5)
    assert [(each.group_id, each.group_type, each.group_state) for each in listed.groups] == [("g", "share", "Stable")]
    assert (await client.ask(ListGroupsRequest(types_filter=["classic"]), 5)).groups == []
    described = await client.ask(ShareGroupDescribeRequest(group_ids=["g"], include_authorized_operations=True), 1)
    [group] = described.groups
    assert (group.group_state, group.assignor_name, len(group.members)) == ("Stable", "simple", 1)
    assert group.members[0].assignment.topic_partitions[0].partitions == [0, 1]
    [other] = (await client.ask(DescribeGroupsRequest(groups=["g"]), 6)).groups
    assert other.error_code == ErrorCode.GROUP_ID_NOT_FOUND


async def test_a_name_is_a_share_group_s_or_another_s(node: Node, client: RawClient) -> None:
    heartbeat = ConsumerGroupHeartbeatRequest(
        member_id="m", member_epoch=0, rebalance_timeout_ms=1000, subscribed_topic_names=["orders"], topic_partitions=[]
    )
    heartbeat.group_id = "g"
    assert (await client.ask(heartbeat, 1)).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    heartbeat.group_id = "assigned"
    assert (await client.ask(heartbeat, 1)).error_code == 0
    refused = await join(client, "one", group="assigned")
    assert refused.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert "delete that group" in refused.error_message


async def test_nobody_commits_offsets_by_hand_for_a_share_group(node: Node, client: RawClient) -> None:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=7)
    topic = OffsetCommitRequest.OffsetCommitRequestTopic(name="orders", partitions=[partition])
    request = OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=-1, topics=[topic])
    answer = await client.ask(request, 9)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert node.groups.offsets("g") == {}


async def test_an_empty_share_group_can_be_deleted_and_one_with_members_cannot(node: Node, client: RawClient) -> None:
    await write(client, b"a")
    await fetch(client, node, 0)
    request = DeleteGroupsRequest(groups_names=["g"])
    assert (await client.ask(request, 2)).results[0].error_code == ErrorCode.NON_EMPTY_GROUP
    await join(client, "one", -1)
    assert (await client.ask(request, 2)).results[0].error_code == 0
    assert not node.groups.is_share("g")
    assert node.cursors.views("g") == []


async def test_an_empty_share_group_stays_one_through_a_restart(
    start_node: StartNode, node: Node, client: RawClient
) -> None:
    await join(client, "one", -1)
    await node.stop()
    again = await start_node()
    view = again.groups.find_share("g")
    assert view is not None
    assert (view.state.value, view.members) == ("empty", ())
    assert view.epoch == 2


# Sessions.


async def test_each_request_carries_the_next_epoch_of_its_session(node: Node, client: RawClient) -> None:
    assert (await fetch(client, node, 1)).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert (await fetch(client, node, -1)).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert (await acknowledge(client, node, 1)).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert (await acknowledge(client, node, 0)).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert (await fetch(client, node, 0)).error_code == 0
    assert (await fetch(client, node, 2)).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert (await fetch(client, node, 1)).error_code == 0
    assert (await acknowledge(client, node, 1)).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert (await acknowledge(client, node, 2)).error_code == 0
    assert (await acknowledge(client, node, -1)).error_code == 0
    assert (await fetch(client, node, 3)).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


async def test_sessions_are_as_many_as_may_be(node: Node, client: RawClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_share_sessions, "SESSIONS_MAX", 1)
    assert (await fetch(client, node, 0)).error_code == 0
    assert (await fetch(client, node, 0)).error_code == 0
    assert (await fetch(client, node, 0, member="two")).error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED


async def test_a_session_remembers_its_partitions_until_they_are_forgotten(node: Node, client: RawClient) -> None:
    await fetch(client, node, 0, indexes=(0, 1))
    await write(client, b"a", index=1)
    assert acquired(await fetch(client, node, 1, indexes=()), 1) == [(0, 0, 1)]
    forgotten = ShareFetchRequest.ForgottenTopic(topic_id=topic_of(node).id.bytes, partitions=[1])
    await fetch(client, node, 2, indexes=(), forgotten_topics_data=[forgotten])
    await write(client, b"b", index=1)
    assert (await fetch(client, node, 3, indexes=())).responses == []


async def test_a_session_that_begins_acknowledges_nothing(node: Node, client: RawClient) -> None:
    answer = await fetch(client, node, 0, acknowledged=[(0, 0, [ACCEPT])])
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert (await fetch(client, node, 1)).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


async def test_a_group_that_nobody_joined_gives_nothing(node: Node, client: RawClient) -> None:
    request = fetch_request(node, 0)
    request.group_id = "other"
    assert (await client.ask(request, 1)).error_code == ErrorCode.GROUP_ID_NOT_FOUND


async def test_partitions_that_are_not_there_have_errors_of_their_own(node: Node, client: RawClient) -> None:
    await write(client, b"a")
    answer = await fetch(client, node, 0, indexes=(0, 7), max_wait_ms=60_000)
    assert acquired(answer) == [(0, 0, 1)]
    codes = {each.partition_index: each.error_code for each in answer.responses[0].partitions}
    assert codes == {0: 0, 7: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    request = fetch_request(node, 1)
    request.topics[0].topic_id = b"\1" * 16
    answer = await client.ask(request, 1)
    assert {each.topic_id: each.partitions[0].error_code for each in answer.responses}[b"\1" * 16] == (
        ErrorCode.UNKNOWN_TOPIC_ID
    )


async def test_a_closed_session_gives_back_what_was_not_worked_on_and_that_was_no_attempt(
    node: Node, client: RawClient
) -> None:
    await write(client, b"a", b"b")
    assert acquired(await fetch(client, node, 0)) == [(0, 1, 1)]
    assert fate(await acknowledge(client, node, -1, (0, 0, [ACCEPT]))) == 0
    assert acquired(await fetch(client, node, 0, member="two")) == [(1, 1, 1)]


async def test_a_lost_connection_gives_back_what_its_member_held_and_that_was_an_attempt(
    node: Node, client: RawClient, connect: Connect
) -> None:
    await write(client, b"a")
    doomed = await connect()
    assert acquired(await fetch(doomed, node, 0, member="two")) == [(0, 0, 1)]
    client.send(fetch_request(node, 0, max_wait_ms=20_000), 1)
    await until(lambda: node.cursors.waiting("g", topic_of(node)) == 1)
    await doomed.end()
    _, answer = await client.receive(ApiKey.SHARE_FETCH, 1)
    assert acquired(answer) == [(0, 0, 2)]


async def test_a_member_that_begins_anew_keeps_what_it_holds(node: Node, client: RawClient, connect: Connect) -> None:
    await write(client, b"a")
    assert acquired(await fetch(client, node, 0)) == [(0, 0, 1)]
    other = await connect()
    assert acquired(await fetch(other, node, 0)) == []
    await client.end()
    assert fate(await acknowledge(other, node, 1, (0, 0, [ACCEPT]))) == 0


async def test_a_member_that_goes_while_it_waits_takes_nothing_with_it(
    node: Node, client: RawClient, connect: Connect
) -> None:
    doomed = await connect()
    doomed.send(fetch_request(node, 0, member="two", max_wait_ms=60_000), 1)
    await until(lambda: node.cursors.waiting("g", topic_of(node)) == 1)
    await doomed.end()
    await until(lambda: node.cursors.waiting("g", topic_of(node)) == 0)
    await write(client, b"a")
    assert acquired(await fetch(client, node, 0)) == [(0, 0, 1)]


# Taking.


@every_version(ApiKey.SHARE_FETCH)
async def test_batches_go_out_as_they_lie_and_ranges_say_which_records_are_meant(
    node: Node, client: RawClient, version: int
) -> None:
    await write(client, *(b"%d" % number for number in range(6)), codec=Codec.GZIP)
    await write(client, b"6")
    fetched = await node.log.read(topic_of(node).partition_numbers[0], 0, 1 << 20)
    batches = [bytes(batch.data) for batch in split_batches(fetched.data)]
    answer = await fetch(client, node, 0, version, max_records=2)
    assert acquired(answer) == [(0, 1, 1)]
    assert bytes(answer.responses[0].partitions[0].records) == batches[0]
    assert answer.acquisition_lock_timeout_ms == 30_000
    answer = await fetch(client, node, 1, version, acknowledged=[(0, 0, [RELEASE]), (1, 1, [ACCEPT])])
    assert acquired(answer) == [(0, 0, 2), (2, 6, 1)]
    assert bytes(answer.responses[0].partitions[0].records) == b"".join(batches)


async def test_a_fetch_waits_for_the_first_message_of_any_of_its_partitions(
    node: Node, client: RawClient, connect: Connect
) -> None:
    client.send(fetch_request(node, 0, indexes=(0, 1), max_wait_ms=20_000), 1)
    await until(lambda: node.cursors.waiting("g", topic_of(node)) == 1)
    await write(await connect(), b"a", index=1)
    _, answer = await client.receive(ApiKey.SHARE_FETCH, 1)
    assert acquired(answer, 1) == [(0, 0, 1)]


async def test_a_released_message_wakes_who_waits(node: Node, client: RawClient, connect: Connect) -> None:
    await write(client, b"a")
    await fetch(client, node, 0)
    other = await connect()
    other.send(fetch_request(node, 0, member="two", max_wait_ms=20_000), 1)
    await until(lambda: node.cursors.waiting("g", topic_of(node)) == 1)
    assert fate(await acknowledge(client, node, 1, (0, 0, [RELEASE]))) == 0
    _, answer = await other.receive(ApiKey.SHARE_FETCH, 1)
    assert acquired(answer) == [(0, 0, 2)]


async def test_no_two_members_hold_one_message_and_all_are_done_once(
    node: Node, client: RawClient, connect: Connect
) -> None:
    await write(client, *(b"%d" % number for number in range(300)))
    seen: list[int] = []

    async def work(member: str) -> None:
        own = await connect()
        acknowledged: list[tuple[int, int, list[int]]] = []
        for epoch in range(1000):
            answer = await fetch(own, node, epoch, member=member, max_records=7, acknowledged=acknowledged)
            acknowledged = [(first, last, [ACCEPT]) for first, last, _ in acquired(answer)]
            seen.extend(offset for first, last, _ in acknowledged for offset in range(first, last + 1))
            if not acknowledged:
                break

    async with asyncio.timeout(30):
        await asyncio.gather(*(work(member) for member in ("a", "b", "c")))
    assert sorted(seen) == list(range(300))
    assert node.cursors.lag("g", topic_of(node)) == 0


async def test_a_paused_group_is_given_nothing_until_it_goes_on(node: Node, client: RawClient) -> None:
    await write(client, b"a")
    await node.catalog.save_group(Group(name="g", settings={**EARLIEST, "consume": "off"}))
    assert acquired(await fetch(client, node, 0)) == []
    client.send(fetch_request(node, 1, max_wait_ms=20_000), 1)
    await until(lambda: node.cursors.waiting("g", topic_of(node)) == 1)
    await node.catalog.save_group(Group(name="g", settings=EARLIEST))
    _, answer = await client.receive(ApiKey.SHARE_FETCH, 1)
    assert acquired(answer) == [(0, 0, 1)]


async def test_a_topic_that_is_forbidden_to_the_group_is_refused(node: Node, client: RawClient) -> None:
    await node.catalog.save_group(Group(name="g", settings={**EARLIEST, "consume.forbidden": "orders"}))
    answer = await fetch(client, node, 0, max_wait_ms=60_000)
    assert answer.responses[0].partitions[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.parametrize(
    ("reset", "first"), [("latest", None), ("earliest", 0), ("by_duration:P3650D", 0), ("by_duration:PT1H", None)]
)
async def test_a_group_begins_where_its_setting_says(
    node: Node, client: RawClient, reset: str, first: int | None
) -> None:
    await node.catalog.save_group(Group(name="g", settings={RESET: reset}))
    await write(client, b"old")
    assert acquired(await fetch(client, node, 0)) == ([] if first is None else [(0, 0, 1)])
    await write(client, b"new")
    assert acquired(await fetch(client, node, 1)) == [(1, 1, 1)]


# Acknowledging.


async def test_a_message_that_is_not_held_spoils_all_that_is_said_of_its_partition(
    node: Node, client: RawClient
) -> None:
    await write(client, b"a", b"b", b"c")
    await fetch(client, node, 0, max_records=2)
    assert fate(await acknowledge(client, node, 1, (0, 2, [ACCEPT]))) == ErrorCode.INVALID_RECORD_STATE
    assert fate(await acknowledge(client, node, 2, (0, 2**62, [ACCEPT]))) == ErrorCode.INVALID_RECORD_STATE
    assert fate(await acknowledge(client, node, 3, (0, 1, [ACCEPT]))) == 0
    assert fate(await acknowledge(client, node, 4, (0, 1, [ACCEPT]))) == ErrorCode.INVALID_RECORD_STATE
    answer = await fetch(client, node, 5, acknowledged=[(0, 1, [ACCEPT])])
    assert fate(answer) == ErrorCode.INVALID_RECORD_STATE
    assert acquired(answer) == [(2, 2, 1)]


async def test_nobody_acknowledges_what_another_member_holds(node: Node, client: RawClient) -> None:
    await write(client, b"a")
    await fetch(client, node, 0)
    await fetch(client, node, 0, member="two")
    answer = await acknowledge(client, node, 1, (0, 0, [ACCEPT]), member="two")
    assert fate(answer) == ErrorCode.INVALID_RECORD_STATE
    assert fate(await acknowledge(client, node, 1, (0, 0, [ACCEPT]))) == 0


@pytest.mark.parametrize(
    "said",
    [
        [(1, 0, [ACCEPT])],
        [(0, 1, [])],
        [(0, 1, [ACCEPT] * 3)],
        [(0, 0, [5])],
        [(0, 0, [-1])],
        [(0, 0, [RENEW])],
        [(0, 1, [ACCEPT]), (1, 1, [ACCEPT])],
        [(-5, 0, [ACCEPT])],
    ],
)
async def test_acknowledgements_that_make_no_sense_are_refused(
    node: Node, client: RawClient, said: list[tuple[int, int, list[int]]]
) -> None:
    await write(client, b"a", b"b")
    await fetch(client, node, 0)
    assert fate(await acknowledge(client, node, 1, *said)) == ErrorCode.INVALID_REQUEST
    assert fate(await acknowledge(client, node, 2, (0, 1, [ACCEPT]))) == 0


async def test_gaps_are_done_and_a_gap_where_nothing_is_held_is_nothing(node: Node, client: RawClient) -> None:
    await write(client, b"a", b"b", b"c")
    await fetch(client, node, 0, max_records=2)
    assert fate(await acknowledge(client, node, 1, (0, 1, [GAP, ACCEPT]), (2, 2**60, [GAP]))) == 0
    assert acquired(await fetch(client, node, 2)) == [(2, 2, 1)]


async def test_more_gaps_than_messages_may_lie_in_a_range(node: Node, client: RawClient) -> None:
    await write(client, b"a", b"b")
    await fetch(client, node, 0)
    assert fate(await acknowledge(client, node, 1, (0, 4, [ACCEPT, ACCEPT, GAP, GAP, GAP]))) == 0
    assert node.cursors.lag("g", topic_of(node)) == 0


async def test_a_rejected_message_goes_to_the_dead_letters_of_its_group(node: Node, client: RawClient) -> None:
    await write(client, b"a", b"b")
    await fetch(client, node, 0)
    assert fate(await acknowledge(client, node, 1, (0, 1, [REJECT, ACCEPT]))) == 0
    dead = topic_of(node, "%DLQ%g")
    assert node.log.bounds(dead.partition_numbers[0]).end == 1
    assert node.cursors.lag("g", topic_of(node)) == 0


async def test_a_message_whose_lock_is_over_is_another_member_s(node: Node, client: RawClient) -> None:
    await node.catalog.save_group(Group(name="g", settings={**EARLIEST, LOCK_MS: "1000"}))
    await write(client, b"a")
    assert (await fetch(client, node, 0)).acquisition_lock_timeout_ms == 1000
    assert acquired(await fetch(client, node, 0, member="two", max_wait_ms=10_000)) == [(0, 0, 2)]
    assert fate(await acknowledge(client, node, 1, (0, 0, [ACCEPT]))) == ErrorCode.INVALID_RECORD_STATE


async def test_a_renewed_lock_begins_anew(node: Node, client: RawClient) -> None:
    await node.catalog.save_group(Group(name="g", settings={**EARLIEST, LOCK_MS: "1000"}))
    await write(client, b"a")
    await fetch(client, node, 0, 2)
    await node.catalog.save_group(Group(name="g", settings=EARLIEST))
    renewed = await acknowledge(client, node, 1, (0, 0, [RENEW]), version=2, is_renew_ack=True)
    assert (fate(renewed), renewed.acquisition_lock_timeout_ms) == (0, 30_000)
    assert acquired(await fetch(client, node, 0, member="two", max_wait_ms=1500)) == []
    none = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 0, "max_records": 0, "is_renew_ack": True}
    assert fate(await fetch(client, node, 2, 2, acknowledged=[(0, 0, [RENEW])], **none)) == 0
    refused = await fetch(client, node, 3, 2, acknowledged=[(0, 0, [RENEW])], is_renew_ack=True)
    assert refused.error_code == ErrorCode.INVALID_REQUEST
    assert fate(await acknowledge(client, node, 3, (0, 0, [ACCEPT]), version=2)) == 0


async def test_what_was_acknowledged_stays_so_through_a_restart_and_attempts_are_remembered(
    start_node: StartNode, node: Node, client: RawClient
) -> None:
    await write(client, b"a", b"b", b"c")
    await fetch(client, node, 0)
    assert fate(await acknowledge(client, node, -1, (0, 2, [ACCEPT, RELEASE, ACCEPT]))) == 0
    await node.stop()
    again = await start_node()
    address = again.addresses["kafka"][0]
    other = RawClient(*await asyncio.open_connection(address.host, address.port))
    assert acquired(await fetch(other, again, 0)) == [(1, 1, 2)]
    other.close()


# Settings and offsets.


async def test_settings_of_a_group_are_described_changed_and_checked(node: Node, client: RawClient) -> None:
    async def change(**texts: str) -> int:
        configs = [
            AlterConfigsRequest.AlterableConfig(name=name.replace("_", "."), value=text) for name, text in texts.items()
        ]
        resource = AlterConfigsRequest.AlterConfigsResource(resource_type=32, resource_name="g", configs=configs)
        answer = await client.ask(AlterConfigsRequest(resources=[resource]), 2)
        code: int = answer.responses[0].error_code
        return code

    assert await change(share_isolation_level="read_committed", share_delivery_count_limit="5") == 0
    group = node.catalog.group(DEFAULT_INSTANCE, "g")
    assert group == Group(name="g", attempts_max=4, settings={ISOLATION: READ_COMMITTED})
    asked = DescribeConfigsRequest.DescribeConfigsResource(resource_type=32, resource_name="g")
    [described] = (await client.ask(DescribeConfigsRequest(resources=[asked]), 4)).results
    values = {each.name: (each.value, each.config_source) for each in described.configs}
    assert values["share.isolation.level"] == ("read_committed", 8)
    assert values["share.delivery.count.limit"] == ("5", 8)
    assert values["share.auto.offset.reset"] == ("latest", 5)
    listed = await client.ask(ListConfigResourcesRequest(resource_types=[32]), 1)
    assert [each.resource_name for each in listed.config_resources] == ["g"]
    assert await change(share_isolation_level="sometimes") == ErrorCode.INVALID_CONFIG
    assert await change(share_record_lock_duration_ms="1") == ErrorCode.INVALID_CONFIG
    assert await change(share_auto_offset_reset="by_duration:soon") == ErrorCode.INVALID_CONFIG
    assert await change(unheard_of="1") == ErrorCode.INVALID_CONFIG
    assert await change() == 0
    assert node.catalog.group(DEFAULT_INSTANCE, "g") == Group(name="g")


async def test_offsets_of_a_share_group_are_told_moved_and_forgotten(node: Node, client: RawClient) -> None:
    await write(client, *(b"%d" % number for number in range(5)))
    await fetch(client, node, 0)
    await acknowledge(client, node, -1, (0, 0, [ACCEPT]), (2, 4, [ACCEPT]))

    async def told() -> tuple[int, int]:
        group = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=None)
        answer = await client.ask(DescribeShareGroupOffsetsRequest(groups=[group]), 1)
        [partition] = answer.groups[0].topics[0].partitions
        return partition.start_offset, partition.lag

    assert await told() == (1, 1)
    moved = AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=3)
    topic = AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic(topic_name="orders", partitions=[moved])
    request = AlterShareGroupOffsetsRequest(group_id="g", topics=[topic])
    assert (await client.ask(request, 0)).error_code == ErrorCode.NON_EMPTY_GROUP
    await join(client, "one", -1)
    answer = await client.ask(request, 0)
    assert (answer.error_code, answer.responses[0].partitions[0].error_code) == (0, 0)
    assert await told() == (3, 2)
    await join(client, "one")
    assert acquired(await fetch(client, node, 0)) == [(3, 4, 1)]
    await acknowledge(client, node, -1)
    await join(client, "one", -1)
    named = DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic(topic_name="orders")
    gone = await client.ask(DeleteShareGroupOffsetsRequest(group_id="g", topics=[named]), 0)
    assert (gone.error_code, gone.responses[0].error_code) == (0, 0)
    await join(client, "one")
    assert acquired(await fetch(client, node, 0)) == [(0, 4, 1)]


async def test_a_share_group_begins_where_an_administrator_says_before_anybody_is_in_it(
    start_node: StartNode, node: Node, client: RawClient
) -> None:
    await write(client, *(b"%d" % number for number in range(5)))
    moved = AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=3)
    topic = AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic(topic_name="orders", partitions=[moved])
    answer = await client.ask(AlterShareGroupOffsetsRequest(group_id="planned", topics=[topic]), 0)
    assert (answer.error_code, answer.responses[0].partitions[0].error_code) == (0, 0)
    group = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup(group_id="planned", topics=None)
    told = await client.ask(DescribeShareGroupOffsetsRequest(groups=[group]), 1)
    [partition] = told.groups[0].topics[0].partitions
    assert (partition.start_offset, partition.lag) == (3, 2)
    refused = await client.ask(AlterShareGroupOffsetsRequest(group_id="", topics=[topic]), 0)
    assert refused.error_code == ErrorCode.INVALID_GROUP_ID
    await node.stop()
    again = await start_node()
    assert again.groups.is_share("planned")


async def test_offsets_of_groups_that_share_nothing_are_asked_for_elsewhere(node: Node, client: RawClient) -> None:
    await node.groups.commit("offsets", None, {topic_of(node).partition_numbers[0]: GroupOffset(1)})
    group = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup(group_id="offsets", topics=None)
    answer = await client.ask(DescribeShareGroupOffsetsRequest(groups=[group]), 1)
    assert answer.groups[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND
    for request in (
        AlterShareGroupOffsetsRequest(group_id="offsets"),
        DeleteShareGroupOffsetsRequest(group_id="offsets"),
    ):
        assert (await client.ask(request, 0)).error_code == ErrorCode.GROUP_ID_NOT_FOUND
