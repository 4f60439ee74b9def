"""Receiving, acknowledging, and all that is said of messages, call by call."""

import asyncio
import base64
import statistics
import time
from typing import Any

import pytest

from braidmq.model import DEFAULT_INSTANCE, Group, Message
from braidmq.node import Node
from braidmq.protocols.rocketmq_grpc import wire
from braidmq.protocols.rocketmq_grpc.codes import ClientType, Code, FilterType, MessageType
from rocketmq_grpc_support import GrpcClient, consumer_settings, message, queue, resource, span


async def change(client: GrpcClient, handle: str, invisible_ms: int, *, suspend: bool = False) -> Any:
    return await client.call(
        "ChangeInvisibleDuration",
        group=resource("readers"),
        topic=resource("orders"),
        receipt_handle=handle,
        invisible_duration=span(invisible_ms),
        suspend=suspend,
    )


async def test_a_message_is_done_when_it_is_acknowledged_and_its_handle_is_good_once(client: GrpcClient) -> None:
    await client.send(message("orders"))
    _, (given,) = await client.receive("orders", "readers")
    handle = given.system_properties.receipt_handle
    first = await client.acknowledge("orders", "readers", handle)
    assert [each.status.code for each in first.entries] == [Code.OK]
    again = await client.acknowledge("orders", "readers", handle)
    assert again.status.code == again.entries[0].status.code == Code.INVALID_RECEIPT_HANDLE
    assert (await client.receive("orders", "readers"))[0] == Code.MESSAGE_NOT_FOUND


@pytest.mark.parametrize("forge", ["", "forged", "A" * 38, "\u00e9", "x" * 10_000])
async def test_a_forged_handle_is_worth_nothing(client: GrpcClient, forge: str) -> None:
    await client.send(message("orders"))
    await client.receive("orders", "readers")
    assert (await client.acknowledge("orders", "readers", forge)).status.code == Code.INVALID_RECEIPT_HANDLE
    assert (await change(client, forge, 1000)).status.code == Code.INVALID_RECEIPT_HANDLE
    names = {"group": resource("readers"), "topic": resource("orders")}
    forwarded = await client.call("ForwardMessageToDeadLetterQueue", receipt_handle=forge, **names)
    assert forwarded.status.code == Code.INVALID_RECEIPT_HANDLE


async def test_a_handle_is_good_for_its_own_group_and_topic_only(client: GrpcClient) -> None:
    await client.send(message("orders"))
    await client.send(message("others"))
    _, (given,) = await client.receive("orders", "readers")
    handle = given.system_properties.receipt_handle
    assert (await client.acknowledge("orders", "strangers", handle)).status.code == Code.INVALID_RECEIPT_HANDLE
    assert (await client.acknowledge("others", "readers", handle)).status.code == Code.INVALID_RECEIPT_HANDLE
    raw = bytearray(base64.urlsafe_b64decode(handle + "=="))
    raw[-1] ^= 1
    changed = base64.urlsafe_b64encode(raw).decode().rstrip("=")
    mixed = await client.acknowledge("orders", "readers", changed, handle)
    assert mixed.status.code == Code.MULTIPLE_RESULTS
    assert [each.status.code for each in mixed.entries] == [Code.INVALID_RECEIPT_HANDLE, Code.OK]


async def test_a_changed_time_brings_the_message_again_under_a_new_handle(client: GrpcClient) -> None:
    await client.send(message("orders"))
    _, (given,) = await client.receive("orders", "readers")
    first = given.system_properties.receipt_handle
    changed = await change(client, first, 300)
    assert changed.status.code == Code.OK
    assert changed.receipt_handle not in ("", first)
    began = time.monotonic()
    _, (again,) = await client.receive("orders", "readers", wait_ms=5000)
    assert 0.2 < time.monotonic() - began < 3
    assert again.system_properties.delivery_attempt == 2
    assert (await client.acknowledge("orders", "readers", changed.receipt_handle)).status.code == (
        Code.INVALID_RECEIPT_HANDLE
    )
    await change(client, again.system_properties.receipt_handle, 0, suspend=True)
    _, (suspended,) = await client.receive("orders", "readers", wait_ms=5000)
    assert suspended.system_properties.delivery_attempt == 2


