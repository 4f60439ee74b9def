"""Topics, groups and who is there, as the node tells of them."""

from typing import Generic, TypeVar

import msgspec

from braidmq.model import FilterKind, TopicKind

ItemT = TypeVar("ItemT")


class Page(msgspec.Struct, Generic[ItemT], frozen=True, kw_only=True):
    """A part of a list. `total` is how many there are on all pages."""

    items: list[ItemT]
    page: int
    page_size: int
    total: int


class ConnectionView(msgspec.Struct, frozen=True, kw_only=True):
    """A client's connection to the node that was asked."""

    protocol: str
    client_id: str
    address: str
    groups: list[str]
    topics: list[str]
    since_ms: int | None
    last_seen_ms: int | None
    version: str
    instance: str | None = None


class GroupItem(msgspec.Struct, frozen=True, kw_only=True):
    """A group in a list."""

    name: str
    state: str
    protocols: list[str]
    members: int
    topics: int
    lag: int
    oldest_ms: int | None
    rate_out: float
    ordered: bool
    paused: bool
    in_flight: int
    internal: bool


class GroupDetail(GroupItem, frozen=True, kw_only=True):
    """A group, looked at closely."""

    instance: str
    attempts_max: int
    broadcast: bool
    settings: dict[str, str]
    topic_names: list[str]
    kept: bool
    paused_for: list[str]
    redelivered: int
    members_not_paused: int


class GroupDeleted(msgspec.Struct, frozen=True, kw_only=True):
    """What went with a group, or with a dry run would."""

    name: str
    dry_run: bool
    topics: list[str]
    subscriptions: int


class HeldPartition(msgspec.Struct, frozen=True, kw_only=True):
    """A partition that a member reads."""

    topic: str
    partition: int


class GroupMember(msgspec.Struct, frozen=True, kw_only=True):
    """A live member of a group."""

    client_id: str
    member_id: str
    protocol: str
    address: str
    version: str
    topics: list[str]
    partitions: list[HeldPartition]
    since_ms: int | None
    last_seen_ms: int | None


class StackTrace(msgspec.Struct, frozen=True, kw_only=True):
    """What the threads of a consumer do, as its client wrote it."""

    group: str
    client_id: str
    stack_trace: str


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """What a consumer made of the message: it is `consumed`, `failed` or `corrupt`."""

    group: str
    client_id: str
    outcome: str
    remark: str
    spent_ms: int


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What some members of a group want of a topic."""

    wish: str
    members: list[str]


class DifferenceView(msgspec.Struct, frozen=True, kw_only=True):
    """Members of one group that do not want the same of a topic: messages are lost for some of them."""

    topic: str
    wishes: list[Wish]


class InstanceView(msgspec.Struct, frozen=True, kw_only=True):
    """An instance, and how much is in it."""

    name: str
    description: str
    topics: int
    groups: int


class OffsetView(msgspec.Struct, frozen=True, kw_only=True):
    """How far a group is in one partition."""

    topic: str
    partition: int
    start: int
    committed: int | None
    end: int
    lag: int | None
    oldest_ms: int | None
    in_flight: int
    committed_ms: int | None


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of a group in one partition."""

    topic: str
    partition: int
    old: int | None
    new: int | None
    lag_before: int | None
    lag_after: int | None
    error: str | None = None


class Moves(msgspec.Struct, frozen=True, kw_only=True):
    """What was done, or with a dry run would be."""

    group: str
    dry_run: bool
    moves: list[Move]


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """In a second, over the last minute."""

    messages_in: float
    messages_out: float
    bytes_in: float
    bytes_out: float


class Storage(msgspec.Struct, frozen=True, kw_only=True):
    """Where messages are kept."""

    used_bytes: int
    free_bytes: int
    total_bytes: int


