"""Who is there: members of groups and connections, whatever they speak.

Members come from two places. Those who join are known by `core.groups` (Kafka); those who say again and again that they
live, by `core.members` (RocketMQ, on both of its wires, and those who ask over HTTP). A connection is brought together
with its members by the channel where there is one, and else by the client's name and host, which is all that Kafka's
members give.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Final, Protocol
from uuid import UUID

import msgspec
from msgspec import Meta

from braidmq.core.connections import ClientConnection
from braidmq.core.desk._pages import Page, PageAsk, Sorts, page_of
from braidmq.core.groups import ConsumerMemberView, Groups, MemberView
from braidmq.core.members import Member, Members
from braidmq.model import Partition, Topic

KAFKA: Final = "kafka"
ROCKETMQ: Final = "rocketmq"
ROCKETMQ_GRPC: Final = "rocketmq_grpc"
HTTP: Final = "http"

AssignedOf = Callable[[bytes], Mapping[str, Sequence[int]]]
"""Which partitions a member was assigned, by topic, from what its leader wrote for it."""


_Software = dict[tuple[str, str], ClientConnection]


class Catalog(Protocol):
    """Which topics there are; see `store.Catalog`."""

    def partition_by_number(self, number: int) -> Partition | None: ...

    def topic_by_id(self, topic_id: UUID) -> Topic | None: ...


class HeldPartition(msgspec.Struct, frozen=True, kw_only=True):
    """A partition that a member reads."""

    topic: Annotated[str, Meta(examples=["orders"])]
    partition: Annotated[int, Meta(examples=[0])]


class GroupMember(msgspec.Struct, frozen=True, kw_only=True):
    """A live member of a group."""

    client_id: Annotated[str, Meta(examples=["payments-1"])]
    member_id: Annotated[str, Meta(examples=["payments-1-6f1c"], description="Unique within the group.")]
    protocol: Annotated[str, Meta(examples=["kafka", "rocketmq", "rocketmq_grpc", "http"])]
    address: Annotated[str, Meta(examples=["10.0.0.7:51234"], description="Kafka's members tell their host only.")]
    version: Annotated[str, Meta(description="The client's software, as far as it tells.")]
    topics: Annotated[list[str], Meta(description="What it wants to read.")]
    partitions: Annotated[
        list[HeldPartition],
        Meta(description="What it was assigned; empty where members divide the work among themselves, or by messages."),
    ]
    since_ms: Annotated[int | None, Meta(description="When it came; null where nobody knows.")]
    last_seen_ms: Annotated[int | None, Meta(description="When it last said that it lives; null where nobody knows.")]


class ConnectionView(msgspec.Struct, frozen=True, kw_only=True):
    """A client's connection to the node that was asked."""

    protocol: Annotated[str, Meta(examples=["kafka", "rocketmq", "rocketmq_grpc", "http"])]
    client_id: Annotated[str, Meta(examples=["payments-1"])]
    address: Annotated[str, Meta(examples=["10.0.0.7:51234"])]
    groups: Annotated[list[str], Meta(description="The groups that the client is a member of.")]
    topics: Annotated[list[str], Meta(description="What the client reads, as far as it has told.")]
    since_ms: int | None
    last_seen_ms: Annotated[int | None, Meta(description="When something last came from the client.")]
    version: Annotated[str, Meta(examples=["apache-kafka-java 4.1.0"])]
    instance: Annotated[
        str | None,
        Meta(
            examples=["default"],
            description="Whose topics and groups it works with; null over HTTP, where each request names one.",
        ),
    ]


class _Role:
    """What a client is, over all its groups."""

    __slots__ = ("groups", "topics", "version")

    def __init__(self) -> None:
        self.groups: set[str] = set()
        self.topics: set[str] = set()
        self.version = ""


