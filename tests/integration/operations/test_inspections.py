"""A node looks at itself."""

from typing import Any

import httpx
from aiokafka import AIOKafkaProducer

from braidmq.core.inspection._group_checks import only_grows
from braidmq.log import GroupOffset
from braidmq.model import Message
from braidmq.model.names import DEAD_LETTER_TOPIC_PREFIX
from braidmq.node import Node
from braidmq.records import batch_messages


async def inspect(node: Node, api: httpx.AsyncClient) -> dict[tuple[str, str], dict[str, Any]]:
    """What was found, by check and subject."""
    await node.lags.look()
    await node.desk.sampler.turn(closely=True)
    answer = await api.post("/inspections")
    assert answer.status_code == 201, answer.text
    return {(each["check"], each["subject"]): each for each in answer.json()["findings"]}


async def fill(node: Node, name: str, count: int, body: bytes = b"x", index: int = 0) -> int:
    from braidmq.model import DEFAULT_INSTANCE

    topic = node.catalog.topic(DEFAULT_INSTANCE, name) or await node.topics.create(name, partitions=4)
    number = topic.partition_numbers[index]
    await node.log.append([(number, batch_messages([Message(body=body)] * count))])
    return number


async def test_what_is_not_well_is_found_named_and_has_a_cure(node: Node, api: httpx.AsyncClient) -> None:
    number = await fill(node, "orders", 10)
    await fill(node, "unread", 3)
    await fill(node, DEAD_LETTER_TOPIC_PREFIX + "billing", 2)
    await node.log.commit_offsets("billing", {number: GroupOffset(offset=4)})
    found = await inspect(node, api)
    abandoned = found["groups without members", "group billing"]
    assert abandoned["found"] == "6 messages wait, and the group has no member"
    assert abandoned["standing"] == "warn"
    assert abandoned["advice"]
    assert abandoned["command"] == "braid group show billing"
    assert found["topics without readers", "topic unread"]["found"] == "3 messages that no group reads"
    assert ("topics without readers", "topic orders") not in found
    assert found["dead letters", "group billing"]["found"].startswith("2 messages")
    assert "loss of power" in found["settings", "log.flush"]["found"], "these tests run with flush = interval"
    assert ("clock", "") in found
    assert not any(each["standing"] == "fail" and each["check"] != "disk" for each in found.values())


async def test_partitions_out_of_balance_are_found(node: Node, api: httpx.AsyncClient) -> None:
    for _ in range(18):
        await fill(node, "skewed", 1, b"x" * (1 << 20))
    found = await inspect(node, api)
    assert found["unbalanced partitions", "topic skewed"]["found"] == "partition 0 holds 100 % of the topic"


async def test_reports_are_kept_listed_and_found(
    node: Node, api: httpx.AsyncClient, producer: AIOKafkaProducer
) -> None:
    first, second = (await api.post("/inspections")).json(), (await api.post("/inspections")).json()
    listed = (await api.get("/inspections")).json()
    assert [each["id"] for each in listed["items"]] == [second["id"], first["id"]]
    assert "findings" not in listed["items"][0]
    assert (await api.get(f"/inspections/{first['id']}")).json() == first
    assert (await api.get("/inspections/none")).json()["code"] == "unknown_inspection"
    assert sum(first["counts"].values()) == len(first["findings"])


def test_only_a_lag_that_never_shrinks_and_has_grown_is_a_growing_one() -> None:
    assert only_grows([1, 1, 2, 2, 3])
    assert not only_grows([1, 1, 1, 1, 1])
    assert not only_grows([1, 5, 4, 6, 7])
    assert not only_grows([1, 2])
