"""Topics over the API: made, listed, changed, cut and deleted."""

import time

import httpx
import pytest
from aiokafka import AIOKafkaProducer

from api_support import Eventually, Publish
from braidmq.model import Message
from braidmq.node import Node


async def test_a_topic_is_made_described_and_deleted(api: httpx.AsyncClient, node: Node) -> None:
    made = await api.post("/topics", json={"name": "orders", "partitions": 3, "settings": {"retention.ms": "60000"}})
    assert made.status_code == 201, made.text
    described = (await api.get("/topics/orders")).json()
    assert described == made.json()
    assert (described["partitions"], described["kind"], described["retention_ms"]) == (3, "mixed", 60000)
    assert described["settings"] == {"retention.ms": "60000"}

    gone = (await api.delete("/topics/orders")).json()
    assert (gone["name"], gone["dry_run"], gone["partitions"]) == ("orders", False, 3)
    assert node.catalog.topic("default", "orders") is None


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/topics?dry_run=true", {"name": "new", "partitions": 2}),
        ("PATCH", "/topics/orders?dry_run=true", {"partitions": 9, "kind": "fifo", "settings": {"retention.ms": "1"}}),
        ("DELETE", "/topics/orders?dry_run=true", None),
        ("POST", "/topics/orders/delete-messages?dry_run=true", {"before": {"0": 3}}),
    ],
)
async def test_a_dry_run_changes_nothing(
    api: httpx.AsyncClient, node: Node, publish: Publish, method: str, path: str, body: object
) -> None:
    await node.topics.create("orders", partitions=2)
    await publish("orders", 5)
    before = (node.catalog.revision, node.log.bounds(node.topics.find("orders").partition_numbers[0]))  # type: ignore[union-attr]
    answer = await api.request(method, path, json=body)
    assert answer.is_success, answer.text
    after = (node.catalog.revision, node.log.bounds(node.topics.find("orders").partition_numbers[0]))  # type: ignore[union-attr]
    assert before == after


async def test_a_dry_run_of_a_change_shows_the_topic_as_it_would_be(api: httpx.AsyncClient, node: Node) -> None:
    await node.topics.create("orders", partitions=2)
    wanted = {"partitions": 9, "kind": "fifo", "settings": {"retention.ms": "1000"}}
    planned = (await api.patch("/topics/orders?dry_run=true", json=wanted)).json()
    done = (await api.patch("/topics/orders", json=wanted)).json()
    assert planned == done
    assert (done["partitions"], done["kind"], done["retention_ms"]) == (9, "fifo", 1000)
    back = (await api.patch("/topics/orders", json={"settings": {"retention.ms": None}})).json()
    assert back["settings"] == {}


async def test_a_change_that_cannot_be_whole_changes_nothing(api: httpx.AsyncClient, node: Node) -> None:
    await node.topics.create("orders", partitions=4)
    answer = await api.patch("/topics/orders", json={"partitions": 2, "settings": {"retention.ms": "1000"}})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_partitions")
    assert (await api.get("/topics/orders")).json()["settings"] == {}


async def test_the_list_is_searched_sorted_and_paged(
    api: httpx.AsyncClient, node: Node, publish: Publish, eventually: Eventually
) -> None:
    for name, messages in (("orders", 1), ("order-events", 7), ("payments", 3)):
        await node.topics.create(name, partitions=1)
        await publish(name, messages)

    async def is_sorted() -> bool:
        page = (await api.get("/topics", params={"search": "ORDER", "sort": "-messages", "page_size": 1})).json()
        return page["total"] == 2 and [item["name"] for item in page["items"]] == ["order-events"]

    await eventually(is_sorted)
    second = (await api.get("/topics", params={"search": "order", "page": 2, "page_size": 1})).json()
    assert [item["name"] for item in second["items"]] == ["orders"]
    assert second["items"][0]["messages"] == 1
    by_kind = (await api.get("/topics", params={"kind": "fifo"})).json()
    assert by_kind["total"] == 0


async def test_topics_of_the_house_are_listed_where_they_are_asked_for(api: httpx.AsyncClient, node: Node) -> None:
    await node.topics.create("orders")
    await node.topics.ensure_own("%RETRY%settlement")
    names = {item["name"] for item in (await api.get("/topics")).json()["items"]}
    everything = {item["name"]: item["internal"] for item in (await api.get("/topics?internal=true")).json()["items"]}
    assert names == {"orders"}
    assert everything["%RETRY%settlement"] is True


async def test_settings_say_who_said_so(api: httpx.AsyncClient, node: Node) -> None:
    await node.topics.create("orders", settings={"retention.ms": "60000"})
    settings = {each["name"]: each for each in (await api.get("/topics/orders/settings")).json()}
    assert settings["retention.ms"]["value"] == "60000"
    assert settings["retention.ms"]["origin"] == "topic"
    assert settings["retention.bytes"]["origin"] == "default"
    assert settings["retention.ms"]["type"] == "long"


async def test_partitions_show_what_they_hold_and_how_much_comes(api: httpx.AsyncClient, node: Node) -> None:
    await node.topics.create("orders", partitions=2)
    producer = AIOKafkaProducer(bootstrap_servers=str(node.addresses["kafka"][0]))
    await producer.start()
    try:
        for _ in range(3):
            await producer.send_and_wait("orders", b"x", partition=1)
    finally:
        await producer.stop()
    partitions = (await api.get("/topics/orders/partitions")).json()
    assert [(each["index"], each["start_offset"], each["end_offset"]) for each in partitions] == [(0, 0, 0), (1, 0, 3)]
    assert partitions[0]["size_bytes"] == 0 < partitions[1]["size_bytes"]
    assert partitions[0]["rate_in"] == 0 < partitions[1]["rate_in"]


