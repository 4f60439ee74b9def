"""Ten thousand topics and five thousand groups: any page, sort and search answers at once."""

import asyncio
import time
from pathlib import Path

import httpx
from large_catalog import commit_all, fill_store

from braidmq.node import Node
from braidmq.protocols.listener import Address
from braidmq.settings import (
    HttpSettings,
    KafkaSettings,
    LogSettings,
    NodeSettings,
    RocketMQGrpcSettings,
    RocketMQSettings,
    Settings,
)

TOPICS = 10_000
GROUPS = 5_000
ANSWER_MS_MAX = 100
TRIES = 5
TOPIC_SORTS = ("name", "partitions", "messages", "size", "rate_in", "rate_out", "lag")
GROUP_SORTS = ("name", "lag", "members", "topics", "rate_out", "in_flight")


async def fastest_ms(api: httpx.AsyncClient, path: str) -> float:
    """Of a few tries: other work on the machine is not what is measured."""
    took_ms = []
    for _ in range(TRIES):
        begun = time.perf_counter()
        answer = await api.get(path)
        took_ms.append((time.perf_counter() - begun) * 1000)
        assert answer.status_code == 200, answer.text
        assert answer.json()["items"], path
    return min(took_ms)


async def until_sorted_by_lag(api: httpx.AsyncClient) -> None:
    """Where there is very much, lists are sorted by figures that are up to ten seconds old."""
    async with asyncio.timeout(30):
        while True:
            first = (await api.get("/groups?sort=-lag")).json()["items"][0]
            if first["lag"] > 0:
                break
            await asyncio.sleep(0.1)
    assert first["oldest_ms"] is not None


async def test_any_page_of_very_many_answers_within_a_tenth_of_a_second(tmp_path: Path) -> None:
    settings = Settings(
        node=NodeSettings(data=tmp_path / "data", drain_ms=100),
        http=HttpSettings(listen=Address("127.0.0.1", 0)),
        kafka=KafkaSettings(listen=()),
        rocketmq=RocketMQSettings(listen=()),
        rocketmq_grpc=RocketMQGrpcSettings(listen=()),
        log=LogSettings(flush="interval"),
    )
    await fill_store(settings, topics=TOPICS, partitions=1, groups=GROUPS)
    node = await Node.start(settings)
    try:
        await commit_all(node, GROUPS)
        address = node.addresses["http"][0]
        async with httpx.AsyncClient(base_url=f"http://{address}/api/v1", timeout=20) as api:
            assert (await api.get("/topics")).json()["total"] == TOPICS
            assert (await api.get("/groups")).json()["total"] == GROUPS
            paths = [f"/topics?sort=-{sort}" for sort in TOPIC_SORTS] + [
                f"/groups?sort=-{sort}" for sort in GROUP_SORTS
            ]
            paths += ["/topics?search=99", "/topics?page=200", "/groups?search=42&sort=lag", "/groups?page=100"]
            await until_sorted_by_lag(api)
            slow = {path: took for path in paths if (took := await fastest_ms(api, path)) > ANSWER_MS_MAX}
    finally:
        await node.stop()
    assert not slow
