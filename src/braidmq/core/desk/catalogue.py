"""The desk of what exists: topics, groups, offsets, clients, put together from the parts of a node."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from braidmq.core.connections import ClientConnection
from braidmq.core.counters import Counters
from braidmq.core.cursors import Cursors
from braidmq.core.desk._figures import Figures
from braidmq.core.desk.clients import AssignedOf, ClientsDesk
from braidmq.core.desk.groups import GroupsDesk
from braidmq.core.desk.instances import InstancesDesk
from braidmq.core.desk.lite import LiteDesk
from braidmq.core.desk.offsets import OffsetsDesk
from braidmq.core.desk.overview import OverviewDesk
from braidmq.core.desk.subscriptions import SubscriptionsDesk
from braidmq.core.desk.topics import TopicsDesk
from braidmq.core.group_offsets import GroupOffsets
from braidmq.core.groups import Groups
from braidmq.core.lite import Lite
from braidmq.core.members import Members
from braidmq.core.presence import NodeReport
from braidmq.core.timing import Clock
from braidmq.core.topics import Topics
from braidmq.log import Log
from braidmq.store import Catalog


class Parts(NamedTuple):
    """What the desk looks at."""

    catalog: Catalog
    log: Log
    topics: Topics
    groups: Groups
    group_offsets: GroupOffsets
    cursors: Cursors
    lite: Lite
    members: Members
    counters: Counters
    connections: Iterable[ClientConnection]
    nodes: Callable[[], Sequence[NodeReport]]
    assigned_of: AssignedOf
    clock: Clock
    alarms_firing: Callable[[], int] | None = None


class Catalogue(NamedTuple):
    """One service for each kind of thing. Made by `open_catalogue`; `figures` is to be started and closed."""

    overview: OverviewDesk
    instances: InstancesDesk
    topics: TopicsDesk
    lite: LiteDesk
    groups: GroupsDesk
    offsets: OffsetsDesk
    subscriptions: SubscriptionsDesk
    clients: ClientsDesk
    figures: Figures


def open_catalogue(parts: Parts) -> Catalogue:
    """All services, over the same figures."""
    catalog, log, members = parts.catalog, parts.log, parts.members
    figures = Figures(catalog, log, parts.counters, parts.clock)
    clients = ClientsDesk(catalog, parts.groups, members, parts.connections, parts.assigned_of)
    offsets = OffsetsDesk(catalog, log, parts.group_offsets, parts.cursors, members, parts.clock)
    groups = GroupsDesk(catalog, log, parts.groups, parts.cursors, clients, offsets, figures, parts.clock)
    topics = TopicsDesk(catalog, parts.topics, log, parts.counters, members, clients, offsets, figures, parts.lite)
    return Catalogue(
        overview=OverviewDesk(
            catalog, log, parts.counters, clients, groups, figures, parts.nodes, alarms_firing=parts.alarms_firing
        ),
        instances=InstancesDesk(catalog),
        topics=topics,
        lite=LiteDesk(parts.lite, topics, members, figures, parts.clock),
        groups=groups,
        offsets=offsets,
        subscriptions=SubscriptionsDesk(catalog, members),
        clients=clients,
        figures=figures,
    )
