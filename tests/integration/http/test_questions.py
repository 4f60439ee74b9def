"""Members are asked over the API what their threads do, and to try a message, on both of RocketMQ's protocols."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from api_support import Publish
from braidmq.node import Node
from braidmq.protocols.rocketmq.codec import Command, Host, RequestCode, ResponseCode, decode_body, encode_body
from braidmq.protocols.rocketmq.codec.bodies import ConsumeMessageDirectlyResult, ConsumerRunningInfo
from braidmq.protocols.rocketmq.codec.ids import physical_offset, write_offset_id
from braidmq.protocols.rocketmq.codec.messages import decode_messages
from braidmq.protocols.rocketmq.handlers import connections
from braidmq.protocols.rocketmq_grpc import wire
from braidmq.protocols.rocketmq_grpc.codes import ClientType, Code
from rocketmq_grpc_support import GrpcClient, consumer_settings
from rocketmq_support import RawClient

Answered = Callable[[Any], Any]
PLACE = {"topic": "orders", "partition": 0, "offset": 1}
STACKS = "main\n\tat Shop.sell(Shop.java:7)\n"


def answered(command: Any) -> Any:
    """As a client does that lives."""
    if command.HasField("print_thread_stack_trace_command"):
        nonce = command.print_thread_stack_trace_command.nonce
        told = wire.ThreadStackTrace(nonce=nonce, thread_stack_trace=STACKS)
        return wire.TelemetryCommand(status=wire.Status(code=Code.OK), thread_stack_trace=told)
    result = wire.VerifyMessageResult(nonce=command.verify_message_command.nonce)
    return wire.TelemetryCommand(status=wire.Status(code=Code.OK), verify_message_result=result)


@asynccontextmanager
async def member(
    node: Node, answer: Answered = answered, kind: ClientType = ClientType.PUSH_CONSUMER
) -> AsyncIterator[list[Any]]:
    """A gRPC member `one@host#1` of the group `buyers` that answers what it is asked; and what it was asked."""
    client = GrpcClient(str(node.addresses["rocketmq_grpc"][0]), "one@host#1")
    heard: list[Any] = []
    async with client.introduced(consumer_settings("buyers", "orders", kind=kind)) as (stream, _):

        async def listen() -> None:
            while True:
                command = await stream.read()
                heard.append(command)
                if (said := answer(command)) is not None:
                    await stream.write(said)

        listening = asyncio.create_task(listen())
        yield heard
        listening.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await listening
    await client.close()


@pytest.fixture(autouse=True)
async def orders(node: Node, publish: Publish) -> None:
    await node.topics.create("orders", partitions=1)
    await publish("orders", 2)


def path(question: str, client_id: str = "one%40host%231") -> str:
    return f"/groups/buyers/members/{client_id}/{question}"


async def test_a_grpc_member_tells_its_stacks(api: httpx.AsyncClient, node: Node) -> None:
    async with member(node):
        told = await api.post(path("stack-trace"))
    assert told.json() == {"group": "buyers", "client_id": "one@host#1", "stack_trace": STACKS}


async def test_a_grpc_member_tries_a_message_and_its_group_stays_where_it_is(
    api: httpx.AsyncClient, node: Node
) -> None:
    async with member(node) as heard:
        found = (await api.post(path("verify"), json=PLACE)).json()
    assert (found["outcome"], found["client_id"]) == ("consumed", "one@host#1")
    assert found["spent_ms"] >= 0
    shown = heard[-1].verify_message_command.message
    assert (shown.topic.name, shown.body, shown.system_properties.queue_offset) == ("orders", b"x", 1)
    assert node.cursors.views("buyers") == []


@pytest.mark.parametrize(
    ("code", "outcome"), [(Code.FAILED_TO_CONSUME_MESSAGE, "failed"), (Code.MESSAGE_CORRUPTED, "corrupt")]
)
async def test_what_a_member_could_not_do_with_a_message_is_told(
    api: httpx.AsyncClient, node: Node, code: Code, outcome: str
) -> None:
    def refusing(command: Any) -> Any:
        said = answered(command)
        said.status.code, said.status.message = code, "no stock"
        return said

    async with member(node, refusing):
        found = (await api.post(path("verify"), json=PLACE)).json()
    assert (found["outcome"], found["remark"]) == (outcome, "no stock")


async def test_a_member_that_is_silent_is_told_of_in_time(api: httpx.AsyncClient, node: Node) -> None:
    async with member(node, lambda _: None):
        silent = await api.post(path("stack-trace"), params={"wait_s": 0.2})
    assert (silent.status_code, silent.json()["code"]) == (504, "member_silent")
    assert "0.2 s" in silent.json()["detail"]


async def test_a_member_that_goes_while_it_is_asked_keeps_nobody_waiting(api: httpx.AsyncClient, node: Node) -> None:
    async with member(node, lambda _: None) as heard:
        asking = asyncio.create_task(api.post(path("stack-trace"), params={"wait_s": 20}))
        async with asyncio.timeout(10):
            while not heard:  # noqa: ASYNC110 - filled by another task
                await asyncio.sleep(0.01)
        client = GrpcClient(str(node.addresses["rocketmq_grpc"][0]), "one@host#1")
        await client.call("NotifyClientTermination")
        gone = await asyncio.wait_for(asking, 5)
        await client.close()
    assert (gone.status_code, gone.json()["code"]) == (404, "unknown_member")


async def test_an_answer_to_nothing_harms_nobody(api: httpx.AsyncClient, node: Node) -> None:
    def confused(command: Any) -> Any:
        said = answered(command)
        said.thread_stack_trace.nonce = "another"
        return said

    async with member(node, confused):
        assert (await api.post(path("stack-trace"), params={"wait_s": 0.2})).status_code == 504
    async with member(node):
        assert (await api.post(path("stack-trace"))).status_code == 200


async def test_who_cannot_be_asked_is_refused_with_the_reason(api: httpx.AsyncClient, node: Node) -> None:
    absent = await api.post(path("stack-trace", "two"))
    assert (absent.status_code, absent.json()["code"]) == (404, "unknown_member")
    async with member(node, kind=ClientType.SIMPLE_CONSUMER) as heard:
        simple = await api.post(path("verify"), json=PLACE)
        assert (simple.status_code, simple.json()["code"]) == (409, "member_cannot_answer")
        assert heard == []
        nowhere = await api.post(path("verify"), json=PLACE | {"offset": 99})
        assert (nowhere.status_code, nowhere.json()["code"]) == (404, "unknown_message")
        assert (await api.post(path("stack-trace"), params={"wait_s": 31})).status_code == 400


async def test_members_of_remoting_are_asked_in_their_own_words(
    api: httpx.AsyncClient, node: Node, rocketmq: RawClient
) -> None:
    await rocketmq.beat("two", group="buyers", topics={"orders": "*"})
    info = ConsumerRunningInfo(jstack=STACKS)
    rocketmq.answer = lambda _: Command(code=ResponseCode.SUCCESS, body=encode_body(info))
    assert (await api.post(path("stack-trace", "two"))).json()["stack_trace"] == STACKS
    assert rocketmq.heard[-1].fields["jstackEnable"] == "true"
    result = ConsumeMessageDirectlyResult(consume_result="CR_THROW_EXCEPTION", remark="NullPointerException")
    rocketmq.answer = lambda _: Command(code=ResponseCode.SUCCESS, body=encode_body(result))
    found = (await api.post(path("verify", "two"), json=PLACE)).json()
    assert (found["outcome"], found["remark"]) == ("failed", "NullPointerException")
    (shown,) = decode_messages(rocketmq.heard[-1].body)
    assert (shown.topic, shown.body, shown.queue_offset) == ("orders", b"x", 1)
    rocketmq.answer = lambda _: Command(code=ResponseCode.SYSTEM_ERROR, remark="no such group here")
    refused = await api.post(path("stack-trace", "two"))
    assert (refused.status_code, refused.json()["code"]) == (409, "member_cannot_answer")
    rocketmq.answer = lambda _: Command(code=ResponseCode.SUCCESS, body=b"?")
    assert (await api.post(path("verify", "two"), json=PLACE)).json()["code"] == "member_cannot_answer"


async def test_rocketmqs_tools_reach_grpc_members_through_the_broker(
    node: Node, rocketmq: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    named: dict[str, object] = {"consumerGroup": "buyers", "clientId": "one@host#1"}
    number = node.catalog.topic("default", "orders").partition_numbers[0]  # type: ignore[union-attr]  # it was made before
    host, port = node.addresses["rocketmq"][0]
    msg_id = write_offset_id(Host.of(host, port), physical_offset(number, 1))
    async with member(node) as heard:
        told = await rocketmq.get(RequestCode.GET_CONSUMER_RUNNING_INFO, named | {"jstackEnable": True})
        info = decode_body(ConsumerRunningInfo, told.body)
        assert (info.jstack, [each.topic for each in info.subscription_set]) == (STACKS, ["orders"])
        asked_once = len(heard)
        plain = await rocketmq.get(RequestCode.GET_CONSUMER_RUNNING_INFO, named)
        assert decode_body(ConsumerRunningInfo, plain.body).jstack is None
        assert len(heard) == asked_once
        tried = await rocketmq.get(RequestCode.CONSUME_MESSAGE_DIRECTLY, named | {"msgId": msg_id, "topic": "orders"})
        assert decode_body(ConsumeMessageDirectlyResult, tried.body).consume_result == "CR_SUCCESS"
    monkeypatch.setattr(connections, "ASK_TIMEOUT_S", 0.05)
    async with member(node, lambda _: None):
        silent = await rocketmq.ask(RequestCode.GET_CONSUMER_RUNNING_INFO, named | {"jstackEnable": True})
        assert silent.code == ResponseCode.CONSUME_MSG_TIMEOUT
