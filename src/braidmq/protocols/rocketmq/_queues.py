"""Topics and their queues, as RocketMQ's clients name them. A queue is a partition of the topic."""

from typing import Final, NamedTuple

from braidmq.core.shapes import is_readable, is_writable, readable_partitions, writable_partitions
from braidmq.model import Topic
from braidmq.model.errors import UnknownPartition, UnknownTopic
from braidmq.protocols.rocketmq._services import RocketMQServices
from braidmq.protocols.rocketmq.codec.bodies import DataVersion

DEFAULT_TOPIC: Final = "TBW102"
"""The name under which clients ask whether topics are made by being used, and how many queues those get."""
TRACE_TOPIC: Final = "RMQ_SYS_TRACE_TOPIC"

READ: Final = 4
WRITE: Final = 2
INHERIT: Final = 1


class Shape(NamedTuple):
    """How many queues of a topic are read and written, and what may be done with them."""

    read: int
    write: int
    permission: int


def shape_of(topic: Topic) -> Shape:
    permission = READ * is_readable(topic) | WRITE * is_writable(topic)
    return Shape(readable_partitions(topic), writable_partitions(topic), permission)


def is_broker_writable(services: RocketMQServices) -> bool:
    """Whether producers are sent here. An operator may turn that off, to let the broker's queues be read empty."""
    return services.catalog.setting(write_setting(services)) is None


def write_setting(services: RocketMQServices) -> str:
    """The central setting that says so where it is there."""
    return f"rocketmq.write.off/{services.facts.broker}"


def data_version(services: RocketMQServices) -> DataVersion:
    """How often the tables of topics and groups have changed."""
    return DataVersion(counter=services.catalog.revision)


def find_topic(services: RocketMQServices, name: str) -> Topic:
    """Raises UnknownTopic."""
    topic = services.topics.find(name)
    if topic is None:
        raise UnknownTopic(f"topic[{name}] not exist, apply first please!")
    return topic


def queue_number(topic: Topic, queue_id: int) -> int:
    """The partition's number in the catalog. Raises UnknownPartition."""
    if not 0 <= queue_id < len(topic.partition_numbers):
        raise illegal_queue(topic, queue_id, len(topic.partition_numbers))
    return topic.partition_numbers[queue_id]


def illegal_queue(topic: Topic, queue_id: int, queues: int) -> UnknownPartition:
    """Says why: there are only so many that may be named."""
    return UnknownPartition(f"queueId[{queue_id}] is illegal, topic:[{topic.name}] has {queues} queues")


async def made_topic(services: RocketMQServices, name: str, queues: int) -> Topic:
    """The topic of this name, made with so many queues if there is none. Raises InvalidName, InvalidPartitions."""
    return await services.topics.ensure_own(name, partitions=queues)