class NodeView(msgspec.Struct, frozen=True, kw_only=True):
    """A node that has reported within the last two minutes."""

    name: str
    listeners: dict[str, list[str]]
    seen_ms: int


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """Everything at a glance. Rates, members and connections are of the node that was asked."""

    instances: int
    topics: int
    partitions: int
    groups: int
    groups_behind: int
    members: int
    connections: int
    messages: int
    lag: int
    rates: Rates
    rates_by_protocol: dict[str, Rates]
    storage: Storage
    alarms_firing: int | None
    nodes: list[NodeView]


class SubscriptionView(msgspec.Struct, frozen=True, kw_only=True):
    """A group's wish: messages of a topic, with an event code, that its filter chooses."""

    group: str
    topic: str
    event_code: str
    filter_kind: FilterKind
    expression: str


class TopicItem(msgspec.Struct, frozen=True, kw_only=True):
    """A topic in a list. Groups and lag are as of at most ten seconds ago, rates over the last minute."""

    name: str
    kind: TopicKind
    partitions: int
    messages: int
    size_bytes: int
    rate_in: float
    rate_out: float
    groups: int
    lag: int
    internal: bool


class TopicDetail(TopicItem, frozen=True, kw_only=True):
    """A topic, looked at closely."""

    instance: str
    id: str
    retention_ms: int
    retention_bytes: int
    settings: dict[str, str]


class TopicDeleted(msgspec.Struct, frozen=True, kw_only=True):
    """What went with a topic, or with a dry run would."""

    name: str
    dry_run: bool
    partitions: int
    messages: int
    size_bytes: int
    groups: list[str]
    lite_topics: int = 0


class TopicSetting(msgspec.Struct, frozen=True, kw_only=True):
    """A setting as it counts for a topic."""

    name: str
    value: str
    default: str
    origin: str
    description: str
    type: str
    honoured: bool


class PartitionView(msgspec.Struct, frozen=True, kw_only=True):
    """A partition of a topic."""

    index: int
    number: int
    start_offset: int
    stable_offset: int
    end_offset: int
    size_bytes: int
    rate_in: float


class TopicGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group that reads a topic."""

    group: str
    lag: int | None
    members: int
    protocols: list[str]
    paused: bool


class ProducerView(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who is known to send to a topic. Kafka's idempotent producers are known by a number; RocketMQ's clients
    on gRPC say which topics they send to. Others send without saying who they are."""

    protocol: str
    client_id: str
    address: str
    producer_id: int | None
    partitions: list[int]
    transaction_open: bool
    last_seen_ms: int


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """What went from the beginning of a partition."""

    partition: int
    old_start: int
    new_start: int
    messages: int
    error: str | None = None


class MessagesDeleted(msgspec.Struct, frozen=True, kw_only=True):
    """What went of a topic's messages, or with a dry run would."""

    topic: str
    dry_run: bool
    partitions: list[Cut]


class LiteTopicItem(msgspec.Struct, frozen=True, kw_only=True):
    """A lite topic in a list."""

    name: str
    topic: str
    messages: int
    size_bytes: int
    groups: int
    lag: int
    readers: int
    last_ms: int | None
    ends_ms: int | None


class LiteReader(msgspec.Struct, frozen=True, kw_only=True):
    """A client that subscribes to a lite topic."""

    client_id: str
    group: str
    address: str


class LiteTopicDetail(LiteTopicItem, frozen=True, kw_only=True):
    """A lite topic, looked at closely."""

    parent: str
    subscribers: list[LiteReader]
    progress: list[TopicGroup]


class LiteSubscription(LiteReader, frozen=True, kw_only=True):
    """That a client subscribes to a lite topic, which may not exist yet."""

    name: str
    exists: bool


class LiteTopicDeleted(msgspec.Struct, frozen=True, kw_only=True):
    """What went with a lite topic, or with a dry run would."""

    name: str
    parent: str
    dry_run: bool
    messages: int
    size_bytes: int
    groups: list[str]
    subscribers: list[LiteReader]
