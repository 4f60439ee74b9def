"""Live events of a node that works."""

import asyncio
from typing import Any

import httpx
import msgspec
import pytest
from aiokafka import AIOKafkaProducer

from braidmq.core import live
from braidmq.node import Node


async def next_event(lines: Any) -> dict[str, Any]:
    async for line in lines:
        if line.startswith("data:"):
            event: dict[str, Any] = msgspec.json.decode(line.removeprefix("data:").strip())
            return event
    raise EOFError


async def test_rates_are_told_every_second_while_somebody_produces(
    node: Node, api: httpx.AsyncClient, producer: AIOKafkaProducer
) -> None:
    await node.topics.create("orders", partitions=1)
    async with asyncio.timeout(20), api.stream("GET", "/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.aiter_lines()
        while True:
            await producer.send_and_wait("orders", b"x" * 100)
            event = await next_event(lines)
            if event["rates"].get("kafka", {}).get("messages_in", 0) > 0:
                break
        assert event["rates"]["all"]["messages_in"] == event["rates"]["kafka"]["messages_in"]
        assert event["alarms_firing"] == len(event["alarms"])


async def test_the_stream_ends_when_the_node_stops(node: Node, api: httpx.AsyncClient) -> None:
    async with asyncio.timeout(10), api.stream("GET", "/events") as answer:
        lines = answer.aiter_lines()
        await next_event(lines)
        stopping = asyncio.create_task(node.stop())
        with pytest.raises(EOFError):
            await next_event(lines)
        await stopping


async def test_more_listeners_than_there_may_be_are_refused(
    node: Node, api: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "LISTENERS_MAX", 1)
    async with asyncio.timeout(10), api.stream("GET", "/events") as answer:
        await next_event(answer.aiter_lines())
        refused = await api.get("/events")
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_listeners")
    async with asyncio.timeout(10):
        while node.desk.live.is_full:  # noqa: ASYNC110 - the server sees by and by that its client has gone
            await asyncio.sleep(0.01)
