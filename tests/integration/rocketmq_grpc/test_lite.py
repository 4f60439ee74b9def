"""Lite topics: many small queues under one topic, each in order, read by those who subscribe to them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from braidmq.model import Group, Topic, TopicKind
from braidmq.model.group_settings import EXCLUSIVE, LITE_BIND_TOPIC, LITE_MODEL, LITE_QUOTA
from braidmq.model.names import lite_topic_name
from braidmq.node import Node
from braidmq.protocols.rocketmq_grpc import wire
from braidmq.protocols.rocketmq_grpc.codes import ClientType, Code, LiteAction, LitePolicy, MessageType
from braidmq.settings import LiteSettings
from http_support import until
from inside_node import StartNode
from rocketmq_grpc_support import GrpcClient, consumer_settings, message, now_ms, queue, resource, span

PARENT, GROUP = "devices", "readers"
MINUTE_MS = 60_000


@pytest.fixture
async def devices(node: Node) -> Topic:
    return await node.topics.create(PARENT, partitions=1, kind=TopicKind.LITE)


def of(lite: str, body: bytes, **fields: Any) -> Any:
    return message(PARENT, body, lite_topic=lite, message_type=MessageType.LITE, **fields)


async def send(client: GrpcClient, lite: str, *bodies: bytes) -> None:
    for body in bodies:
        answer = await client.send(of(lite, body, keys=[body.decode()]))
        assert answer.status.code == Code.OK, answer.status.message


async def sync(client: GrpcClient, action: int, *names: str, **fields: Any) -> Any:
    asked = {"topic": resource(PARENT), "group": resource(GROUP)} | fields
    answer = await client.call("SyncLiteSubscription", action=action, lite_topic_set=names, **asked)
    return answer.status


async def subscribe(client: GrpcClient, *names: str, **fields: Any) -> None:
    found = await sync(client, LiteAction.PARTIAL_ADD, *names, **fields)
    assert found.code == Code.OK, found.message


@asynccontextmanager
async def lite_consumer(
    address: str, client_id: str, *, kind: ClientType = ClientType.LITE_SIMPLE_CONSUMER
) -> AsyncIterator[tuple[GrpcClient, Any, Any]]:
    """A client that has introduced itself, its stream, and what it was told."""
    client = GrpcClient(address, client_id)
    async with client.introduced(consumer_settings(GROUP, PARENT, kind=kind)) as (stream, answer):
        yield client, stream, answer
    await client.close()


@pytest.fixture
async def reader(address: str, devices: Topic) -> AsyncIterator[GrpcClient]:
    async with lite_consumer(address, "reader") as (client, _, _):
        yield client


async def taken(client: GrpcClient, count: int, *, batch_size: int = 32) -> list[tuple[str, bytes]]:
    """So many messages with their lite topics, in the order of their coming; each batch is acknowledged."""
    found: list[tuple[str, bytes]] = []
    async with asyncio.timeout(20):
        while len(found) < count:
            _, given = await client.receive(PARENT, GROUP, wait_ms=2_000, batch_size=batch_size)
            for each in given:
                assert each.system_properties.message_type == MessageType.LITE
                found.append((each.system_properties.lite_topic, each.body))
                answer = await client.acknowledge(PARENT, GROUP, each.system_properties.receipt_handle)
                assert answer.status.code == Code.OK, answer.status.message
    return found


async def nothing_comes(client: GrpcClient) -> bool:
    return (await client.receive(PARENT, GROUP, wait_ms=200))[0] == Code.MESSAGE_NOT_FOUND


async def test_a_reader_is_given_messages_of_the_lite_topics_that_it_subscribes_to(
    client: GrpcClient, reader: GrpcClient
) -> None:
    for lite in ("d1", "d2", "d3"):
        await send(client, lite, b"a", b"b", b"c")
    await subscribe(reader, "d1", "d3")
    found = await taken(reader, 6)
    assert {lite for lite, _ in found} == {"d1", "d3"}
    for lite in ("d1", "d3"):
        assert [body for each, body in found if each == lite] == [b"a", b"b", b"c"]
    assert await nothing_comes(reader)


async def test_what_was_sent_comes_as_it_was_sent(client: GrpcClient, reader: GrpcClient) -> None:
    born = wire.Timestamp(seconds=1_700_000_000)
    answer = await client.send(of("d1", b"a", tag="t", keys=["k"], born_timestamp=born, message_id="M-1"))
    assert (answer.entries[0].message_id, answer.entries[0].offset) == ("M-1", 0)
    await subscribe(reader, "d1")
    _, (given,) = await reader.receive(PARENT, GROUP)
    properties = given.system_properties
    assert (given.topic.name, properties.lite_topic, properties.tag, list(properties.keys)) == (
        PARENT,
        "d1",
        "t",
        ["k"],
    )
    assert (properties.born_timestamp, properties.message_id) == (born, "M-1")
    assert abs(properties.store_timestamp.seconds * 1000 - now_ms()) < MINUTE_MS
    assert not given.user_properties


async def test_who_waits_is_told_of_a_lite_topic_that_is_made_later(client: GrpcClient, reader: GrpcClient) -> None:
    await subscribe(reader, "d1", "d2")
    waiting = asyncio.create_task(reader.receive(PARENT, GROUP, wait_ms=8_000))
    await asyncio.sleep(0)
    started = asyncio.get_running_loop().time()
    await send(client, "d2", b"a")
    _, (given,) = await waiting
    assert (given.system_properties.lite_topic, given.body) == ("d2", b"a")
    assert asyncio.get_running_loop().time() - started < 4


async def test_who_waits_is_given_messages_of_what_it_subscribes_to_meanwhile(
    client: GrpcClient, reader: GrpcClient
) -> None:
    await send(client, "d1", b"a")
    waiting = asyncio.create_task(reader.receive(PARENT, GROUP, wait_ms=8_000))
    started = asyncio.get_running_loop().time()
    await subscribe(reader, "d1")
    _, (given,) = await waiting
    assert given.body == b"a"
    assert asyncio.get_running_loop().time() - started < 4


async def test_no_further_message_of_a_lite_topic_comes_while_one_is_out(
    client: GrpcClient, reader: GrpcClient
) -> None:
    await subscribe(reader, "d1", "d2")
    await send(client, "d1", b"a", b"b")
    _, (first,) = await reader.receive(PARENT, GROUP, wait_ms=2_000, batch_size=1)
    await send(client, "d2", b"x")
    _, (other,) = await reader.receive(PARENT, GROUP, wait_ms=2_000)
    assert (first.body, other.body) == (b"a", b"x")
    assert await nothing_comes(reader)
    await reader.acknowledge(PARENT, GROUP, first.system_properties.receipt_handle)
    assert await taken(reader, 1) == [("d1", b"b")]


async def test_what_failed_comes_again_before_what_follows(client: GrpcClient, reader: GrpcClient) -> None:
    await subscribe(reader, "d1")
    await send(client, "d1", b"a", b"b")
    _, given = await reader.receive(PARENT, GROUP, wait_ms=2_000, batch_size=1)
    first = given[0].system_properties
    changed = await reader.call(
        "ChangeInvisibleDuration",
        group=resource(GROUP),
        topic=resource(PARENT),
        receipt_handle=first.receipt_handle,
        invisible_duration=span(100),
        lite_topic="d1",
    )
    assert changed.status.code == Code.OK
    _, again = await reader.receive(PARENT, GROUP, wait_ms=4_000, batch_size=1)
    assert [(each.body, each.system_properties.delivery_attempt) for each in again] == [(b"a", 2)]


async def test_each_group_has_its_own_progress_in_each_lite_topic(
    client: GrpcClient, reader: GrpcClient, address: str
) -> None:
    await subscribe(reader, "d1")
    await send(client, "d1", b"a")
    assert await taken(reader, 1) == [("d1", b"a")]
    other = GrpcClient(address, "other")
    async with other.introduced(consumer_settings("others", PARENT, kind=ClientType.LITE_SIMPLE_CONSUMER)):
        await subscribe(other, "d1", group=resource("others"))
        _, (given,) = await other.receive(PARENT, "others", wait_ms=2_000)
        assert given.body == b"a"
    await other.close()


async def test_a_dead_letter_tells_its_lite_topic(node: Node, client: GrpcClient, reader: GrpcClient) -> None:
    await subscribe(reader, "d1")
    await send(client, "d1", b"poison", b"b")
    _, given = await reader.receive(PARENT, GROUP, wait_ms=2_000, batch_size=1)
    answer = await reader.call(
        "ForwardMessageToDeadLetterQueue",
        group=resource(GROUP),
        topic=resource(PARENT),
        receipt_handle=given[0].system_properties.receipt_handle,
        lite_topic="d1",
    )
    assert answer.status.code == Code.OK
    _, (letter,) = await client.receive(f"%DLQ%{GROUP}", "undertakers", wait_ms=2_000)
    assert (letter.body, letter.system_properties.lite_topic) == (b"poison", "d1")
    assert letter.system_properties.dead_letter_queue.topic == lite_topic_name(PARENT, "d1")
    assert await taken(reader, 1) == [("d1", b"b")]


async def test_who_unsubscribes_is_given_no_more(client: GrpcClient, reader: GrpcClient) -> None:
    await subscribe(reader, "d1", "d2")
    await sync(reader, LiteAction.PARTIAL_REMOVE, "d1")
    await send(client, "d1", b"a")
    await send(client, "d2", b"b")
    assert await taken(reader, 1) == [("d2", b"b")]
    assert await nothing_comes(reader)
    await sync(reader, LiteAction.COMPLETE_ADD, "d1")
    assert await taken(reader, 1) == [("d1", b"a")]
    await sync(reader, LiteAction.COMPLETE_REMOVE)
    await send(client, "d1", b"c")
    assert await nothing_comes(reader)


async def test_an_answer_that_was_lost_is_given_again(client: GrpcClient, reader: GrpcClient) -> None:
    await subscribe(reader, "d1")
    await send(client, "d1", b"a")
    for _ in range(2):
        _, (given,) = await reader.receive(PARENT, GROUP, wait_ms=2_000, attempt_id="once")
        assert (given.body, given.system_properties.delivery_attempt) == (b"a", 1)


@pytest.mark.parametrize(
    ("option", "bodies"),
    [
        ({"policy": LitePolicy.LAST}, []),
        ({"policy": LitePolicy.MIN}, [b"a", b"b", b"c"]),
        ({"policy": LitePolicy.MAX}, []),
        ({"offset": 1}, [b"b", b"c"]),
        ({"offset": 99}, []),
        ({"tail_n": 1}, [b"c"]),
        ({"timestamp": 0}, [b"a", b"b", b"c"]),
    ],
)
async def test_a_reader_says_where_its_group_goes_on(
    node: Node, client: GrpcClient, reader: GrpcClient, option: dict[str, int], bodies: list[bytes]
) -> None:
    await subscribe(reader, "d1")
    await send(client, "d1", b"a", b"b", b"c")
    await taken(reader, 3)
    await sync(reader, LiteAction.PARTIAL_REMOVE, "d1")
    await until_committed(node, lite_number(node, "d1"), 3)
    await subscribe(reader, "d1", offset_option=wire.OffsetOption(**option))
    if bodies:
        assert await taken(reader, len(bodies)) == [("d1", body) for body in bodies]
    assert await nothing_comes(reader)


def lite_number(node: Node, lite: str) -> int:
    topic = node.lite.topics.find(PARENT, lite)
    assert topic is not None
    return topic.partition_numbers[0]


async def until_committed(node: Node, number: int, offset: int) -> None:
    """What was acknowledged is committed a moment later."""

    async def is_committed() -> bool:
        committed = node.groups.offsets(GROUP).get(number)
        return committed is not None and committed.offset == offset

    await until(is_committed)


async def test_a_lite_consumer_is_told_what_it_may(node: Node, address: str, devices: Topic) -> None:
    await node.catalog.save_group(Group(name=GROUP, settings={LITE_QUOTA: "2"}))
    async with lite_consumer(address, "reader", kind=ClientType.LITE_PUSH_CONSUMER) as (client, _, answer):
        told = answer.settings.subscription
        assert (told.lite_subscription_quota, told.max_lite_topic_size, told.fifo) == (2, 64, True)
        await subscribe(client, "d1", "d2")
        assert (await sync(client, LiteAction.PARTIAL_ADD, "d3")).code == Code.LITE_SUBSCRIPTION_QUOTA_EXCEEDED
        assert (await sync(client, LiteAction.COMPLETE_ADD, "d1", "d2", "d3")).code == (
            Code.LITE_SUBSCRIPTION_QUOTA_EXCEEDED
        )
        route = await client.call("QueryRoute", topic=resource(PARENT))
        assert [list(each.accept_message_types) for each in route.message_queues] == [[MessageType.LITE]]
        assigned = await client.call("QueryAssignment", topic=resource(PARENT), group=resource(GROUP))
        assert [each.message_queue.id for each in assigned.assignments] == [-1]


async def test_an_exclusive_lite_topic_is_taken_over_and_its_reader_is_told(
    node: Node, client: GrpcClient, address: str, devices: Topic
) -> None:
    await node.catalog.save_group(Group(name=GROUP, settings={LITE_MODEL: EXCLUSIVE}))
    async with lite_consumer(address, "first") as (first, stream, _), lite_consumer(address, "next") as (other, _, _):
        await subscribe(first, "d1", "d2")
        await subscribe(other, "d1")
        told = await asyncio.wait_for(stream.read(), 10)
        assert told.notify_unsubscribe_lite_command.lite_topic == "d1"
        await send(client, "d1", b"a")
        assert await nothing_comes(first)
        assert await taken(other, 1) == [("d1", b"a")]
        assert (await sync(first, LiteAction.COMPLETE_ADD, "d1", "d2")).code == Code.OK
        again = await asyncio.wait_for(stream.read(), 10)
        assert again.notify_unsubscribe_lite_command.lite_topic == "d1"
        await send(client, "d1", b"b")
        await send(client, "d2", b"c")
        assert await taken(other, 1) == [("d1", b"b")]
        assert await taken(first, 1) == [("d2", b"c")]


async def test_readers_of_a_group_share_a_lite_topic_one_at_a_time(
    client: GrpcClient, address: str, devices: Topic
) -> None:
    async with lite_consumer(address, "first") as (first, _, _), lite_consumer(address, "next") as (other, _, _):
        await subscribe(first, "d1")
        await subscribe(other, "d1")
        await send(client, "d1", b"a", b"b")
        _, (given,) = await first.receive(PARENT, GROUP, wait_ms=2_000, batch_size=1)
        assert await nothing_comes(other)
        waiting = asyncio.create_task(taken(other, 1))
        await first.acknowledge(PARENT, GROUP, given.system_properties.receipt_handle)
        assert await waiting == [("d1", b"b")]


async def test_what_a_client_read_is_forgotten_when_it_goes(node: Node, client: GrpcClient, reader: GrpcClient) -> None:
    await subscribe(reader, "d1")
    assert (await reader.call("NotifyClientTermination")).status.code == Code.OK
    figures = {metric.name: metric.value for metric in node.lite.metrics()}
    assert figures["braid_lite_subscriptions"] == 0


@pytest.mark.parametrize("name", ["", " ", "a.b", "a|b", "ü", "a" * 65, "*"])
async def test_names_that_no_lite_topic_can_have_are_refused(client: GrpcClient, reader: GrpcClient, name: str) -> None:
    sent = await client.send(of(name, b"a"))
    assert sent.entries[0].status.code == Code.ILLEGAL_LITE_TOPIC
    assert (await sync(reader, LiteAction.PARTIAL_ADD, name)).code == Code.ILLEGAL_LITE_TOPIC


async def test_messages_go_where_they_belong(client: GrpcClient, devices: Topic) -> None:
    plain = await client.send(message(PARENT))
    assert plain.status.code == Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE
    elsewhere = message("orders", lite_topic="d1", message_type=MessageType.LITE)
    answer = await client.send(elsewhere)
    assert answer.status.code == Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE
    assert "kind lite" in answer.status.message
    both = await client.send(of("d1", b"a", message_group="g"))
    assert both.status.code == Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE
    unnamed = await client.send(message(PARENT, message_type=MessageType.LITE))
    assert unnamed.status.code == Code.ILLEGAL_LITE_TOPIC


async def test_who_asks_before_it_introduces_itself_is_given_nothing_yet(client: GrpcClient, devices: Topic) -> None:
    assert await nothing_comes(client)


async def test_only_lite_consumers_read_lite_topics(client: GrpcClient, address: str, devices: Topic) -> None:
    assert (await sync(client, LiteAction.PARTIAL_ADD, "d1")).code == Code.UNRECOGNIZED_CLIENT_TYPE
    async with client.introduced(consumer_settings(GROUP, PARENT)):
        assert (await sync(client, LiteAction.PARTIAL_ADD, "d1")).code == Code.UNRECOGNIZED_CLIENT_TYPE
        answers = await client.stream(
            "ReceiveMessage", group=resource(GROUP), message_queue=queue(PARENT), invisible_duration=span(30_000)
        )
        assert answers[0].status.code == Code.BAD_REQUEST
        assert "lite" in answers[0].status.message


async def test_subscriptions_that_cannot_be_are_refused(node: Node, reader: GrpcClient) -> None:
    await node.topics.create("orders", partitions=1)
    await node.topics.create("more-devices", partitions=1, kind=TopicKind.LITE)
    assert (await sync(reader, LiteAction.PARTIAL_ADD, "d1", topic=resource("orders"))).code == Code.ILLEGAL_TOPIC
    assert (await sync(reader, LiteAction.PARTIAL_ADD, "d1", topic=resource("none"))).code == Code.TOPIC_NOT_FOUND
    assert (await sync(reader, 9, "d1")).code == Code.BAD_REQUEST
    bad = wire.OffsetOption(offset=-1)
    assert (await sync(reader, LiteAction.PARTIAL_ADD, "d1", offset_option=bad)).code == Code.ILLEGAL_OFFSET
    bad = wire.OffsetOption(policy=9)
    assert (await sync(reader, LiteAction.PARTIAL_ADD, "d1", offset_option=bad)).code == Code.ILLEGAL_OFFSET
    await subscribe(reader, "d1")
    elsewhere = resource("more-devices")
    assert (await sync(reader, LiteAction.PARTIAL_ADD, "d1", topic=elsewhere)).code == Code.BAD_REQUEST
    assert (await reader.receive("more-devices", GROUP))[0] == Code.BAD_REQUEST
    await node.catalog.save_group(Group(name=GROUP, settings={LITE_BIND_TOPIC: "more-devices"}))
    assert (await sync(reader, LiteAction.PARTIAL_ADD, "d2")).code == Code.ILLEGAL_CONSUMER_GROUP


async def test_a_handle_counts_for_the_lite_topics_of_its_topic_only(
    node: Node, client: GrpcClient, reader: GrpcClient
) -> None:
    await node.topics.create("more-devices", partitions=1, kind=TopicKind.LITE)
    await subscribe(reader, "d1")
    await send(client, "d1", b"a")
    _, (given,) = await reader.receive(PARENT, GROUP, wait_ms=2_000)
    handle = given.system_properties.receipt_handle
    wrong = await reader.acknowledge("more-devices", GROUP, handle)
    assert wrong.entries[0].status.code == Code.INVALID_RECEIPT_HANDLE
    assert (await reader.acknowledge(PARENT, GROUP, handle)).entries[0].status.code == Code.OK


async def test_a_topic_has_so_many_lite_topics_and_no_more(start_node: StartNode) -> None:
    node = await start_node(lite=LiteSettings(topics_max=2))
    await node.topics.create(PARENT, partitions=1, kind=TopicKind.LITE)
    client = GrpcClient(str(node.addresses["rocketmq_grpc"][0]))
    await send(client, "d1", b"a")
    answers = await asyncio.gather(*(client.send(of(f"d{number}", b"a")) for number in (1, 2, 3, 4)))
    codes = [answer.status.code for answer in answers]
    assert codes.count(Code.OK) == 2
    assert codes.count(Code.LITE_TOPIC_QUOTA_EXCEEDED) == 2
    await client.close()


async def test_an_idle_lite_topic_goes_and_comes_again_with_its_next_message(
    node: Node, client: GrpcClient, reader: GrpcClient, devices: Topic
) -> None:
    await node.topics.configure(devices, lambda texts: {**texts, "lite.topic.expiration": "10"})
    await subscribe(reader, "d1", "d2")
    await send(client, "d1", b"old")
    await send(client, "d2", b"young")
    assert await node.lite.tend(now_ms() + 9 * MINUTE_MS) == 0
    assert await node.lite.tend(now_ms() + 11 * MINUTE_MS) == 2
    assert node.lite.topics.find(PARENT, "d1") is None
    assert await nothing_comes(reader)
    await send(client, "d1", b"new")
    assert await taken(reader, 1) == [("d1", b"new")]


async def test_a_lite_topic_does_not_go_while_something_is_sent_to_it(
    node: Node, client: GrpcClient, devices: Topic
) -> None:
    changed = await node.topics.configure(devices, lambda texts: {**texts, "lite.topic.expiration": "1"})
    await send(client, "d1", b"old")
    async with node.lite.topics.used(changed, "d1"):
        assert await node.lite.tend(now_ms() + 2 * MINUTE_MS) == 0
    assert await node.lite.tend(now_ms() + 2 * MINUTE_MS) == 1


async def test_a_topic_that_goes_takes_its_lite_topics_along(node: Node, client: GrpcClient, devices: Topic) -> None:
    await send(client, "d1", b"old")
    await node.topics.delete(devices)
    await node.topics.create(PARENT, partitions=1, kind=TopicKind.LITE)
    await send(client, "d1", b"new")
    number = lite_number(node, "d1")
    assert node.log.bounds(number).end == 1
    async with lite_consumer(str(node.addresses["rocketmq_grpc"][0]), "late") as (late, _, _):
        await subscribe(late, "d1")
        assert await taken(late, 1) == [("d1", b"new")]


async def test_lite_topics_have_what_their_topic_is_set_to(node: Node, client: GrpcClient, devices: Topic) -> None:
    await node.topics.configure(devices, lambda _: {"retention.ms": "3600000", "lite.topic.expiration": "5"})
    await send(client, "d1", b"a")
    made = node.lite.topics.find(PARENT, "d1")
    assert made is not None
    assert (made.retention_ms, made.settings) == (3_600_000, {"retention.ms": "3600000"})
    await node.topics.configure(devices, lambda _: {"retention.ms": "7200000"})
    await node.lite.tend(now_ms())
    changed = node.lite.topics.find(PARENT, "d1")
    assert changed is not None
    assert changed.retention_ms == 7_200_000


async def test_lite_topics_their_messages_and_their_readers_progress_outlive_a_restart(
    start_node: StartNode, node: Node, client: GrpcClient, reader: GrpcClient, devices: Topic
) -> None:
    await node.topics.configure(devices, lambda texts: {**texts, "lite.topic.expiration": "10"})
    await subscribe(reader, "d1")
    await send(client, "d1", b"a", b"b")
    _, (given,) = await reader.receive(PARENT, GROUP, wait_ms=2_000, batch_size=1)
    await reader.acknowledge(PARENT, GROUP, given.system_properties.receipt_handle)
    await node.stop()
    again = await start_node()
    async with lite_consumer(str(again.addresses["rocketmq_grpc"][0]), "reader") as (late, _, _):
        await sync(late, LiteAction.COMPLETE_ADD, "d1")
        assert await taken(late, 1) == [("d1", b"b")]
    assert await again.lite.tend(now_ms() + 9 * MINUTE_MS) == 0
    assert await again.lite.tend(now_ms() + 11 * MINUTE_MS) == 1
