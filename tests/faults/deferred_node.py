"""A node that delays messages and ends half messages as fast as it can: deferred_node.py FOLDER PREFIX

It prints a line for everything that was acknowledged: `timer ID DUE_MS`, `commit ID`, `rollback ID`, `prepared ID`.
"""

import asyncio
import itertools
import random
import sys
import time
from pathlib import Path

from braidmq.model import Message, Topic
from braidmq.node import Node
from braidmq.settings import HttpSettings, KafkaSettings, NodeSettings, RocketMQGrpcSettings, RocketMQSettings, Settings

TOPIC = "orders"
WORKERS = 8
DELAY_MAX_MS = 150


def settings_for(folder: Path) -> Settings:
    return Settings(
        node=NodeSettings(data=folder),
        http=HttpSettings(listen=None),
        kafka=KafkaSettings(listen=()),
        rocketmq=RocketMQSettings(listen=()),
        rocketmq_grpc=RocketMQGrpcSettings(listen=()),
    )


def tell(*words: object) -> None:
    print(*words, flush=True)


async def delay(node: Node, topic: Topic, id: str) -> None:
    due_ms = time.time_ns() // 1_000_000 + random.randrange(DELAY_MAX_MS)
    await node.timers.add(topic, Message.create(b"x", id=id), due_ms)
    tell("timer", id, due_ms)


async def half(node: Node, topic: Topic, id: str) -> None:
    handle, _ = await node.halves.prepare(topic, Message.create(b"x", id=id), group="g")
    tell("prepared", id)
    commit = random.random() < 0.5
    if not commit:
        tell("rolling-back", id)
    await node.halves.end(handle, commit=commit, group="g")
    tell("commit" if commit else "rollback", id)


async def work(node: Node, topic: Topic, prefix: str) -> None:
    for number in itertools.count():
        await delay(node, topic, f"{prefix}-t{number}")
        await half(node, topic, f"{prefix}-h{number}")


async def main(folder: Path, prefix: str) -> None:
    node = await Node.start(settings_for(folder))
    topic = await node.topics.ensure(TOPIC)
    await asyncio.gather(*(work(node, topic, f"{prefix}-{worker}") for worker in range(WORKERS)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
