"""Who changed what, whatever they speak."""

from typing import Any

import httpx
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from braidmq.console import console_routes
from braidmq.core.audit import is_change
from braidmq.core.health import Health
from braidmq.node import Node
from braidmq.protocols.http import HttpListener, HttpServices, Noted
from braidmq.protocols.http._app import build_app
from braidmq.protocols.http._needs import noted_of
from braidmq.protocols.kafka._operations import operations as kafka_operations
from braidmq.protocols.kafka.codec import ApiKey
from braidmq.protocols.rocketmq.codec import RequestCode
from braidmq.protocols.rocketmq.codec.bodies import SubscriptionGroupConfig
from braidmq.protocols.rocketmq_grpc._operations import operations as grpc_operations
from inside_node import StartNode
from rocketmq_support import RawClient, topic_fields


async def entries(api: httpx.AsyncClient, **ask: Any) -> list[dict[str, Any]]:
    answer = await api.get("/audit", params=ask)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


def told(entry: dict[str, Any]) -> tuple[str, ...]:
    return tuple(entry[name] for name in ("actor", "operation", "resource", "name", "outcome"))


async def test_what_kafka_clients_change_is_noted_with_what_became_of_it(
    api: httpx.AsyncClient, admin: AIOKafkaAdminClient
) -> None:
    topics = [NewTopic("orders", 2, 1), NewTopic("refunds", 2, 1)]
    await admin.create_topics(topics)
    await admin.create_topics(topics[:1])
    await admin.delete_topics(["refunds"])
    found = [told(each) for each in reversed(await entries(api))]
    assert found == [
        ("kafka 127.0.0.1", "create_topics", "topic", "orders, refunds", "done"),
        ("kafka 127.0.0.1", "create_topics", "topic", "orders", "topic_already_exists"),
        ("kafka 127.0.0.1", "delete_topics", "topic", "refunds", "done"),
    ]


async def test_what_would_only_be_tried_is_no_change(api: httpx.AsyncClient, admin: AIOKafkaAdminClient) -> None:
    await admin.create_topics([NewTopic("orders", 2, 1)], validate_only=True)
    assert await entries(api) == []


async def test_what_rocketmq_tools_change_is_noted_with_what_became_of_it(node: Node, api: httpx.AsyncClient) -> None:
    client = await RawClient.connect(*node.addresses["rocketmq"][0])
    await client.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields("orders", 2))
    config = SubscriptionGroupConfig(group_name="billing")
    await client.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, config)
    await client.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields("no good name", 2))
    await client.close()
    found = list(reversed(await entries(api)))
    assert [told(each)[1:] for each in found[:2]] == [
        ("update_and_create_topic", "topic", "orders", "done"),
        ("update_and_create_subscriptiongroup", "group", "billing", "done"),
    ]
    assert found[2]["outcome"] != "done"
    assert "no good name" in found[2]["detail"]


async def test_messages_are_no_changes(node: Node, api: httpx.AsyncClient, producer: AIOKafkaProducer) -> None:
    await node.topics.create("orders", partitions=1)
    await producer.send_and_wait("orders", b"secret")
    assert await entries(api) == []


async def test_the_log_is_searched_paged_and_outlives_the_node(start_node: StartNode) -> None:
    node = await start_node()
    need = next(each.need for each in kafka_operations if each.key == ApiKey.CREATE_TOPICS)
    for nth in range(5):
        node.desk.audit.note(
            protocol="kafka",
            address=f"10.0.0.{nth}",
            operation="create_topics",
            need=need,
            name=f"t{nth}",
            outcome="done",
        )
    await node.stop()
    node = await start_node()
    async with httpx.AsyncClient(base_url=f"http://{node.addresses['http'][0]}/api/v1") as api:
        assert [each["name"] for each in await entries(api, page_size=2, page=2)] == ["t2", "t1"]
        assert [each["name"] for each in await entries(api, actor="10.0.0.3")] == ["t3"]
        assert [each["name"] for each in await entries(api, search="T4")] == ["t4"]
        assert (await api.get("/audit", params={"page": 0})).status_code == 400


def test_no_call_of_the_grpc_interface_changes_anything_but_messages_so_none_is_noted() -> None:
    assert [each.key for each in grpc_operations if is_change(each.need)] == []


async def test_what_operators_publish_by_hand_is_noted(node: Node, api: httpx.AsyncClient) -> None:
    await node.topics.create("orders", partitions=1)
    half = {"body": "x", "transaction": {"group": "payers", "immunity_s": 3600}}
    halves = [(await api.post("/topics/orders/messages", json=half)).json()["results"][0]["half"] for _ in range(2)]
    await api.post("/topics/orders/messages", json={"body": "y"})
    message = (await api.post("/groups/billing/receive", json={"topic": "orders"})).json()["messages"][0]
    await api.post("/groups/billing/bury", json={"receipt": message["receipt"]})
    assert await entries(api) == []
    await api.post(f"/halves/{halves[0]}/commit", json={"group": "payers"})
    assert await entries(api) == []
    await api.post(f"/halves/{halves[1]}/rollback", json={})
    replay = {"group": "billing", "all": True}
    await api.post("/dead-letters/replay", json=replay, params={"dry_run": "true"})
    await api.post("/dead-letters/replay", json=replay)
    await api.post("/topics/orders/messages/0/0/resend", json={})
    found = [told(each)[1:] for each in reversed(await entries(api))]
    assert found == [
        ("roll_back_half", "topic", halves[1], "done"),
        ("replay_dead_letters", "group", "billing", "done"),
        ("resend_message", "topic", "orders/0/0", "done"),
    ]


SILENT = {
    "POST /api/v1/dead-letters/export",
    "POST /api/v1/groups/{name:str}/receive",
    "POST /api/v1/groups/{name:str}/acknowledge",
    "POST /api/v1/groups/{name:str}/extend",
    "POST /api/v1/groups/{name:str}/reject",
    "POST /api/v1/groups/{name:str}/bury",
    "POST /api/v1/groups/{name:str}/members/{client_id:str}/stack-trace",
    "POST /api/v1/topics/{name:str}/messages",
    "POST /api/v1/inspections",
    "POST /console/dead-letters/preview",
    "POST /console/inspection/run",
    "POST /console/settings/{key:str}/preview",
    "POST /console/login",
    "POST /console/logout",
}
"""What clients do all day, and what changes nothing."""


async def test_no_route_that_changes_something_is_forgotten(node: Node) -> None:
    (listener,) = [each for each in node.listeners if isinstance(each, HttpListener)]
    services = HttpServices("n", "1", Health(), [], list)
    _, of_console = build_app(services, body_bytes_max=1, controllers=[console_routes("t")], is_described=False)
    forgotten = {
        operation.key
        for operation in (*listener.operations, *of_console)
        if not operation.key.startswith(("GET ", "HEAD "))
        and not is_change(operation.need)
        and noted_of(operation.handler) is Noted.CHANGES
    }
    assert forgotten <= SILENT


async def test_a_change_in_another_instance_than_the_default_says_in_which(api: httpx.AsyncClient) -> None:
    for path, body in (("/instances", {"name": "retail"}), ("/topics?instance=retail", {"name": "orders"})):
        assert (await api.post(path, json=body)).is_success
    assert (await api.post("/topics", json={"name": "orders"})).is_success
    assert [each["detail"] for each in await entries(api)] == ["", "instance retail", ""]
