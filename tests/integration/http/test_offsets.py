"""Offsets over the API: positions, and moves that show before what they do."""

import time
from typing import Any

import httpx
import pytest
from aiokafka import AIOKafkaConsumer

from api_support import Publish
from braidmq.log import GroupOffset
from braidmq.model import Topic
from braidmq.node import Node
from braidmq.protocols.rocketmq.codec import ResponseCode
from rocketmq_support import RawClient

BORN_MS = time.time_ns() // 1_000_000 - 60_000


@pytest.fixture
async def orders(node: Node, publish: Publish) -> Topic:
    """Ten messages a millisecond apart in each partition; the group is behind the fourth of the first one."""
    topic = await node.topics.create("orders", partitions=2)
    for partition in (0, 1):
        await publish("orders", 10, partition=partition, born_ms=BORN_MS)
    await node.groups.commit("g", None, {topic.partition_numbers[0]: GroupOffset(4)})
    return topic


def moved(answer: httpx.Response) -> list[tuple[Any, ...]]:
    assert answer.status_code == 200, answer.text
    return [(each["partition"], each["old"], each["new"]) for each in answer.json()["moves"]]


async def test_positions_show_lag_and_age(api: httpx.AsyncClient, orders: Topic) -> None:
    first, second = (await api.get("/groups/g/offsets")).json()
    assert (first["topic"], first["partition"], first["start"], first["committed"], first["end"], first["lag"]) == (
        "orders",
        0,
        0,
        4,
        10,
        6,
    )
    age_ms = time.time_ns() // 1_000_000 - BORN_MS - 4  # of the fifth message
    assert age_ms - 20_000 < first["oldest_ms"] <= age_ms
    assert (second["committed"], second["lag"], second["oldest_ms"]) == (None, None, None)


@pytest.mark.parametrize(
    ("wanted", "moves"),
    [
        ({"to": "earliest"}, [(0, 4, 0), (1, None, 0)]),
        ({"to": "latest"}, [(0, 4, 10), (1, None, 10)]),
        ({"to": "offset", "value": 7}, [(0, 4, 7), (1, None, 7)]),
        ({"to": "offset", "value": 99}, [(0, 4, 10), (1, None, 10)]),
        ({"to": "time", "value": BORN_MS + 3}, [(0, 4, 3), (1, None, 3)]),
        ({"to": "shift", "value": -3}, [(0, 4, 1), (1, None, 0)]),
        ({"to": "shift", "value": 2, "partitions": [0]}, [(0, 4, 6)]),
        ({"to": "shift", "value": -99, "partitions": [0]}, [(0, 4, 0)]),
    ],
)
async def test_a_reset_does_what_its_dry_run_has_shown(
    api: httpx.AsyncClient, node: Node, orders: Topic, wanted: dict[str, Any], moves: list[tuple[Any, ...]]
) -> None:
    before = dict(node.groups.offsets("g"))
    planned = await api.post("/groups/g/offsets/reset?dry_run=true", json=wanted)
    assert moved(planned) == moves
    assert dict(node.groups.offsets("g")) == before
    done = await api.post("/groups/g/offsets/reset", json=wanted)
    assert done.json() == planned.json() | {"dry_run": False}
    committed = {number: offset.offset for number, offset in node.groups.offsets("g").items()}
    assert committed == {orders.partition_numbers[partition]: new for partition, _, new in moves} | {
        number: offset.offset
        for number, offset in before.items()
        if number not in {orders.partition_numbers[partition] for partition, _, _ in moves}
    }


async def test_lag_before_and_after_is_shown(api: httpx.AsyncClient, orders: Topic) -> None:
    answer = await api.post("/groups/g/offsets/reset?dry_run=true", json={"to": "offset", "value": 9})
    first, second = answer.json()["moves"]
    assert (first["lag_before"], first["lag_after"]) == (6, 1)
    assert (second["lag_before"], second["lag_after"]) == (None, 1)


