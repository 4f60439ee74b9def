"""A node whose group sends everything back as fast as it can, until it is dead: retry_node.py FOLDER PREFIX

It prints a line for everything that was acknowledged: `sent ID ATTEMPT`, and `dead ID ATTEMPT` for the last.
"""

import asyncio
import itertools
import sys
from pathlib import Path

from braidmq.log import Appended
from braidmq.model import DEFAULT_INSTANCE, Group, Message, Topic, retry_topic_name
from braidmq.node import Node
from braidmq.records import batch_messages
from braidmq.settings import HttpSettings, KafkaSettings, NodeSettings, RocketMQGrpcSettings, RocketMQSettings, Settings

TOPIC = "orders"
GROUP = Group(name="payers", attempts_max=2, settings={"retry.steps": "20ms 60ms"})
WORKERS = 8


def settings_for(folder: Path) -> Settings:
    return Settings(
        node=NodeSettings(data=folder),
        http=HttpSettings(listen=None),
        kafka=KafkaSettings(listen=()),
        rocketmq=RocketMQSettings(listen=()),
        rocketmq_grpc=RocketMQGrpcSettings(listen=()),
    )


async def send_back(node: Node, number: int, offset: int) -> None:
    sent = await node.retries.send_back(GROUP.name, number, offset)
    print("dead" if sent.dead else "sent", sent.message_id, sent.attempt, flush=True)


async def publish(node: Node, topic: Topic, prefix: str) -> None:
    """Messages that are all sent back."""
    number = topic.partition_numbers[0]
    for nth in itertools.count():
        batch = batch_messages([Message.create(b"x", id=f"{prefix}-{nth}")])
        (result,) = await node.log.append([(number, batch)])
        assert isinstance(result, Appended)
        await send_back(node, number, result.base_offset)


async def read(node: Node) -> None:
    """What comes again from now on is sent back again."""
    topic = await node.topics.ensure_own(retry_topic_name(GROUP.name), partitions=1)
    number = topic.partition_numbers[0]
    offset = node.log.bounds(number).end
    while True:
        await node.log.wait({number: offset}, timeout_s=60)
        end = min(node.log.bounds(number).end, offset + WORKERS)
        await asyncio.gather(*(send_back(node, number, each) for each in range(offset, end)))
        offset = end


async def main(folder: Path, prefix: str) -> None:
    node = await Node.start(settings_for(folder))
    if node.catalog.group(DEFAULT_INSTANCE, GROUP.name) is None:
        await node.catalog.save_group(GROUP)
    topic = await node.topics.ensure(TOPIC)
    await asyncio.gather(read(node), *(publish(node, topic, f"{prefix}-{worker}") for worker in range(WORKERS)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
