"""Sending, transactions and recalls, call by call."""

import asyncio
import gzip
import hashlib
import zlib
from typing import Any

import pytest

from braidmq.model import TopicKind
from braidmq.node import Node
from braidmq.protocols.rocketmq_grpc import wire
from braidmq.protocols.rocketmq_grpc.codes import Code, DigestType, Encoding, MessageType, Resolution, Source
from rocketmq_grpc_support import GrpcClient, message, moment, now_ms, producer_settings, resource, span


async def test_a_message_is_stored_with_all_that_it_carries_and_given_back(client: GrpcClient) -> None:
    sent = message(
        "orders",
        b"paid",
        properties={"colour": "röt"},
        message_id="0102FC0000000130990B0C649100000000",
        tag="a",
        keys=["k1", "k2"],
        trace_context="00-ab-cd-01",
        born_host="desk",
    )
    answer = await client.send(sent)
    assert answer.status.code == Code.OK
    assert [(each.status.code, each.message_id) for each in answer.entries] == [
        (Code.OK, "0102FC0000000130990B0C649100000000")
    ]
    _, (given,) = await client.receive("orders", "readers")
    properties = given.system_properties
    assert (given.body, dict(given.user_properties)) == (b"paid", {"colour": "röt"})
    assert (properties.tag, list(properties.keys), properties.trace_context) == ("a", ["k1", "k2"], "00-ab-cd-01")
    assert (properties.message_id, properties.born_host) == ("0102FC0000000130990B0C649100000000", "desk")
    assert properties.message_type == MessageType.NORMAL
    assert properties.body_encoding == Encoding.IDENTITY
    assert properties.body_digest.type == DigestType.MD5
    assert properties.body_digest.checksum == hashlib.md5(b"paid", usedforsecurity=False).hexdigest().upper()
    assert properties.delivery_attempt == 1
    assert properties.born_timestamp == sent.system_properties.born_timestamp
    assert properties.HasField("store_timestamp")


@pytest.mark.parametrize("compress", [gzip.compress, zlib.compress])
async def test_a_compressed_body_is_opened(client: GrpcClient, compress: Any) -> None:
    await client.send(message("orders", compress(b"x" * 10_000), body_encoding=Encoding.GZIP))
    _, (given,) = await client.receive("orders", "readers")
    assert given.body == b"x" * 10_000


