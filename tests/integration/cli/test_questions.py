"""`braid group stack-trace` and `braid group verify`: questions to a member's program."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from braidmq.protocols.rocketmq.codec import Command, RequestCode, ResponseCode, encode_body
from braidmq.protocols.rocketmq.codec.bodies import ConsumeMessageDirectlyResult, ConsumerRunningInfo
from cli_support import Braid
from rocketmq_support import RawClient
from running_node import RunningNode

STACKS = "main\n\tat Shop.sell(Shop.java:7)"


def _answered(asked: Command) -> Command:
    told = ConsumerRunningInfo(jstack=STACKS)
    tried = ConsumeMessageDirectlyResult(consume_result="CR_SUCCESS")
    is_stacks = asked.code == RequestCode.GET_CONSUMER_RUNNING_INFO
    return Command(code=ResponseCode.SUCCESS, body=encode_body(told if is_stacks else tried))


async def _live(name_server: str, is_there: threading.Event, ending: threading.Event) -> None:
    host, _, port = name_server.partition(":")
    client = await RawClient.connect(host, int(port))
    client.answer = _answered
    await client.beat("shop@1#2", group="questioned", topics={"questioned-orders": "*"})
    is_there.set()
    await asyncio.to_thread(ending.wait)
    await client.close()


@pytest.fixture
def member(node: RunningNode, done: Braid) -> Iterator[str]:
    """The client id of a member that answers; its topic has one message."""
    done("topic", "create", "questioned-orders", "-p", "1")
    done("message", "send", "questioned-orders", "x")
    is_there, ending = threading.Event(), threading.Event()
    living = threading.Thread(target=lambda: asyncio.run(_live(node.name_server, is_there, ending)))
    living.start()
    assert is_there.wait(20)
    yield "shop@1#2"
    ending.set()
    living.join()


def test_a_member_is_asked_what_it_does_and_to_try_a_message(done: Braid, braid: Braid, member: str) -> None:
    assert done("group", "stack-trace", "questioned", member).out == f"{STACKS}\n"
    place = ("questioned-orders", "0", "0")
    assert done("group", "verify", "questioned", member, *place, "-o", "json").json["outcome"] == "consumed"
    absent = braid("group", "stack-trace", "questioned", "nobody")
    assert absent.status != 0
    assert "not a connected member" in absent.err
