"""Topics as people see them: the values that `core.desk.topics` gives."""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from braidmq.model import TopicKind


class TopicItem(msgspec.Struct, frozen=True, kw_only=True):
    """A topic in a list. Groups and lag are as of at most ten seconds ago, rates over the last minute."""

    name: Annotated[str, Meta(examples=["orders"])]
    kind: TopicKind
    partitions: Annotated[int, Meta(examples=[4])]
    messages: Annotated[int, Meta(description="Offsets that are kept, over all partitions.")]
    size_bytes: int
    rate_in: Annotated[float, Meta(description="Messages in a second that came.")]
    rate_out: Annotated[float, Meta(description="Messages in a second that were given out, to all readers together.")]
    groups: Annotated[int, Meta(description="How many groups have committed something of it.")]
    lag: Annotated[int, Meta(description="How many messages those groups are behind, together.")]
    internal: Annotated[bool, Meta(description="A topic of the house, or of a group's retries or dead letters.")]


class TopicDetail(TopicItem, frozen=True, kw_only=True):
    """A topic, looked at closely."""

    instance: Annotated[str, Meta(examples=["default"])]
    id: Annotated[str, Meta(description="Stable: a topic deleted and made again has another. Empty in a dry run.")]
    retention_ms: Annotated[int, Meta(description="How long messages are kept; -1 for ever.")]
    retention_bytes: Annotated[int, Meta(description="How much each partition keeps; -1 without limit.")]
    settings: Annotated[Mapping[str, str], Meta(description="What is set for this topic.")]


class SettingView(msgspec.Struct, frozen=True, kw_only=True):
    """A setting as it counts for a topic."""

    name: Annotated[str, Meta(examples=["retention.ms"])]
    value: Annotated[str, Meta(examples=["604800000"])]
    default: Annotated[str, Meta(description="What counts where the topic says nothing.")]
    origin: Annotated[str, Meta(examples=["topic", "node", "default"], description="Who said so.")]
    description: str
    type: Annotated[str, Meta(examples=["long"])]
    honoured: Annotated[bool, Meta(description="False for what is kept for tools, and changes nothing here.")]


class PartitionView(msgspec.Struct, frozen=True, kw_only=True):
    """A partition of a topic."""

    index: Annotated[int, Meta(examples=[0])]
    number: Annotated[int, Meta(description="Unique over all topics, and never used again.")]
    start_offset: int
    stable_offset: Annotated[int, Meta(description="The first that an open transaction may still change.")]
    end_offset: int
    size_bytes: int
    rate_in: Annotated[float, Meta(description="Messages in a second, over the last minute.")]


class TopicGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group that reads a topic."""

    group: Annotated[str, Meta(examples=["settlement"])]
    lag: Annotated[int | None, Meta(description="Null for a group that has committed nothing here.")]
    members: int
    protocols: list[str]
    paused: bool


class ProducerView(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who is known to send to a topic. Kafka's idempotent producers are known by a number; RocketMQ's clients
    on gRPC say which topics they send to. Others send without saying who they are."""

    protocol: Annotated[str, Meta(examples=["kafka", "rocketmq_grpc"])]
    client_id: Annotated[str, Meta(description="Empty for producers that are known by number.")]
    address: str
    producer_id: int | None
    partitions: Annotated[list[int], Meta(description="Those that it has sent to.")]
    transaction_open: bool
    last_seen_ms: int


class TopicDeleted(msgspec.Struct, frozen=True, kw_only=True):
    """What went with a topic, or with a dry run would."""

    name: str
    dry_run: bool
    partitions: int
    messages: Annotated[int, Meta(description="With those of its lite topics.")]
    size_bytes: int
    groups: Annotated[list[str], Meta(description="Groups that read it, or have committed something of it.")]
    lite_topics: Annotated[int, Meta(description="Lite topics under it, which go with it.")] = 0


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """What went from the beginning of a partition."""

    partition: int
    old_start: int
    new_start: int
    messages: Annotated[int, Meta(description="How many offsets went.")]
    error: Annotated[str | None, Meta(description="Why the partition stays as it is.")] = None


class MessagesDeleted(msgspec.Struct, frozen=True, kw_only=True):
    """What went of a topic's messages, or with a dry run would."""

    topic: str
    dry_run: bool
    partitions: list[Cut]
