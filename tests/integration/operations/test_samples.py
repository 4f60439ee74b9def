"""Figures of the last day, of a node that works."""

from typing import Any

import httpx
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from braidmq.log import GroupOffset
from braidmq.node import Node
from inside_node import StartNode
from kafka_support import bootstrap


async def series(api: httpx.AsyncClient, **ask: Any) -> dict[str, list[list[float]]]:
    answer = await api.get("/samples", params=ask)
    assert answer.status_code == 200, answer.text
    return {each["name"]: each["points"] for each in answer.json()["series"]}


async def send(producer: AIOKafkaProducer, count: int, topic: str = "orders") -> None:
    for _ in range(count):
        await producer.send_and_wait(topic, b"x" * 100)


async def read_some(node: Node, count: int, topic: str = "orders") -> None:
    """A group reads so many, says so, and leaves."""
    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap(node),
        group_id="billing",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    await consumer.start()
    for _ in range(count):
        await consumer.getone()
    await consumer.commit()
    await consumer.stop()


async def test_what_comes_and_goes_is_told_by_protocol_topic_and_group(
    node: Node, api: httpx.AsyncClient, producer: AIOKafkaProducer
) -> None:
    await node.topics.create("orders", partitions=1)
    await node.desk.sampler.turn(closely=True)
    await send(producer, 30)
    await read_some(node, 10)
    await node.lags.look()
    await node.desk.sampler.turn(closely=True)
    of_node = await series(api)
    assert of_node["messages_in.kafka"][-1][1] > 0
    assert of_node["messages_in"][-1][1] == of_node["messages_in.kafka"][-1][1]
    assert of_node["messages_out.kafka"][-1][1] > 0
    assert of_node["lag"][-1][1] == 20
    assert of_node["connections.kafka"][-1][1] >= 1
    assert of_node["storage_bytes"][-1][1] >= 3_000
    assert of_node["memory_bytes"][-1][1] > 10 << 20
    assert 0 < of_node["disk_free_bytes"][-1][1] <= of_node["disk_total_bytes"][-1][1]
    of_topic = await series(api, topic="orders")
    assert of_topic["messages_in"][-1][1] > 0
    assert of_topic["bytes_in"][-1][1] > of_topic["messages_in"][-1][1] * 100
    assert of_topic["size_bytes"][-1][1] >= 3_000
    of_group = await series(api, group="billing")
    assert of_group["lag"][-1][1] == 20
    assert of_group["oldest_ms"][-1][1] >= 0


async def test_each_look_tells_what_topics_take_up(
    node: Node, api: httpx.AsyncClient, producer: AIOKafkaProducer
) -> None:
    """The overview shows it live: nobody waits a minute to see that something is there."""
    await node.topics.create("orders", partitions=1)
    await node.desk.sampler.turn(closely=True)
    assert (await series(api))["storage_bytes"][-1][1] == 0
    await send(producer, 30)
    sight = await node.desk.sampler.turn(closely=False)
    assert sight.node["storage_bytes"] >= 3_000


async def test_what_is_idle_is_not_kept_and_names_choose(node: Node, api: httpx.AsyncClient) -> None:
    await node.topics.create("quiet", partitions=1)
    await node.desk.sampler.turn(closely=True)
    assert await series(api, topic="quiet") == {}
    assert list(await series(api, names="lag,memory_bytes")) == ["lag", "memory_bytes"]
    answer = (await api.get("/samples")).json()
    assert set(answer["names"]) >= {"messages_in", "lag", "disk_free_bytes"}


async def test_what_cannot_be_asked_is_refused_with_the_reason(api: httpx.AsyncClient) -> None:
    both = await api.get("/samples", params={"topic": "a", "group": "b"})
    assert (both.status_code, both.json()["code"]) == (400, "invalid_request")
    backwards = await api.get("/samples", params={"from_ms": 10, "until_ms": 5})
    assert "from_ms must be before until_ms" in backwards.json()["detail"]
    assert (await api.get("/samples", params={"step_s": -1})).status_code == 400


async def test_samples_outlive_the_node(start_node: StartNode) -> None:
    node = await start_node()
    sight = await node.desk.sampler.turn()
    await node.stop()
    node = await start_node()
    async with httpx.AsyncClient(base_url=f"http://{node.addresses['http'][0]}/api/v1") as api:
        kept = await series(api, names="memory_bytes")
    assert [sight.at_ms, sight.node["memory_bytes"]] in kept["memory_bytes"]


