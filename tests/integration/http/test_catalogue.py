"""The rest of what exists: instances, subscriptions, connections, and everything at a glance."""

import httpx
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from api_support import Eventually, Publish
from braidmq.log import GroupOffset
from braidmq.model import Group
from braidmq.node import Node
from rocketmq_grpc_support import GrpcClient, consumer_settings
from rocketmq_support import RawClient


async def test_an_instance_is_made_and_deleted(api: httpx.AsyncClient) -> None:
    made = await api.post("/instances", json={"name": "retail", "description": "Shops"})
    assert (made.status_code, made.json()["topics"]) == (201, 0)
    assert [each["name"] for each in (await api.get("/instances")).json()["items"]] == ["default", "retail"]
    assert (await api.delete("/instances/retail?dry_run=true")).status_code == 200
    assert (await api.get("/instances/retail")).json()["description"] == "Shops"
    assert (await api.delete("/instances/retail")).status_code == 200
    assert (await api.get("/instances/retail")).json()["code"] == "unknown_instance"


async def test_topics_and_groups_of_an_instance_are_seen_in_it_alone(api: httpx.AsyncClient) -> None:
    await api.post("/instances", json={"name": "retail"})
    assert (await api.post("/topics?instance=retail", json={"name": "orders"})).status_code == 201
    assert (await api.post("/groups?instance=retail", json={"name": "g"})).status_code == 201
    for kind in ("topics", "groups"):
        assert (await api.get(f"/{kind}")).json()["total"] == 0
        assert (await api.get(f"/{kind}?instance=retail")).json()["total"] == 1
    refused = await api.delete("/instances/retail")
    assert (refused.status_code, refused.json()["code"]) == (409, "instance_in_use")
    assert (await api.delete("/instances/default")).json()["code"] == "instance_in_use"


async def test_groups_of_one_name_in_two_instances_do_not_hide_or_touch_each_other(
    api: httpx.AsyncClient, node: Node
) -> None:
    await api.post("/instances", json={"name": "retail"})
    await api.post("/topics?instance=retail", json={"name": "orders"})
    here = await node.topics.create("orders")
    there = node.topics.find("orders", instance="retail")
    assert there is not None
    await api.post("/groups?instance=retail", json={"name": "g"})
    await node.groups.commit("g", None, {there.partition_numbers[0]: GroupOffset(0)})
    assert (await api.get("/groups")).json()["total"] == 0
    await node.groups.commit("g", None, {here.partition_numbers[0]: GroupOffset(0)})
    [item] = (await api.get("/groups")).json()["items"]
    assert (item["name"], item["topics"]) == ("g", 1)
    assert (await api.delete("/groups/g")).json()["topics"] == ["orders"]
    assert set(node.groups.offsets("g")) == {there.partition_numbers[0]}
    assert (await api.get("/groups/g?instance=retail")).json()["topics"] == 1
    assert (await api.delete("/groups/g?instance=retail")).status_code == 200
    assert node.groups.offsets("g") == {}


async def test_a_subscription_is_kept_replaced_and_taken_back(api: httpx.AsyncClient, node: Node) -> None:
    await node.catalog.save_group(Group(name="g"))
    wanted = {"group": "g", "topic": "orders", "filter_kind": "tag", "expression": "paid || sent"}
    assert (await api.put("/subscriptions", json=wanted)).status_code == 200
    await api.put("/subscriptions", json=wanted | {"expression": "paid"})
    [kept] = (await api.get("/subscriptions?group=g")).json()["items"]
    assert kept == {**wanted, "expression": "paid", "event_code": "*"}
    assert (await api.get("/subscriptions?topic=other")).json()["total"] == 0
    assert (await api.delete("/subscriptions?group=g&topic=orders&dry_run=true")).status_code == 200
    assert (await api.delete("/subscriptions?group=g&topic=orders")).json() == kept
    again = await api.delete("/subscriptions?group=g&topic=orders")
    assert (again.status_code, again.json()["code"]) == (404, "unknown_subscription")


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"filter_kind": "sql", "expression": "a >"}, 422, "invalid_filter"),
        ({"filter_kind": "tag", "expression": "||"}, 422, "invalid_filter"),
        ({"group": "none"}, 404, "unknown_group"),
        ({"topic": "a b"}, 400, "invalid_name"),
    ],
)
async def test_a_subscription_that_could_not_choose_is_refused(
    api: httpx.AsyncClient, node: Node, change: dict[str, str], status: int, code: str
) -> None:
    await node.catalog.save_group(Group(name="g"))
    answer = await api.put("/subscriptions", json={"group": "g", "topic": "orders"} | change)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


