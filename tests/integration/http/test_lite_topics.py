"""Lite topics over the API: listed under their topic, looked at, followed to who reads them, and deleted."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from api_support import Eventually
from braidmq.model import Message, Topic, TopicKind
from braidmq.node import Node
from braidmq.protocols.rocketmq_grpc.codes import ClientType, Code, LiteAction
from rocketmq_grpc_support import GrpcClient, consumer_settings, now_ms, resource

PARENT, GROUP = "devices", "meters"


@pytest.fixture
async def devices(node: Node) -> Topic:
    return await node.topics.create(PARENT, partitions=1, kind=TopicKind.LITE, settings={"lite.topic.expiration": "60"})


async def send(node: Node, devices: Topic, lite: str, count: int = 1) -> None:
    for nth in range(count):
        await node.lite.send(devices, lite, Message(body=b"%d" % nth, born_ms=now_ms()))


@asynccontextmanager
async def reader(node: Node, client_id: str, *names: str) -> AsyncIterator[GrpcClient]:
    """A lite consumer that subscribes to these."""
    client = GrpcClient(str(node.addresses["rocketmq_grpc"][0]), client_id)
    async with client.introduced(consumer_settings(GROUP, PARENT, kind=ClientType.LITE_SIMPLE_CONSUMER)):
        asked = {"topic": resource(PARENT), "group": resource(GROUP)}
        answer = await client.call("SyncLiteSubscription", action=LiteAction.PARTIAL_ADD, lite_topic_set=names, **asked)
        assert answer.status.code == Code.OK, answer.status.message
        yield client
    await client.close()


async def test_lite_topics_are_listed_searched_sorted_and_paged(
    api: httpx.AsyncClient, node: Node, devices: Topic, eventually: Eventually
) -> None:
    for lite, count in (("meter-1", 1), ("meter-2", 5), ("gate-1", 3)):
        await send(node, devices, lite, count)
    before_ms = now_ms()
    page = (await api.get(f"/topics/{PARENT}/lite-topics")).json()
    assert [(each["name"], each["messages"]) for each in page["items"]] == [
        ("gate-1", 3),
        ("meter-1", 1),
        ("meter-2", 5),
    ]
    first = page["items"][0]
    assert first["topic"] == "%LITE%devices|gate-1"
    assert before_ms - 20_000 <= first["last_ms"] <= now_ms()
    assert first["ends_ms"] == first["last_ms"] + 3_600_000
    assert first["size_bytes"] > 0

    async def is_sorted() -> bool:
        asked: dict[str, str | int] = {"search": "METER", "sort": "-messages", "page_size": 1}
        largest = (await api.get(f"/topics/{PARENT}/lite-topics", params=asked)).json()
        return largest["total"] == 2 and [each["name"] for each in largest["items"]] == ["meter-2"]

    await eventually(is_sorted)
    listed = {each["name"] for each in (await api.get("/topics")).json()["items"]}
    assert listed == {PARENT}


async def test_a_lite_topic_tells_its_groups_and_who_subscribes(
    api: httpx.AsyncClient, node: Node, devices: Topic, eventually: Eventually
) -> None:
    await send(node, devices, "meter-1", 3)
    async with reader(node, "reader-1", "meter-1", "meter-9") as client:
        _, given = await client.receive(PARENT, GROUP, wait_ms=4_000, batch_size=1)
        await client.acknowledge(PARENT, GROUP, given[0].system_properties.receipt_handle)
        found = (await api.get(f"/topics/{PARENT}/lite-topics/meter-1")).json()
        assert (found["parent"], found["name"], found["messages"], found["readers"]) == (PARENT, "meter-1", 3, 1)
        (subscriber,) = found["subscribers"]
        assert (subscriber["client_id"], subscriber["group"]) == ("reader-1", GROUP)
        assert subscriber["address"].startswith("127.0.0.1:")
        assert [each["group"] for each in found["progress"]] == [GROUP]

        async def has_come_forward() -> bool:
            found = (await api.get(f"/topics/{PARENT}/lite-topics/meter-1")).json()
            return [(each["group"], each["lag"]) for each in found["progress"]] == [(GROUP, 2)]

        await eventually(has_come_forward)
        page = (await api.get(f"/topics/{PARENT}/lite-subscriptions")).json()
        assert [(each["name"], each["exists"], each["client_id"]) for each in page["items"]] == [
            ("meter-1", True, "reader-1"),
            ("meter-9", False, "reader-1"),
        ]
        only = (await api.get(f"/topics/{PARENT}/lite-subscriptions", params={"search": "meter-9"})).json()
        assert only["total"] == 1


async def test_a_lite_topic_is_deleted_and_made_anew_by_the_next_message_for_those_who_stay_subscribed(
    api: httpx.AsyncClient, node: Node, devices: Topic
) -> None:
    await send(node, devices, "meter-1", 3)
    async with reader(node, "reader-1", "meter-1") as client:
        path = f"/topics/{PARENT}/lite-topics/meter-1"
        planned = (await api.delete(path, params={"dry_run": True})).json()
        assert (planned["dry_run"], planned["messages"]) == (True, 3)
        assert [each["client_id"] for each in planned["subscribers"]] == ["reader-1"]
        assert (await api.get(path)).status_code == 200
        assert (await api.delete(path)).json() == planned | {"dry_run": False}
        gone = await api.get(path)
        assert (gone.status_code, gone.json()["code"]) == (404, "unknown_topic")
        assert (await api.delete(path)).status_code == 404
        await send(node, devices, "meter-1")
        _, (given,) = await client.receive(PARENT, GROUP, wait_ms=4_000)
        assert (given.system_properties.lite_topic, given.body) == ("meter-1", b"0")
    (noted, *_) = (await api.get("/audit", params={"action": "delete"})).json()["items"]
    assert (noted["operation"], noted["name"]) == ("delete_lite_topic", f"{PARENT}/meter-1")


async def test_what_is_sent_while_a_lite_topic_is_deleted_is_kept_or_refused_and_never_lost_silently(
    api: httpx.AsyncClient, node: Node, devices: Topic
) -> None:
    await send(node, devices, "meter-1")
    topic = node.lite.topics.find(PARENT, "meter-1")
    assert topic is not None
    deleting = asyncio.create_task(api.delete(f"/topics/{PARENT}/lite-topics/meter-1"))
    twice = asyncio.create_task(api.delete(f"/topics/{PARENT}/lite-topics/meter-1"))
    while node.lite.topics.find(PARENT, "meter-1") is topic:  # noqa: ASYNC110 - the node's own steps are waited for
        await asyncio.sleep(0)
    await send(node, devices, "meter-1", 2)
    assert sorted([(await deleting).status_code, (await twice).status_code]) == [200, 404]
    found = (await api.get(f"/topics/{PARENT}/lite-topics/meter-1")).json()
    assert found["messages"] == 2


async def test_a_topic_tells_how_many_lite_topics_go_with_it(
    api: httpx.AsyncClient, node: Node, devices: Topic
) -> None:
    await send(node, devices, "meter-1", 3)
    await send(node, devices, "meter-2", 2)
    planned = (await api.delete(f"/topics/{PARENT}", params={"dry_run": True})).json()
    assert (planned["lite_topics"], planned["messages"]) == (2, 5)


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/topics/orders/lite-topics", 400, "invalid_request"),
        ("/topics/orders/lite-subscriptions", 400, "invalid_request"),
        ("/topics/none/lite-topics", 404, "unknown_topic"),
        (f"/topics/{PARENT}/lite-topics/none", 404, "unknown_topic"),
        (f"/topics/{PARENT}/lite-topics/not.a.name", 400, "invalid_lite_topic"),
        (f"/topics/{PARENT}/lite-topics?sort=colour", 400, "invalid_request"),
        (f"/topics/{PARENT}/lite-topics?instance=none", 404, "unknown_topic"),
    ],
)
async def test_what_cannot_be_asked_is_told(
    api: httpx.AsyncClient, node: Node, devices: Topic, path: str, status: int, code: str
) -> None:
    await node.topics.create("orders")
    answer = await api.get(path)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text


async def test_the_topic_of_a_lite_topic_has_no_lite_topics_in_another_instance(
    api: httpx.AsyncClient, node: Node, devices: Topic
) -> None:
    await send(node, devices, "meter-1")
    await api.post("/instances", json={"name": "retail"})
    await api.post("/topics?instance=retail", json={"name": PARENT, "kind": "lite"})
    assert (await api.get(f"/topics/{PARENT}/lite-topics?instance=retail")).json()["total"] == 0
    assert (await api.get(f"/topics/{PARENT}/lite-topics/meter-1?instance=retail")).status_code == 404
    assert (await api.delete(f"/topics/{PARENT}?instance=retail&dry_run=true")).json()["lite_topics"] == 0