async def test_idempotent_producers_are_known_by_their_number(api: httpx.AsyncClient, node: Node) -> None:
    await node.topics.create("orders", partitions=2)
    producer = AIOKafkaProducer(bootstrap_servers=str(node.addresses["kafka"][0]), enable_idempotence=True)
    await producer.start()
    try:
        for partition in (0, 1):
            await producer.send_and_wait("orders", b"x", partition=partition)
    finally:
        await producer.stop()
    [known] = (await api.get("/topics/orders/producers")).json()
    assert known["protocol"] == "kafka"
    assert known["producer_id"] is not None
    assert known["partitions"] == [0, 1]


async def test_the_beginning_of_a_topic_is_deleted_by_offset_or_by_time(
    api: httpx.AsyncClient, node: Node, publish: Publish
) -> None:
    await node.topics.create("orders", partitions=2)
    born_ms = time.time_ns() // 1_000_000 - 10_000
    await publish("orders", 5, partition=0, born_ms=born_ms)
    await publish("orders", 5, partition=1, born_ms=born_ms)
    cut = (await api.post("/topics/orders/delete-messages", json={"before": {"0": 2, "1": 99}})).json()
    first, second = cut["partitions"]
    assert (first["old_start"], first["new_start"], first["messages"], first["error"]) == (0, 2, 2, None)
    assert second["error"].startswith("offset_out_of_range")
    by_time = await api.post("/topics/orders/delete-messages", json={"before_time_ms": born_ms + 4})
    assert [each["new_start"] for each in by_time.json()["partitions"]] == [4, 4]


async def test_a_compacted_topic_keeps_its_beginning(api: httpx.AsyncClient, node: Node) -> None:
    await node.topics.create("rates", settings={"cleanup.policy": "compact"})
    answer = await api.post("/topics/rates/delete-messages", json={"before": {"0": 0}})
    assert (answer.status_code, answer.json()["code"]) == (403, "not_permitted")
    assert "cleanup.policy" in answer.json()["fix"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code", "said"),
    [
        ("GET", "/topics/none", None, 404, "unknown_topic", "none"),
        ("GET", "/topics/orders?instance=other", None, 404, "unknown_topic", "other"),
        ("POST", "/topics", {"name": "orders"}, 409, "already_exists", "orders"),
        ("POST", "/topics", {"name": "a b"}, 400, "invalid_name", "a b"),
        ("POST", "/topics", {"name": "x", "settings": {"retention.ms": "y"}}, 422, "invalid_setting", "retention.ms"),
        ("POST", "/topics", {"name": "x", "shape": "round"}, 400, "bad_request", "shape"),
        ("POST", "/topics", {"name": 7}, 400, "bad_request", "name"),
        ("POST", "/topics", {"name": "x", "partitions": "4"}, 400, "bad_request", "$.partitions"),
        ("POST", "/topics", ["x"], 400, "bad_request", "body"),
        ("POST", "/topics", None, 400, "bad_request", "body: is missing"),
        ("POST", "/topics?instance=none", {"name": "x"}, 404, "unknown_instance", "none"),
        ("GET", "/topics?sort=colour", None, 400, "invalid_request", "colour"),
        ("GET", "/topics?page=0", None, 400, "invalid_request", "page"),
        ("GET", "/topics?page=first", None, 400, "bad_request", "page"),
        ("GET", "/topics?kind=round", None, 400, "bad_request", "kind"),
        ("POST", "/topics/orders/delete-messages", {}, 400, "invalid_request", "before"),
        ("POST", "/topics/orders/delete-messages", {"before": {"7": 0}}, 404, "unknown_partition", "7"),
    ],
)
async def test_what_cannot_be_is_a_problem_that_names_the_thing_and_the_fix(
    api: httpx.AsyncClient, node: Node, method: str, path: str, body: object, status: int, code: str, said: str
) -> None:
    await node.topics.create("orders")
    answer = await api.request(method, path, json=body)
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (status, code), problem
    assert answer.headers["content-type"] == "application/problem+json"
    assert said in problem["detail"]
    assert problem["fix"]


async def test_a_topic_of_lite_topics_is_made_and_what_is_behind_them_is_listed_on_request(
    api: httpx.AsyncClient, node: Node
) -> None:
    wanted = {"name": "devices", "partitions": 1, "kind": "lite", "settings": {"lite.topic.expiration": "30"}}
    made = await api.post("/topics", json=wanted)
    assert (made.status_code, made.json()["kind"]) == (201, "lite")
    topic = node.topics.find("devices")
    assert topic is not None
    await node.lite.send(topic, "d1", Message.create(b"hello"))
    assert [each["name"] for each in (await api.get("/topics")).json()["items"]] == ["devices"]
    listed = (await api.get("/topics", params={"internal": True, "search": "LITE"})).json()["items"]
    assert [(each["name"], each["internal"]) for each in listed] == [("%LITE%devices|d1", True)]
    plain = await api.post("/topics/devices/messages", json={"messages": [{"body": "x"}]})
    assert plain.json()["results"][0]["error"]["code"] == "wrong_message_kind"
    wrong = await api.patch("/topics/devices", json={"settings": {"lite.topic.expiration": "43201"}})
    assert wrong.json()["code"] == "invalid_setting"