async def test_connections_of_every_protocol_are_listed_with_their_groups(
    api: httpx.AsyncClient, node: Node, rocketmq: RawClient
) -> None:
    await node.topics.create("orders")
    await rocketmq.beat("remoting-1", group="g", topics={"orders": "*"})
    grpc = GrpcClient(str(node.addresses["rocketmq_grpc"][0]), "grpc-1")
    consumer = AIOKafkaConsumer(
        "orders", bootstrap_servers=str(node.addresses["kafka"][0]), group_id="k", client_id="kafka-1"
    )
    await consumer.start()
    try:
        async with grpc.introduced(consumer_settings("s", "orders")):
            page = (await api.get("/connections?page_size=100")).json()
            only = (await api.get("/connections?protocol=kafka&search=KAFKA-1&sort=-since")).json()
            here = (await api.get("/connections?instance=default&page_size=100")).json()
            there = (await api.get("/connections?instance=retail&page_size=100")).json()
    finally:
        await consumer.stop()
        await grpc.channel.close()
    found = {(each["protocol"], each["client_id"]): each for each in page["items"]}
    for protocol, client_id, group in (
        ("rocketmq", "remoting-1", "g"),
        ("rocketmq_grpc", "grpc-1", "s"),
        ("kafka", "kafka-1", "k"),
    ):
        connection = found[protocol, client_id]
        assert connection["groups"] == [group]
        assert "orders" in connection["topics"]
        assert connection["address"].startswith("127.0.0.1:")
        assert connection["since_ms"] <= connection["last_seen_ms"]
    assert {each["instance"] for each in found.values()} == {"default", None}
    assert here["total"] == page["total"], "clients of these protocols work in the default instance"
    assert {each["protocol"] for each in there["items"]} == {"http"}, "who names one with each request may work there"
    assert ("http", "") in found
    assert {(each["protocol"], each["client_id"]) for each in only["items"]} == {("kafka", "kafka-1")}


async def test_the_overview_counts_what_there_is_and_what_moves(
    api: httpx.AsyncClient, node: Node, publish: Publish, rocketmq: RawClient, eventually: Eventually
) -> None:
    topic = await node.topics.create("orders", partitions=2)
    producer = AIOKafkaProducer(bootstrap_servers=str(node.addresses["kafka"][0]))
    await producer.start()
    try:
        for _ in range(5):
            await producer.send_and_wait("orders", b"x", partition=0)
    finally:
        await producer.stop()
    await rocketmq.send("orders", b"y")
    consumer = AIOKafkaConsumer(bootstrap_servers=str(node.addresses["kafka"][0]), auto_offset_reset="earliest")
    consumer.subscribe(["orders"])
    await consumer.start()
    try:
        await consumer.getone()
    finally:
        await consumer.stop()
    await node.groups.commit("g", None, {topic.partition_numbers[0]: GroupOffset(2)})

    async def is_seen() -> bool:
        overview = (await api.get("/overview")).json()
        return (overview["messages"], overview["lag"], overview["groups_behind"]) == (6, 4, 1)

    await eventually(is_seen)
    overview = (await api.get("/overview")).json()
    assert (overview["topics"], overview["partitions"]) == (
        len(node.catalog.topics()),
        sum(len(each.partition_numbers) for each in node.catalog.topics()),
    )
    assert overview["groups"] == 1
    assert overview["connections"] >= 2
    by_protocol = overview["rates_by_protocol"]
    assert by_protocol["kafka"]["messages_in"] > by_protocol["rocketmq"]["messages_in"] > 0
    assert by_protocol["kafka"]["messages_out"] > 0 == by_protocol["rocketmq"]["messages_out"]
    assert overview["storage"]["used_bytes"] > 0
    assert overview["storage"]["free_bytes"] > 0
    assert [each["name"] for each in overview["nodes"]] == [node.settings.node.name]
    [item] = [each for each in (await api.get("/topics")).json()["items"] if each["name"] == "orders"]
    assert (item["groups"], item["lag"]) == (1, 4)
    assert item["rate_in"] > 0
    assert item["rate_out"] > 0


async def test_nodes_say_where_they_listen(api: httpx.AsyncClient, node: Node) -> None:
    [found] = (await api.get("/nodes")).json()
    assert found["listeners"]["kafka"] == [str(node.addresses["kafka"][0])]


async def test_every_operation_is_described_with_a_name_of_its_own(api: httpx.AsyncClient, node: Node) -> None:
    schema = (await api.get(f"http://{node.addresses['http'][0]}/schema/openapi.json")).json()
    ids = [
        operation["operationId"]
        for path, item in schema["paths"].items()
        if path.startswith("/api/v1/")
        for operation in item.values()
    ]
    assert len(ids) == len(set(ids)) >= 30
    for path, item in schema["paths"].items():
        for operation in item.values():
            assert "application/problem+json" in operation["responses"]["default"]["content"], path
    assert {"list_topics", "reset_offsets", "pause_group", "list_connections", "overview"} <= set(ids)
