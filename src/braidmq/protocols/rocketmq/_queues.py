"""Topics and their queues, as RocketMQ's clients name them. A queue is a partition of the topic."""

from typing import Final

from braidmq.model import Topic
from braidmq.model.errors import UnknownPartition, UnknownTopic
from braidmq.protocols.rocketmq._services import RocketMQServices

DEFAULT_TOPIC: Final = "TBW102"
"""The name under which clients ask whether topics are made by being used, and how many queues those get."""
DEFAULT_TOPIC_QUEUES: Final = 8
TRACE_TOPIC: Final = "RMQ_SYS_TRACE_TOPIC"

READ: Final = 4
WRITE: Final = 2
INHERIT: Final = 1


def find_topic(services: RocketMQServices, name: str) -> Topic:
    """Raises UnknownTopic."""
    topic = services.topics.find(name)
    if topic is None:
        raise UnknownTopic(f"topic[{name}] not exist, apply first please!")
    return topic


def queue_number(topic: Topic, queue_id: int) -> int:
    """The partition's number in the catalog. Raises UnknownPartition."""
    if not 0 <= queue_id < len(topic.partition_numbers):
        raise UnknownPartition(
            f"queueId[{queue_id}] is illegal, topic:[{topic.name}] has {len(topic.partition_numbers)} queues"
        )
    return topic.partition_numbers[queue_id]


async def made_topic(services: RocketMQServices, name: str, queues: int) -> Topic:
    """The topic of this name, made with so many queues if there is none. Raises InvalidName, InvalidPartitions."""
    return await services.topics.ensure_own(name, partitions=queues)