BOMB = gzip.compress(bytes(5 << 20))
CUT = gzip.compress(b"x" * 99)[:-9]
REFUSED = {
    "no id": (message("orders", message_id=""), Code.ILLEGAL_MESSAGE_ID),
    "an empty body": (message("orders", b""), Code.MESSAGE_BODY_EMPTY),
    "a large body": (message("orders", b"x" * ((4 << 20) + 1)), Code.MESSAGE_BODY_TOO_LARGE),
    "a bomb": (
        message("orders", gzip.compress(bytes(5 << 20)), body_encoding=Encoding.GZIP),
        Code.MESSAGE_BODY_TOO_LARGE,
    ),
    "a broken body": (message("orders", b"no gzip", body_encoding=Encoding.GZIP), Code.MESSAGE_CORRUPTED),
    "a cut body": (
        message("orders", gzip.compress(b"x" * 99)[:-9], body_encoding=Encoding.GZIP),
        Code.MESSAGE_CORRUPTED,
    ),
    "a wrong digest": (
        message("orders", body_digest=wire.Digest(type=DigestType.MD5, checksum="00")),
        Code.MESSAGE_CORRUPTED,
    ),
    "a reserved property": (message("orders", properties={"TAGS": "a"}), Code.ILLEGAL_MESSAGE_PROPERTY_KEY),
    "a separator": (message("orders", properties={"a\x01": "a"}), Code.ILLEGAL_MESSAGE_PROPERTY_KEY),
    "many properties": (
        message("orders", properties={str(number): "" for number in range(129)}),
        Code.MESSAGE_PROPERTIES_TOO_LARGE,
    ),
    "large properties": (message("orders", properties={"a": "x" * (16 << 10)}), Code.MESSAGE_PROPERTIES_TOO_LARGE),
    "a long group": (
        message("orders", message_group="g" * 65, message_type=MessageType.FIFO),
        Code.ILLEGAL_MESSAGE_GROUP,
    ),
    "no group": (message("orders", message_type=MessageType.FIFO), Code.ILLEGAL_MESSAGE_GROUP),
    "a bar in the tag": (message("orders", tag="a|b"), Code.ILLEGAL_MESSAGE_TAG),
    "a blank tag": (message("orders", tag=" "), Code.ILLEGAL_MESSAGE_TAG),
    "a blank key": (message("orders", keys=[""]), Code.ILLEGAL_MESSAGE_KEY),
    "another type": (message("orders", message_group="g"), Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE),
    "two types": (
        message("orders", message_group="g", delivery_timestamp=moment(now_ms()), message_type=MessageType.DELAY),
        Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE,
    ),
    "a delay too long": (
        message("orders", delivery_timestamp=moment(now_ms() + 41 * 86_400_000), message_type=MessageType.DELAY),
        Code.ILLEGAL_DELIVERY_TIME,
    ),
    "a lite topic of a topic that has none": (
        message("orders", lite_topic="l", message_type=MessageType.LITE),
        Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE,
    ),
    "no topic": (message(""), Code.ILLEGAL_TOPIC),
    "a system topic": (message("RMQ_SYS_TRANS_HALF_TOPIC"), Code.FORBIDDEN),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_a_message_that_is_refused_is_nowhere(client: GrpcClient, case: str) -> None:
    sent, code = REFUSED[case]
    answer = await client.send(sent)
    assert Code(answer.status.code) == code
    status, given = await client.receive("orders", "readers")
    assert (status, given) in ((Code.TOPIC_NOT_FOUND, []), (Code.MESSAGE_NOT_FOUND, []))


async def test_messages_of_one_call_have_their_own_fates(client: GrpcClient) -> None:
    answer = await client.send(message("orders", b"good"), message("orders", b""), message("orders", b"too"))
    assert answer.status.code == Code.MULTIPLE_RESULTS
    assert [each.status.code for each in answer.entries] == [Code.OK, Code.MESSAGE_BODY_EMPTY, Code.OK]
    _, given = await client.receive("orders", "readers")
    assert {each.body for each in given} == {b"good", b"too"}


async def test_messages_of_one_call_go_to_one_topic(client: GrpcClient) -> None:
    assert (await client.send(message("a"), message("b"))).status.code == Code.BAD_REQUEST
    assert (await client.send()).status.code == Code.BAD_REQUEST


OF_KINDS = {
    TopicKind.NORMAL: {},
    TopicKind.FIFO: {"message_group": "g", "message_type": MessageType.FIFO},
    TopicKind.DELAY: {"delivery_timestamp": moment(now_ms() + 60_000), "message_type": MessageType.DELAY},
    TopicKind.TRANSACTION: {"message_type": MessageType.TRANSACTION},
}


@pytest.mark.parametrize("kind", TopicKind)
async def test_a_topic_takes_messages_of_its_kind_only(node: Node, client: GrpcClient, kind: TopicKind) -> None:
    await node.topics.create("typed", kind=kind)
    for sent, fields in OF_KINDS.items():
        answer = await client.send(message("typed", **fields))
        fits = kind in (sent, TopicKind.MIXED)
        assert Code(answer.status.code) == (Code.OK if fits else Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE), sent
    route = await client.call("QueryRoute", topic=resource("typed"))
    accepted = set(route.message_queues[0].accept_message_types)
    assert accepted == ({1, 2, 3, 4} if kind is TopicKind.MIXED else {MessageType[kind.name]})


async def test_a_delayed_message_can_be_taken_back_once(client: GrpcClient) -> None:
    late = {"delivery_timestamp": moment(now_ms() + 60_000), "message_type": MessageType.DELAY}
    (entry,) = (await client.send(message("orders", **late))).entries
    recalled = await client.call("RecallMessage", topic=resource("orders"), recall_handle=entry.recall_handle)
    assert (recalled.status.code, recalled.message_id) == (Code.OK, entry.message_id)
    again = await client.call("RecallMessage", topic=resource("orders"), recall_handle=entry.recall_handle)
    assert again.status.code == Code.NOT_FOUND
    forged = await client.call("RecallMessage", topic=resource("orders"), recall_handle="forged")
    assert forged.status.code == Code.BAD_REQUEST


async def half(client: GrpcClient, body: bytes = b"half") -> Any:
    answer = await client.send(message("orders", body, message_type=MessageType.TRANSACTION))
    assert answer.status.code == Code.OK
    return answer.entries[0]


async def end(client: GrpcClient, entry: Any, resolution: int, source: int = Source.CLIENT) -> Code:
    answer = await client.call(
        "EndTransaction",
        topic=resource("orders"),
        message_id=entry.message_id,
        transaction_id=entry.transaction_id,
        resolution=resolution,
        source=source,
    )
    return Code(answer.status.code)


async def test_a_half_message_counts_when_it_is_committed(client: GrpcClient) -> None:
    yes, no = await half(client, b"yes"), await half(client, b"no")
    assert (await client.receive("orders", "readers"))[0] == Code.MESSAGE_NOT_FOUND
    assert await end(client, yes, Resolution.COMMIT) == Code.OK
    assert await end(client, yes, Resolution.COMMIT) == Code.OK
    assert await end(client, no, Resolution.ROLLBACK) == Code.OK
    assert await end(client, no, Resolution.COMMIT) == Code.INVALID_TRANSACTION_ID
    _, given = await client.receive("orders", "readers", wait_ms=2000)
    assert [(each.body, each.system_properties.message_type) for each in given] == [(b"yes", MessageType.TRANSACTION)]


async def test_an_end_that_cannot_be_is_refused(client: GrpcClient) -> None:
    entry = await half(client)
    assert await end(client, entry, 0) == Code.BAD_REQUEST
    entry.transaction_id = ""
    assert await end(client, entry, Resolution.COMMIT) == Code.INVALID_TRANSACTION_ID
    entry.transaction_id = "forged"
    assert await end(client, entry, Resolution.COMMIT) == Code.INVALID_TRANSACTION_ID
    entry.transaction_id = "0" * 32
    assert await end(client, entry, Resolution.COMMIT) == Code.INVALID_TRANSACTION_ID


async def test_a_live_producer_of_the_topic_is_asked_about_a_forgotten_half(client: GrpcClient, address: str) -> None:
    other = GrpcClient(address, "other")
    async with other.introduced(producer_settings("orders")) as (stream, _):
        fields = {"orphaned_transaction_recovery_duration": span(1000), "message_type": MessageType.TRANSACTION}
        (entry,) = (await client.send(message("orders", b"half", tag="a", **fields))).entries
        asked = (await asyncio.wait_for(stream.read(), 10)).recover_orphaned_transaction_command
        assert asked.transaction_id == entry.transaction_id
        assert (asked.message.body, asked.message.system_properties.tag) == (b"half", "a")
        assert asked.message.system_properties.message_id == entry.message_id
        assert await end(other, entry, Resolution.COMMIT, Source.SERVER_CHECK) == Code.OK
    _, given = await client.receive("orders", "readers", wait_ms=2000)
    assert [each.body for each in given] == [b"half"]
    await other.close()