async def test_a_group_with_kafka_members_is_previewed_but_not_moved(
    api: httpx.AsyncClient, node: Node, orders: Topic
) -> None:
    consumer = AIOKafkaConsumer(
        "orders", bootstrap_servers=str(node.addresses["kafka"][0]), group_id="g", enable_auto_commit=False
    )
    await consumer.start()
    try:
        planned = await api.post("/groups/g/offsets/reset?dry_run=true", json={"to": "earliest"})
        refused = await api.post("/groups/g/offsets/reset", json={"to": "earliest"})
    finally:
        await consumer.stop()
    assert moved(planned) == [(0, 4, 0), (1, None, 0)]
    assert all(each["error"].startswith("group_not_empty") for each in planned.json()["moves"])
    assert (refused.status_code, refused.json()["code"]) == (409, "group_not_empty")
    assert node.groups.offsets("g")[orders.partition_numbers[0]].offset == 4


async def test_rocketmq_members_are_told_of_a_reset_by_their_next_pull(
    api: httpx.AsyncClient, orders: Topic, rocketmq: RawClient
) -> None:
    await rocketmq.beat("client-1", group="g", topics={"orders": "*"})
    answer = await api.post("/groups/g/offsets/reset", json={"to": "offset", "value": 8, "partitions": [0]})
    assert moved(answer) == [(0, 4, 8)]
    pulled = await rocketmq.pull("g", "orders", 5)
    assert pulled.code == ResponseCode.PULL_OFFSET_MOVED
    assert pulled.fields["nextBeginOffset"] == "8"


async def test_all_that_waits_is_skipped(api: httpx.AsyncClient, orders: Topic) -> None:
    assert moved(await api.post("/groups/g/offsets/skip", json={"topics": ["orders"]})) == [(0, 4, 10), (1, None, 10)]


async def test_a_group_goes_on_where_another_is(api: httpx.AsyncClient, node: Node, orders: Topic) -> None:
    planned = await api.post("/groups/new/offsets/clone?dry_run=true", json={"from_group": "g"})
    assert moved(planned) == [(0, None, 4)]
    assert node.groups.offsets("new") == {}
    assert moved(await api.post("/groups/new/offsets/clone", json={"from_group": "g"})) == [(0, None, 4)]
    assert node.groups.offsets("new")[orders.partition_numbers[0]].offset == 4


async def test_offsets_are_forgotten(api: httpx.AsyncClient, node: Node, orders: Topic) -> None:
    assert moved(await api.delete("/groups/g/offsets?topic=orders&dry_run=true")) == [(0, 4, None)]
    assert node.groups.offsets("g") != {}
    assert moved(await api.delete("/groups/g/offsets?topic=orders")) == [(0, 4, None)]
    assert node.groups.offsets("g") == {}


async def test_nothing_moves_where_one_topic_of_several_lacks_the_partition(
    api: httpx.AsyncClient, node: Node, orders: Topic
) -> None:
    await node.topics.create("small", partitions=1)
    wanted = {"to": "earliest", "topics": ["orders", "small"], "partitions": [0, 1]}
    answer = await api.post("/groups/g/offsets/reset", json=wanted)
    assert answer.json()["code"] == "unknown_partition"
    assert node.groups.offsets("g")[orders.partition_numbers[0]].offset == 4


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/groups/g/offsets/reset", {"to": "offset"}, 400, "invalid_request"),
        ("/groups/g/offsets/reset", {"to": "offset", "value": -1}, 400, "invalid_request"),
        ("/groups/g/offsets/reset", {"to": "latest", "value": 1}, 400, "invalid_request"),
        ("/groups/g/offsets/reset", {"to": "yesterday"}, 400, "bad_request"),
        ("/groups/g/offsets/reset", {"to": "latest", "topics": ["none"]}, 404, "unknown_topic"),
        ("/groups/g/offsets/reset", {"to": "latest", "topics": []}, 400, "invalid_request"),
        ("/groups/none/offsets/reset", {"to": "latest"}, 404, "unknown_group"),
        (f"/groups/{'x' * 300}/offsets/reset", {"to": "latest", "topics": ["orders"]}, 400, "invalid_name"),
        ("/groups/g/offsets/clone", {"from_group": "none"}, 404, "unknown_group"),
    ],
)
async def test_what_cannot_be_is_a_problem(
    api: httpx.AsyncClient, orders: Topic, path: str, body: object, status: int, code: str
) -> None:
    answer = await api.post(path, json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert answer.json()["fix"]
