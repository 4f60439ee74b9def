"""The first page: how much there is, how much comes and goes, and what needs somebody."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from braidmq.core.counters import MINUTE_MS, Counters, Sum
from braidmq.core.desk._figures import Figures
from braidmq.core.desk.clients import ClientsDesk
from braidmq.core.desk.groups import GroupsDesk
from braidmq.core.presence import NodeReport
from braidmq.log import Log
from braidmq.store import Catalog


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """In a second, over the last minute."""

    messages_in: float
    messages_out: float
    bytes_in: float
    bytes_out: float


class Storage(msgspec.Struct, frozen=True, kw_only=True):
    """Where messages are kept."""

    used_bytes: Annotated[int, Meta(description="What messages take up; at most ten seconds old.")]
    free_bytes: Annotated[int, Meta(description="-1 where nobody can say.")]
    total_bytes: Annotated[int, Meta(description="-1 where nobody can say.")]


class NodeView(msgspec.Struct, frozen=True, kw_only=True):
    """A node that has reported within the last two minutes."""

    name: Annotated[str, Meta(examples=["node-1"])]
    listeners: Annotated[
        Mapping[str, Sequence[str]],
        Meta(examples=[{"kafka": ["10.0.0.1:9092"]}], description="Where clients begin, by protocol."),
    ]
    seen_ms: int


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """Everything at a glance. Rates, members and connections are of the node that was asked."""

    instances: int
    topics: Annotated[int, Meta(description="Of all instances, with the house's own.")]
    partitions: int
    groups: Annotated[int, Meta(description="All that are known, by whatever sign.")]
    groups_behind: Annotated[int, Meta(description="Those that have messages to read; at most ten seconds old.")]
    members: int
    connections: int
    messages: Annotated[int, Meta(description="At most ten seconds old.")]
    lag: Annotated[int, Meta(description="Of all groups together; at most ten seconds old.")]
    rates: Rates
    rates_by_protocol: Annotated[Mapping[str, Rates], Meta(description="What clients of each protocol do.")]
    storage: Storage
    alarms_firing: Annotated[int | None, Meta(description="Null where this node watches no alarms.")]
    nodes: list[NodeView]


class OverviewDesk:
    """`alarms_firing` is None where nobody watches."""

    def __init__(
        self,
        catalog: Catalog,
        log: Log,
        counters: Counters,
        clients: ClientsDesk,
        groups: GroupsDesk,
        figures: Figures,
        nodes: Callable[[], Sequence[NodeReport]],
        *,
        alarms_firing: Callable[[], int] | None = None,
    ) -> None:
        self._catalog = catalog
        self._log = log
        self._counters = counters
        self._clients = clients
        self._groups = groups
        self._figures = figures
        self._nodes = nodes
        self._alarms_firing = alarms_firing

    async def look(self) -> Overview:
        """Now, but for what is said to be older."""
        picture = await self._figures.latest()
        room = await self._log.room()
        topics, figures = self._catalog.topics(), picture.topics.values()
        stored, delivered = self._counters.all_over(MINUTE_MS)
        used_bytes = sum(each.size_bytes for each in figures)
        return Overview(
            instances=len(self._catalog.instances()),
            topics=len(topics),
            partitions=sum(len(topic.partition_numbers) for topic in topics),
            groups=sum(len(self._groups.names(instance.name)) for instance in self._catalog.instances()),
            groups_behind=sum(1 for each in picture.groups.values() if each.lag),
            members=sum(self._clients.counts().values()),
            connections=self._clients.connection_count(),
            messages=sum(each.messages for each in figures),
            lag=sum(each.lag for each in picture.groups.values()),
            rates=_rates(stored, delivered),
            rates_by_protocol={name: _rates(*sums) for name, sums in self._counters.by_protocol(MINUTE_MS).items()},
            storage=Storage(used_bytes=used_bytes, free_bytes=room.free_bytes, total_bytes=room.total_bytes),
            alarms_firing=None if self._alarms_firing is None else self._alarms_firing(),
            nodes=self.nodes(),
        )

    def nodes(self) -> list[NodeView]:
        """Those that are there."""
        return [NodeView(name=each.name, listeners=each.listeners, seen_ms=each.seen_ms) for each in self._nodes()]


def _rates(came: Sum, went: Sum) -> Rates:
    return Rates(
        messages_in=round(came.messages_per_s, 3),
        messages_out=round(went.messages_per_s, 3),
        bytes_in=round(came.bytes_per_s, 3),
        bytes_out=round(went.bytes_per_s, 3),
    )