async def test_what_missed_its_deadline_comes_again_to_one_who_waits_within_200_ms(client: GrpcClient) -> None:
    for nth in range(21):
        await client.send(message("orders", b"%d" % nth))
    due: dict[bytes, float] = {}
    while len(due) < 21:
        _, given = await client.receive("orders", "readers", wait_ms=5000)
        for nth, each in enumerate(given, start=len(due)):
            delay_ms = 500 + 70 * nth
            due[each.body] = time.monotonic() + delay_ms / 1000
            await change(client, each.system_properties.receipt_handle, delay_ms)
    late_s: dict[bytes, float] = {}
    while len(late_s) < 21:
        _, again = await client.receive("orders", "readers", wait_ms=5000)
        assert again, "nothing came within seconds"
        late_s |= {each.body: time.monotonic() - due[each.body] for each in again}
    assert min(late_s.values()) > -0.002, "one came before its time"
    assert statistics.median(late_s.values()) < 0.2


async def test_a_receiver_that_waits_has_a_new_message_at_once(client: GrpcClient) -> None:
    await client.call("QueryRoute", topic=resource("orders"))
    waiting = asyncio.create_task(client.receive("orders", "readers", wait_ms=8000))
    await asyncio.sleep(0.3)
    began = time.monotonic()
    await client.send(message("orders"))
    _, given = await waiting
    assert len(given) == 1
    assert time.monotonic() - began < 2


async def test_a_wait_ends_before_its_call_does(client: GrpcClient) -> None:
    await client.call("QueryRoute", topic=resource("orders"))
    answers = await client.stream(
        "ReceiveMessage",
        timeout_s=2,
        group=resource("readers"),
        message_queue=queue("orders"),
        batch_size=1,
        invisible_duration=span(30_000),
        long_polling_timeout=span(20_000),
    )
    assert answers[0].status.code == Code.MESSAGE_NOT_FOUND


async def test_what_a_receiver_waits_for_goes_to_another_when_it_has_gone(client: GrpcClient) -> None:
    await client.call("QueryRoute", topic=resource("orders"))
    waiting = asyncio.create_task(client.receive("orders", "readers", wait_ms=8000))
    await asyncio.sleep(0.3)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await client.send(message("orders"))
    _, given = await client.receive("orders", "readers", wait_ms=5000)
    assert [each.system_properties.delivery_attempt for each in given] == [1]


