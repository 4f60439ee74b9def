"""A node with very many topics and groups, made in seconds: rows go straight into its store, before it starts."""

import asyncio
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import sqlalchemy as sa

from braidmq.log import GroupOffset
from braidmq.model import Message
from braidmq.node import Node
from braidmq.records import batch_messages
from braidmq.settings import Settings
from braidmq.store import Store
from braidmq.store import _tables as tables

MESSAGES = 10
EVERY = 20
"""Each so-many-th partition holds messages."""
COMMITTED = 4
"""In how many partitions each group has committed something."""


async def fill_store(settings: Settings, *, topics: int, partitions: int, groups: int) -> None:
    """Topics `topic-00000` and on, and groups `group-0000` and on, of which every other one was made."""
    await asyncio.to_thread(Path(settings.node.data).mkdir, parents=True, exist_ok=True)
    store = await Store.open(settings.store_url)
    try:
        await store.write(lambda connection: _insert(connection, topics, partitions, groups))
    finally:
        await store.close()


async def commit_all(node: Node, groups: int) -> None:
    """Let every group be at the start of a few partitions, not the same for all; some of them hold messages."""
    numbers = [number for topic in node.catalog.topics() for number in topic.partition_numbers]
    now_ms = time.time_ns() // 1_000_000
    batch = batch_messages([Message(body=bytes(100), born_ms=now_ms) for _ in range(MESSAGES)])
    await node.log.append([(number, batch) for number in numbers[: groups * COMMITTED : EVERY]])
    for nth in range(groups):
        chosen = (numbers[(nth * COMMITTED + each) % len(numbers)] for each in range(COMMITTED))
        await node.log.commit_offsets(f"group-{nth:04}", {number: GroupOffset(0) for number in chosen})


def _insert(connection: sa.Connection, topics: int, partitions: int, groups: int) -> None:
    rows = [_topic(f"topic-{nth:05}") for nth in range(topics)]
    places = [
        {"number": nth * partitions + index, "topic_id": row["id"], "index": index}
        for nth, row in enumerate(rows)
        for index in range(partitions)
    ]
    connection.execute(tables.topics.insert(), rows)
    connection.execute(tables.partitions.insert(), places)
    connection.execute(tables.groups.insert(), [_group(f"group-{nth:04}") for nth in range(0, groups, 2)])
    counter = tables.counters.c
    given = tables.counters.update().where(counter.name == tables.PARTITION_NUMBER)
    connection.execute(given.values(value=topics * partitions))


def _topic(name: str) -> dict[str, Any]:
    return {
        "id": uuid4(),
        "instance": "default",
        "name": name,
        "claimed_name": name,
        "kind": "mixed",
        "retention_ms": 3_600_000,
        "retention_bytes": -1,
        "settings": {},
        "deleting": False,
    }


def _group(name: str) -> dict[str, Any]:
    return {
        "instance": "default",
        "name": name,
        "broadcast": False,
        "ordered": False,
        "attempts_max": 16,
        "settings": {},
    }
