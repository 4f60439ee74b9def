"""Messages with a priority: the most urgent that wait are given out first."""

import asyncio

import pytest

from braidmq.model import PRIORITY_HEADER, Message, Topic, TopicKind
from braidmq.node import Node
from braidmq.protocols.rocketmq_grpc.codes import Code, MessageType
from rocketmq_grpc_support import GrpcClient, message, resource, span


@pytest.fixture
async def urgent(node: Node) -> Topic:
    """A topic of the priorities 0 to 3."""
    return await node.topics.create("urgent", partitions=4, kind=TopicKind.PRIORITY)


async def send(client: GrpcClient, *priorities: int) -> None:
    """Each with its priority for a body."""
    for priority in priorities:
        made = message("urgent", b"%d" % priority, priority=priority, message_type=MessageType.PRIORITY)
        assert (await client.send(made)).status.code == Code.OK


async def taken(client: GrpcClient, count: int, *, batch_size: int = 1) -> list[int]:
    """The priorities of what is given out, one after the other; each is acknowledged."""
    found: list[int] = []
    async with asyncio.timeout(20):
        while len(found) < count:
            _, given = await client.receive("urgent", "readers", wait_ms=2_000, batch_size=batch_size)
            for each in given:
                assert each.system_properties.message_type == MessageType.PRIORITY
                assert each.body == b"%d" % each.system_properties.priority
                found.append(each.system_properties.priority)
                await client.acknowledge("urgent", "readers", each.system_properties.receipt_handle)
    return found


@pytest.mark.parametrize("batch_size", [1, 3])
async def test_the_most_urgent_of_those_that_wait_come_first(
    client: GrpcClient, urgent: Topic, batch_size: int
) -> None:
    await send(client, 0, 2, 1, 3, 0, 3)
    assert await taken(client, 6, batch_size=batch_size) == [3, 3, 2, 1, 0, 0]


async def test_an_urgent_message_that_comes_later_overtakes_those_that_wait(client: GrpcClient, urgent: Topic) -> None:
    await send(client, 0, 0, 0)
    assert await taken(client, 1) == [0]
    await send(client, 2)
    assert await taken(client, 3) == [2, 0, 0]


async def test_a_message_that_comes_again_keeps_its_priority(client: GrpcClient, urgent: Topic) -> None:
    await send(client, 3)
    _, (given,) = await client.receive("urgent", "readers")
    await send(client, 1, 0)
    named = {"group": resource("readers"), "topic": resource("urgent")}
    handle = given.system_properties.receipt_handle
    again = await client.call("ChangeInvisibleDuration", **named, receipt_handle=handle, invisible_duration=span(0))
    assert again.status.code == Code.OK
    assert await taken(client, 3) == [3, 1, 0]


async def test_a_priority_above_all_is_the_highest_there_is(client: GrpcClient, urgent: Topic) -> None:
    await send(client, 2, 99)
    assert await taken(client, 2) == [99, 2]


async def test_messages_of_other_protocols_say_it_by_a_property_or_have_the_lowest(
    node: Node, client: GrpcClient, urgent: Topic
) -> None:
    plain = Message.create(b"plain")
    said = Message.create(b"2", properties={PRIORITY_HEADER: "2"})
    for each, partition in ((plain, -1), (said, 0)):  # who names a partition means the one that RocketMQ's routes gave
        await node.publisher.published(urgent, (each,), partition=partition)
    _, given = await client.receive("urgent", "readers")
    assert [each.body for each in given] == [b"2", b"plain"]
    assert [each.system_properties.queue_id for each in given] == [2, 0]


async def test_routes_tell_what_a_topic_of_priorities_takes(client: GrpcClient, urgent: Topic) -> None:
    route = await client.call("QueryRoute", topic=resource("urgent"))
    assert {tuple(each.accept_message_types) for each in route.message_queues} == {(MessageType.PRIORITY,)}
    mixed = await client.call("QueryRoute", topic=resource("any"))
    assert MessageType.PRIORITY not in mixed.message_queues[0].accept_message_types


REFUSED = {
    "none": (message("urgent"), Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE),
    "a message group": (
        message("urgent", message_group="g", message_type=MessageType.FIFO),
        Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE,
    ),
    "both": (
        message("urgent", message_group="g", priority=1, message_type=MessageType.PRIORITY),
        Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE,
    ),
    "only the type": (message("urgent", message_type=MessageType.PRIORITY), Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE),
    "less than none": (message("urgent", priority=-1, message_type=MessageType.PRIORITY), Code.BAD_REQUEST),
    "a topic without": (
        message("any", priority=1, message_type=MessageType.PRIORITY),
        Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE,
    ),
    "as a property": (
        message("urgent", properties={PRIORITY_HEADER: "1"}, priority=1, message_type=MessageType.PRIORITY),
        Code.ILLEGAL_MESSAGE_PROPERTY_KEY,
    ),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_does_not_fit_is_refused(client: GrpcClient, urgent: Topic, case: str) -> None:
    refused, code = REFUSED[case]
    assert (await client.send(refused)).status.code == code
