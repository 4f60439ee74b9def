"""What requests name, found or refused in words that say what to do."""

from typing import Final, Protocol

from braidmq.core.filters import Everything, Filter, filter_of
from braidmq.core.query import Query
from braidmq.log import Log
from braidmq.model import DEFAULT_INSTANCE, FilterKind, Message, Topic
from braidmq.model.errors import InvalidFilter, InvalidRequest, UnknownMessage, UnknownPartition, UnknownTopic
from braidmq.model.saying import say

LIMIT: Final = 50
LIMIT_MAX: Final = 1_000


class Catalog(Protocol):
    """Which topics there are; see `store.Catalog`."""

    def topic(self, instance: str, name: str) -> Topic | None: ...


def named_topic(catalog: Catalog, name: str, instance: str = DEFAULT_INSTANCE) -> Topic:
    """Raises UnknownTopic."""
    topic = catalog.topic(instance, name)
    if topic is None:
        if instance == DEFAULT_INSTANCE:
            raise UnknownTopic(say("there is no topic {name}", name=repr(name[:255])))
        pattern = "there is no topic {name} in the instance {instance}"
        raise UnknownTopic(say(pattern, name=repr(name[:255]), instance=repr(instance[:64])))
    return topic


def named_partition(topic: Topic, partition: int) -> int:
    """The partition's number in the log. Raises UnknownPartition."""
    if not 0 <= partition < len(topic.partition_numbers):
        last = len(topic.partition_numbers) - 1
        raise UnknownPartition(
            say(
                "the topic {name} has the partitions 0 to {last}, and no {partition}",
                name=repr(topic.name),
                last=last,
                partition=partition,
            )
        )
    return topic.partition_numbers[partition]


async def named_message(query: Query, log: Log, topic: Topic, partition: int, offset: int) -> Message:
    """The message at this place. Raises UnknownPartition, UnknownMessage."""
    number = named_partition(topic, partition)
    found = await query.at(number, offset)
    if found is None:
        start, stable, _ = log.bounds(number)
        raise UnknownMessage(
            say(
                "the partition {partition} of {name} has no message at offset {offset};"
                " it has offsets from {start} up to {stable}, which is not included",
                partition=partition,
                name=repr(topic.name),
                offset=offset,
                start=start,
                stable=stable,
            )
        )
    return found


def named_filter(kind: FilterKind, expression: str) -> Filter:
    """Raises InvalidFilter."""
    if kind is FilterKind.HEADER:
        raise InvalidFilter("filter: its kind is all, tag or sql; sql chooses by headers, too")
    return Everything() if kind is FilterKind.TAG and expression in ("", "*") else filter_of(kind, expression)


def checked_limit(limit: int, most: int = LIMIT_MAX) -> int:
    """Raises InvalidRequest."""
    if not 1 <= limit <= most:
        raise InvalidRequest(say("limit: it is 1 to {most}, not {limit}", most=most, limit=limit))
    return limit