async def fall_behind(node: Node, api: httpx.AsyncClient, instance: str, behind: int) -> int:
    """The group billing of the instance has read none of so many messages; the number of their partition."""
    await api.post("/topics", params={"instance": instance}, json={"name": "orders", "partitions": 1})
    await api.post("/groups", params={"instance": instance}, json={"name": "billing"})
    for _ in range(behind):
        await api.post("/topics/orders/messages", params={"instance": instance}, json={"body": "x"})
    topic = node.topics.find("orders", instance=instance)
    assert topic is not None
    (number,) = topic.partition_numbers
    await node.groups.commit("billing", None, {number: GroupOffset(0)})
    return number


async def test_groups_of_one_name_in_two_instances_have_charts_of_their_own(node: Node, api: httpx.AsyncClient) -> None:
    await api.post("/instances", json={"name": "retail"})
    for instance, behind in (("default", 2), ("retail", 5)):
        await fall_behind(node, api, instance, behind)
    await node.lags.look()
    await node.desk.sampler.turn(closely=True)
    here, there = await series(api, group="billing"), await series(api, group="billing", instance="retail")
    assert (here["lag"][-1][1], there["lag"][-1][1]) == (2, 5)
    assert there["oldest_ms"][-1][1] >= 0
    (found,) = (await api.get("/groups", params={"instance": "retail", "sort": "-lag"})).json()["items"]
    assert found["lag"] == 5


async def test_what_groups_of_one_name_send_back_and_give_up_counts_in_their_own_instance(
    node: Node, api: httpx.AsyncClient
) -> None:
    await api.post("/instances", json={"name": "retail"})
    here, there = await fall_behind(node, api, "default", 1), await fall_behind(node, api, "retail", 3)
    await api.post("/alarms/rules", json={"name": "troubled", "kind": "retries", "threshold": 100})
    await node.lags.look()
    await node.desk.sampler.turn(closely=True)
    await node.retries.send_back("billing", here, 0, delay_ms=-1)
    for offset in range(2):
        await node.retries.send_back("billing", there, offset, delay_ms=60_000)
    await node.retries.send_back("billing", there, 2, delay_ms=-1)
    await node.desk.sampler.turn(closely=True)
    ours, theirs = await series(api, group="billing"), await series(api, group="billing", instance="retail")
    assert (ours["retries"][-1][1], theirs["retries"][-1][1] > 0) == (0, True)
    assert theirs["retries"][-1][1] == pytest.approx(2 * theirs["dead"][-1][1])
    assert ours["dead"][-1][1] == pytest.approx(theirs["dead"][-1][1])
    firing = (await api.get("/alarms", params={"state": "firing"})).json()["items"]
    assert [each["subject"] for each in firing if each["rule"] == "troubled"] == ["group retail/billing"]


async def test_what_groups_of_one_name_take_one_by_one_is_told_of_each_and_outlives_the_others_end(
    node: Node, api: httpx.AsyncClient
) -> None:
    async def receive(instance: str) -> int:
        ask = {"topic": "orders", "count_max": 10, "invisible_s": 600}
        answer = await api.post("/groups/billing/receive", params={"instance": instance}, json=ask)
        return len(answer.json()["messages"])

    async def delivered() -> set[str]:
        text = (await api.get(f"http://{node.addresses['http'][0]}/metrics")).text
        return {line for line in text.splitlines() if line.startswith("braid_cursors_delivered_total")}

    await api.post("/instances", json={"name": "retail"})
    for instance, behind in (("default", 1), ("retail", 3)):
        await fall_behind(node, api, instance, behind)
        assert await receive(instance) == behind
    assert await delivered() == {
        'braid_cursors_delivered_total{braid_instance="default",group="billing"} 1.0',
        'braid_cursors_delivered_total{braid_instance="retail",group="billing"} 3.0',
    }
    counts = [
        (await api.get("/groups/billing", params={"instance": each})).json()["in_flight"]
        for each in ("default", "retail")
    ]
    assert counts == [1, 3]
    await api.delete("/groups/billing", params={"instance": "retail"})
    assert node.cursors.counts_out() == {"billing": 1}
    assert await receive("default") == 0