class ClientsDesk:
    """Members and connections of this node."""

    def __init__(
        self,
        catalog: Catalog,
        groups: Groups,
        members: Members,
        connections: Iterable[ClientConnection],
        assigned_of: AssignedOf,
    ) -> None:
        self._catalog = catalog
        self._groups = groups
        self._members = members
        self._connections = connections
        self._assigned_of = assigned_of

    # Members.

    def members(self, group: str) -> list[GroupMember]:
        """Of every protocol."""
        joined = self._joined(group, self._software())
        return [*joined, *(_living_member(each) for each in self._members.consumers(group))]

    def counts(self) -> dict[str, int]:
        """How many members each group has; with every group that has joined members, offsets or live clients."""
        counts = self._groups.sizes()
        for group in self._members.consumer_groups():
            counts[group] = counts.get(group, 0) + len(self._members.consumers(group))
        return counts

    def count(self, group: str) -> int:
        return self._groups.size(group) + len(self._members.consumers(group))

    def protocols(self, group: str) -> list[str]:
        """What its members speak; of a group without members, nothing."""
        spoken = {_protocol(member) for member in self._members.consumers(group)}
        return sorted(spoken | {KAFKA}) if self._groups.size(group) else sorted(spoken)

    def unpausable(self, group: str) -> int:
        """How many members go on reading although the group is paused: those of Kafka's classic groups that divide the
        work in a way of their own."""
        return self._groups.unpausable(group)

    def groups_of_topic(self, topic: str) -> list[str]:
        """Groups with a live member that wants something of the topic."""
        joined = (name for name, size in self._groups.sizes().items() if size and self._groups.reads(name, topic))
        return sorted({*self._members.groups_of_topic(topic), *joined})

    def _software(self) -> _Software:
        """By name and host, which is what Kafka's members are told apart by."""
        return {(each.client_id, each.host): each for each in self._connections if each.protocol == KAFKA}

    def _joined(self, group: str, software: _Software) -> list[GroupMember]:
        assigned = self._groups.find_consumer(group) or self._groups.find_share(group)
        if assigned is not None:
            return [self._assigned_member(each, software) for each in assigned.members]
        view = self._groups.find(group)
        return [] if view is None else [self._classic_member(each, software) for each in view.members]

    def _classic_member(self, member: MemberView, software: _Software) -> GroupMember:
        held = [
            HeldPartition(topic=topic, partition=partition)
            for topic, partitions in sorted(self._assigned_of(member.assignment).items())
            for partition in partitions
        ]
        topics = self._groups.speech.topics_of(member.metadata) or {each.topic for each in held}
        return _kafka_member(member, sorted(topics), held, software)

    def _assigned_member(self, member: ConsumerMemberView, software: _Software) -> GroupMember:
        held = [place for number in sorted(member.assigned) if (place := self._place(number)) is not None]
        topics = sorted({*member.topics, *(each.topic for each in held)})
        return _kafka_member(member, topics, held, software)

    def _place(self, number: int) -> HeldPartition | None:
        partition = self._catalog.partition_by_number(number)
        topic = None if partition is None else self._catalog.topic_by_id(partition.topic_id)
        if partition is None or topic is None:
            return None
        return HeldPartition(topic=topic.name, partition=partition.index)

    # Connections.

    def connections(self, ask: PageAsk, *, protocol: str = "", instance: str = "") -> Page[ConnectionView]:
        """Those of this node; with an instance, those that work in it or may. Raises InvalidRequest."""
        found = [
            each
            for each in self._connections
            if protocol in ("", each.protocol) and (not instance or each.instance in (None, instance))
        ]
        return page_of(found, ask, text=_searched, sorts=_SORTS, view=self._connection_views)

    def connection_count(self) -> int:
        return sum(1 for _ in self._connections)

    def _connection_views(self, found: Sequence[ClientConnection]) -> list[ConnectionView]:
        by_channel, by_name = self._roles()
        nobody = _Role()
        views = []
        for each in found:
            role = by_channel.get(id(each.channel)) or by_name.get((each.protocol, each.client_id, each.host), nobody)
            views.append(
                ConnectionView(
                    protocol=each.protocol,
                    client_id=each.client_id,
                    address=_address(each),
                    groups=sorted(role.groups),
                    topics=sorted(role.topics),
                    since_ms=each.since_ms,
                    last_seen_ms=each.last_seen_ms,
                    version=each.version or role.version,
                    instance=each.instance,
                )
            )
        return views

    def _roles(self) -> tuple[dict[int, _Role], dict[tuple[str, str, str], _Role]]:
        by_channel: dict[int, _Role] = {}
        for group in self._members.consumer_groups():
            for member in self._members.consumers(group):
                _add(by_channel.setdefault(id(member.channel), _Role()), group, member)
        for group in self._members.producer_groups():
            for member in self._members.producers(group):
                by_channel.setdefault(id(member.channel), _Role()).version = _version(member)
        by_name: dict[tuple[str, str, str], _Role] = {}
        software = self._software()
        for group in [name for name, size in self._groups.sizes().items() if size]:
            for joined in self._joined(group, software):
                role = by_name.setdefault((KAFKA, joined.client_id, joined.address), _Role())
                role.groups.add(group)
                role.topics.update(joined.topics)
        return by_channel, by_name


def _add(role: _Role, group: str, member: Member) -> None:
    role.groups.add(group)
    role.topics.update(member.interests)
    role.version = _version(member)


def _kafka_member(
    member: MemberView | ConsumerMemberView,
    topics: list[str],
    held: list[HeldPartition],
    software: _Software,
) -> GroupMember:
    host = member.client_host.removeprefix("/")
    connection = software.get((member.client_id, host))
    return GroupMember(
        client_id=member.client_id,
        member_id=member.member_id,
        protocol=KAFKA,
        address=host,
        version="" if connection is None else connection.version,
        topics=topics,
        partitions=held,
        since_ms=None,
        last_seen_ms=None if connection is None else connection.last_seen_ms,
    )


def _living_member(member: Member) -> GroupMember:
    return GroupMember(
        client_id=member.id,
        member_id=member.id,
        protocol=_protocol(member),
        address=member.address,
        version=_version(member),
        topics=sorted(member.interests),
        partitions=[],
        since_ms=member.joined_ms,
        last_seen_ms=member.seen_ms,
    )


def _protocol(member: Member) -> str:
    return _PROTOCOLS.get(member.traits.get("protocol", ""), ROCKETMQ)


_PROTOCOLS: Final = {"grpc": ROCKETMQ_GRPC, "http": HTTP}


def _version(member: Member) -> str:
    return f"{member.language} {member.version}" if member.version else member.language


def _address(connection: ClientConnection) -> str:
    host = f"[{connection.host}]" if ":" in connection.host else connection.host
    return f"{host}:{connection.port}"


def _searched(connection: ClientConnection) -> str:
    return f"{connection.client_id} {_address(connection)} {connection.version}"


_SORTS: Final[Sorts[ClientConnection]] = {
    "client_id": lambda each: (each.client_id, each.host, each.port),
    "protocol": lambda each: (each.protocol, each.client_id),
    "address": lambda each: (each.host, each.port),
    "since": lambda each: each.since_ms or 0,
    "last_seen": lambda each: each.last_seen_ms or 0,
}