REFUSED: dict[str, tuple[dict[str, Any], Code]] = {
    "too short a time": ({"invisible_duration": span(9_999)}, Code.ILLEGAL_INVISIBLE_TIME),
    "too long a time": ({"invisible_duration": span(12 * 3_600_000 + 1)}, Code.ILLEGAL_INVISIBLE_TIME),
    "a negative wait": ({"long_polling_timeout": wire.Duration(seconds=-1)}, Code.ILLEGAL_POLLING_TIME),
    "a broken filter": (
        {"filter_expression": wire.FilterExpression(type=FilterType.SQL, expression="a >")},
        Code.ILLEGAL_FILTER_EXPRESSION,
    ),
    "a filter of no kind": ({"filter_expression": wire.FilterExpression(type=9)}, Code.ILLEGAL_FILTER_EXPRESSION),
    "no group": ({"group": resource("")}, Code.ILLEGAL_CONSUMER_GROUP),
    "no topic": ({"message_queue": queue("")}, Code.ILLEGAL_TOPIC),
    "an unknown topic": ({"message_queue": queue("unknown")}, Code.TOPIC_NOT_FOUND),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_a_receive_that_cannot_be_is_refused_with_its_reason(client: GrpcClient, case: str) -> None:
    await client.send(message("orders"))
    fields, code = REFUSED[case]
    asked = {"group": resource("readers"), "message_queue": queue("orders"), "invisible_duration": span(10_000)}
    answers = await client.stream("ReceiveMessage", **asked | fields)
    assert [Code(answer.status.code) for answer in answers] == [code]


@pytest.mark.parametrize(
    ("kind", "expression", "wanted"),
    [(FilterType.TAG, "a||b", [b"a", b"b"]), (FilterType.SQL, "size > 5", [b"c"]), (FilterType.TAG, "z", [])],
)
async def test_a_receiver_gets_what_it_chooses(
    client: GrpcClient, kind: FilterType, expression: str, wanted: list[bytes]
) -> None:
    for tag, size in (("a", 1), ("b", 2), ("c", 9)):
        await client.send(message("orders", tag.encode(), tag=tag, properties={"size": str(size)}))
    chosen = wire.FilterExpression(type=kind, expression=expression)
    _, given = await client.receive("orders", "readers", filter_expression=chosen)
    assert sorted(each.body for each in given) == wanted


async def test_a_group_in_order_has_one_batch_of_a_message_group_at_a_time(node: Node, client: GrpcClient) -> None:
    await node.topics.create("orders", partitions=2)
    await node.catalog.save_group(Group(name="readers", ordered=True))
    for number in range(4):
        await client.send(message("orders", str(number).encode(), message_group="g", message_type=MessageType.FIFO))
    _, first = await client.receive("orders", "readers", batch_size=2, attempt_id="once")
    assert [each.body for each in first] == [b"0", b"1"]
    _, again = await client.receive("orders", "readers", batch_size=2, attempt_id="once")
    handles = [each.system_properties.receipt_handle for each in first]
    assert [each.system_properties.receipt_handle for each in again] == handles
    assert (await client.receive("orders", "readers"))[0] == Code.MESSAGE_NOT_FOUND
    await client.acknowledge("orders", "readers", *handles)
    _, rest = await client.receive("orders", "readers", wait_ms=2000)
    assert [each.body for each in rest] == [b"2", b"3"]


async def test_a_message_is_forwarded_to_the_dead_letters_of_its_group(client: GrpcClient) -> None:
    await client.send(message("orders", b"poison", message_id="P1"))
    _, (given,) = await client.receive("orders", "readers")
    names = {"group": resource("readers"), "topic": resource("orders")}
    handle = given.system_properties.receipt_handle
    answer = await client.call("ForwardMessageToDeadLetterQueue", receipt_handle=handle, **names)
    assert answer.status.code == Code.OK
    _, (letter,) = await client.receive("%DLQ%readers", "undertakers", wait_ms=5000)
    assert (letter.body, letter.system_properties.message_id) == (b"poison", "P1")
    assert letter.system_properties.dead_letter_queue.topic == "orders"
    assert letter.system_properties.dead_letter_queue.message_id == "P1"


async def test_messages_of_a_push_consumer_are_renewed_while_its_stream_lives(node: Node, client: GrpcClient) -> None:
    await client.send(message("orders"))
    settings = consumer_settings("readers", "orders", kind=ClientType.PUSH_CONSUMER)
    topic = node.topics.find("orders")
    assert topic is not None
    async with client.introduced(settings):
        _, (given,) = await client.receive("orders", "readers", auto_renew=True, invisible_duration=None)
        (open_message,) = [view for view in node.cursors.views("readers", topic) if view.out]
        assert open_message.out == 1
        (holder,) = node.members.consumers("readers")
        assert holder.channel.is_alive  # type: ignore[attr-defined]
    assert (
        await client.acknowledge("orders", "readers", given.system_properties.receipt_handle)
    ).status.code == Code.OK


async def test_a_message_of_another_protocol_is_given_as_well_as_it_can_be(node: Node, client: GrpcClient) -> None:
    topic = await node.topics.create("orders", partitions=1)
    foreign = Message(body=None, key=b"k1", headers=(("a", None), ("a", b"\xff"), ("__SHARDINGKEY", b"s")), born_ms=5)
    await node.publisher.published(topic, [foreign, Message(body=b"b", key=b"k 2")])
    _, (first, second) = await client.receive("orders", "readers")
    assert (first.body, dict(first.user_properties)) == (b"", {"a": "\ufffd"})
    assert (first.system_properties.message_group, first.system_properties.message_type) == ("s", MessageType.FIFO)
    assert first.system_properties.message_id
    assert list(second.system_properties.keys) == ["k 2"]


async def test_readers_by_offset_keep_their_place(client: GrpcClient, node: Node) -> None:
    await node.topics.create("orders", partitions=1)
    for number in range(3):
        await client.send(message("orders", str(number).encode()))
    place = {"group": resource("readers"), "message_queue": queue("orders", 0)}
    assert (await client.call("GetOffset", **place)).status.code == Code.OFFSET_NOT_FOUND
    answers = await client.stream("PullMessage", offset=1, batch_size=10, **place)
    assert [answer.WhichOneof("content") for answer in answers] == ["status", "message", "message", "next_offset"]
    assert [answer.message.body for answer in answers[1:3]] == [b"1", b"2"]
    assert answers[-1].next_offset == 3
    empty = await client.stream("PullMessage", offset=3, batch_size=10, **place)
    assert [empty[0].status.code, empty[-1].next_offset] == [Code.MESSAGE_NOT_FOUND, 3]
    beyond = await client.stream("PullMessage", offset=9, batch_size=10, **place)
    assert [answer.status.code for answer in beyond] == [Code.ILLEGAL_OFFSET]
    assert (await client.call("UpdateOffset", offset=2, **place)).status.code == Code.OK
    assert (await client.call("GetOffset", **place)).offset == 2
    assert (await client.call("UpdateOffset", offset=-2, **place)).status.code == Code.ILLEGAL_OFFSET


@pytest.mark.parametrize(("policy", "offset"), [(0, 0), (1, 2)])
async def test_the_ends_of_a_queue_are_told(client: GrpcClient, node: Node, policy: int, offset: int) -> None:
    await node.topics.create("orders", partitions=1)
    for _ in range(2):
        await client.send(message("orders"))
    answer = await client.call("QueryOffset", message_queue=queue("orders", 0), query_offset_policy=policy)
    assert (answer.status.code, answer.offset) == (Code.OK, offset)


async def test_an_offset_is_found_by_time(client: GrpcClient, node: Node) -> None:
    await node.topics.create("orders", partitions=1)
    await client.send(message("orders", born_timestamp=wire.Timestamp(seconds=1000)))
    await client.send(message("orders", born_timestamp=wire.Timestamp(seconds=2000)))
    asked = {"message_queue": queue("orders", 0), "query_offset_policy": 2}
    found = await client.call("QueryOffset", timestamp=wire.Timestamp(seconds=1500), **asked)
    assert (found.status.code, found.offset) == (Code.OK, 1)
    assert (await client.call("QueryOffset", **asked)).status.code == Code.BAD_REQUEST
    nowhere = await client.call("QueryOffset", message_queue=queue("orders", 7), query_offset_policy=0)
    assert nowhere.status.code == Code.TOPIC_NOT_FOUND


async def test_a_group_that_may_not_read_is_refused(node: Node, client: GrpcClient) -> None:
    await client.send(message("orders"))
    await node.catalog.save_group(Group(name="readers", settings={"consume": "off"}))
    assert node.catalog.group(DEFAULT_INSTANCE, "readers") is not None
    assert (await client.receive("orders", "readers"))[0] == Code.FORBIDDEN
