"""Which partitions a receiver is given messages of: its topic's, and that of the group's retry topic, of which it
has what was sent to its topic first. Hot path.

Filters do not count for what comes by the retry topic: it is there because the group was to have it.
"""

import hashlib
from functools import lru_cache
from typing import Final, NamedTuple, Protocol

from braidmq.core.cursors._cursor import NO_LANE, Found
from braidmq.core.cursors._words import Ask
from braidmq.core.filters import Everything, Filter
from braidmq.model import ATTEMPT_HEADER, RETRY_TOPIC_HEADER, SHARDING_KEY_HEADER, Topic, retry_topic_name
from braidmq.model.errors import InvalidName, UnknownPartition
from braidmq.model.names import RETRY_TOPIC_PREFIX
from braidmq.model.numbers import whole_number
from braidmq.records import Record

_EVERYTHING: Final = Everything()
SINGLE_FILE: Final = 1
"""The lane of messages that are in order among themselves, without a key."""


class Readers(Protocol):
    """Who knows whether live members of a group read a topic by offsets of their own; see `core.members.Members`."""

    def reads(self, group: str, topic: str) -> bool: ...


class Part(NamedTuple):
    """A partition, and what of it is wanted."""

    topic: Topic
    partition: int
    number: int
    chosen: Filter
    is_retry: bool
    origin: str | None
    """Of a retry topic, only messages that were sent to this topic first, or all; elsewhere messages have none."""


def parts_of(ask: Ask, retries: Topic | None) -> list[Part]:
    """Raises UnknownPartition."""
    topic = ask.topic
    is_retry = topic.name == own_retry_name(ask.group)
    numbers = list(enumerate(topic.partition_numbers))
    if ask.partition is not None:
        if not 0 <= ask.partition < len(numbers):
            raise UnknownPartition(f"the topic {topic.name!r} has no partition {ask.partition}")
        numbers = [numbers[ask.partition]]
    origin = None if is_retry else ""
    parts = [Part(topic, partition, number, ask.chosen, is_retry, origin) for partition, number in numbers]
    if retries is not None:
        parts += [
            Part(retries, partition, number, _EVERYTHING, True, topic.name)
            for partition, number in enumerate(retries.partition_numbers)
        ]
    return parts


def watched_numbers(topic: Topic, retries: Topic | None) -> tuple[int, ...]:
    """All partitions in which something may come."""
    return (*topic.partition_numbers, *(() if retries is None else retries.partition_numbers))


def found_in(part: Part, record: Record, *, is_ordered: bool, is_single_file: bool = False) -> Found:
    """A message as the cursor is to know it."""
    if not part.is_retry:
        lane = NO_LANE
        if is_ordered:
            lane = SINGLE_FILE if is_single_file else _lane_of(record)
        return Found(record.offset, lane)
    headers = dict(record.headers)
    origin, earlier = _text(headers.get(RETRY_TOPIC_HEADER)), _text(headers.get(ATTEMPT_HEADER))
    lane = _lane_of(record, origin.encode()) if is_ordered else NO_LANE
    return Found(record.offset, lane, origin, whole_number(earlier) or 0)


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode(errors="replace")


def _lane_of(record: Record, origin: bytes = b"") -> int:
    """Messages of the same sharding key have the same lane; those without any are in order among themselves."""
    key: bytes | None = None
    for name, value in record.headers:
        if name == SHARDING_KEY_HEADER:
            key = value
    content = key if key is not None else record.key
    if content is None and not origin:
        return SINGLE_FILE
    return int.from_bytes(hashlib.blake2b(content or b"", digest_size=7, key=origin[:64]).digest()) | 1


@lru_cache(maxsize=10_000)
def own_retry_name(group: str) -> str:
    """The topic that the group's messages come back by; none where its name is too long for one."""
    try:
        return retry_topic_name(group)
    except InvalidName:
        return ""


def group_of_retry_name(topic: str) -> str:
    """The group whose messages come back by this topic; none for other topics."""
    return topic.removeprefix(RETRY_TOPIC_PREFIX) if topic.startswith(RETRY_TOPIC_PREFIX) else ""
