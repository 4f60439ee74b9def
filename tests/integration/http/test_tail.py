"""Watching a topic: new messages as they come, what was passed over, signs of life, and an end."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from braidmq.core.desk.tail import Tail, TailEvent
from braidmq.core.filters import Everything
from braidmq.model import Message
from braidmq.node import Node
from http_support import client_of, figure, send, until


@asynccontextmanager
async def watching(client: httpx.AsyncClient, query: str = "") -> AsyncIterator[AsyncIterator[str]]:
    """The lines of a watcher that has begun."""
    async with client.stream("GET", f"/topics/t/tail{query}") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.aiter_lines()
        assert (await anext(lines)).startswith(":")
        yield lines


async def next_message(lines: AsyncIterator[str]) -> str:
    async with asyncio.timeout(20):
        async for line in lines:
            if line.startswith("data: {"):
                return str(json.loads(line.removeprefix("data: "))["body"])
    raise AssertionError("the stream has ended")


async def test_a_watcher_sees_what_comes_and_nothing_of_before(client: httpx.AsyncClient) -> None:
    await send(client, "t", body="before")
    async with watching(client) as lines:
        await send(client, "t", body="a\nb")
        assert await next_message(lines) == "a\nb"
        await send(client, "t", body="after")
        assert await next_message(lines) == "after"


async def test_a_watcher_may_want_some_messages_only(client: httpx.AsyncClient, node: Node) -> None:
    await node.topics.create("t")
    async with watching(client, "?filter=b") as lines:
        await send(client, "t", body="1", tag="a")
        await send(client, "t", body="2", tag="b")
        assert await next_message(lines) == "2"


async def test_a_stream_ends_when_the_node_stops(node: Node) -> None:
    await node.topics.create("t")
    async with client_of(node) as client, watching(client) as lines:
        async with asyncio.timeout(10):
            await node.stop()
            rest = [line async for line in lines]
    assert not any(line.startswith("data") for line in rest)


async def test_a_watcher_that_has_gone_takes_up_no_room(client: httpx.AsyncClient, node: Node) -> None:
    await node.topics.create("t")
    async with client_of(node) as leaving, watching(leaving):
        assert await figure(client, "braid_http_waiting") == 1

    async def is_free() -> bool:
        return await figure(client, "braid_http_waiting") == 0

    await until(is_free)


async def test_a_slow_watcher_is_told_how_many_were_passed_over(node: Node) -> None:
    topic = await node.topics.create("t", partitions=1)
    tail = Tail(node.catalog, node.log, node.puller, round_messages=3)
    events = tail.follow("t", Everything(), asyncio.Event())
    await anext(events)
    await node.publisher.published(topic, [Message(body=b"%d" % at) for at in range(10)])
    async with asyncio.timeout(20):
        event = await anext(events)
    assert ([each.body for each in event.items], event.skipped) == (["7", "8", "9"], 7)


async def test_a_quiet_topic_gives_signs_of_life_and_a_deleted_one_ends(node: Node) -> None:
    topic = await node.topics.create("t", partitions=1)
    tail = Tail(node.catalog, node.log, node.puller, heartbeat_s=0.05)
    events = tail.follow("t", Everything(), asyncio.Event())
    async with asyncio.timeout(20):
        assert [await anext(events) for _ in range(3)] == [TailEvent(items=[])] * 3
        await node.topics.delete(topic)
        assert [event async for event in events if event.items] == []
