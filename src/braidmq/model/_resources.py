"""What exists in an instance: topics with their partitions, groups, and which group reads what."""

import enum
from collections.abc import Mapping
from uuid import UUID

import msgspec

DEFAULT_INSTANCE = "default"
DEFAULT_RETENTION_MS = 3 * 24 * 60 * 60 * 1000
PARTITION_NUMBER_MAX = (1 << 23) - 1
"""A partition's number fits the 23 bits that a RocketMQ physical offset leaves for it."""

TOPIC_PARTITIONS_MAX = 10_000
"""The most that one topic may have."""


class TopicKind(enum.StrEnum):
    """Which messages a topic takes. `MIXED` takes all; topics made by protocols that know no kinds are mixed."""

    NORMAL = "normal"
    FIFO = "fifo"
    DELAY = "delay"
    TRANSACTION = "transaction"
    PRIORITY = "priority"
    """A message's partition is its priority, and receivers are given those of the highest first."""
    LITE = "lite"
    """It holds lite topics, made by their first message, and no message of its own."""
    MIXED = "mixed"


class Instance(msgspec.Struct, frozen=True, kw_only=True):
    """A tenant: names are unique within one, and nothing is seen across."""

    name: str
    description: str = ""


class Partition(msgspec.Struct, frozen=True, order=True):
    """One ordered log of a topic. `number` is given by the catalog, unique, and never used again."""

    topic_id: UUID
    index: int
    number: int


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    """A named set of partitions. `id` is stable: a topic deleted and made again is another topic.

    `settings` holds what users set beyond retention, by the names that Kafka gives them.
    """

    id: UUID
    name: str
    instance: str = DEFAULT_INSTANCE
    kind: TopicKind = TopicKind.MIXED
    partition_numbers: tuple[int, ...]
    retention_ms: int = DEFAULT_RETENTION_MS
    """How long messages are kept; -1 for ever."""
    retention_bytes: int = -1
    """How much is kept in each partition; -1 without limit."""
    settings: Mapping[str, str] = {}
    deleting: bool = False
    """Deletion has begun: the topic is hidden from users, and its files are being removed."""

    @property
    def partitions(self) -> tuple[Partition, ...]:
        return tuple(Partition(self.id, index, number) for index, number in enumerate(self.partition_numbers))


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Consumers that share the work of reading (or, broadcasting, each read all of it)."""

    name: str
    instance: str = DEFAULT_INSTANCE
    broadcast: bool = False
    ordered: bool = False
    attempts_max: int = 16
    """How often a message is delivered again before it goes to the dead letters."""
    settings: Mapping[str, str] = {}


class FilterKind(enum.StrEnum):
    """How a subscription chooses messages."""

    ALL = "all"
    TAG = "tag"
    SQL = "sql"
    HEADER = "header"


class Subscription(msgspec.Struct, frozen=True, kw_only=True):
    """The relation (group, topic, event code): the only basis of delivery."""

    group: str
    topic: str
    instance: str = DEFAULT_INSTANCE
    event_code: str = "*"
    filter_kind: FilterKind = FilterKind.ALL
    expression: str = ""
