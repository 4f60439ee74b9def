"""The desk of a node: what operators see and do, made of the node's parts."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from braidmq.core.connections import ClientConnection
from braidmq.core.desk.catalogue import Catalogue, Parts, open_catalogue
from braidmq.core.timing import LoopClock
from braidmq.node._said import assigned_partitions

if TYPE_CHECKING:
    from braidmq.node._node import Node


def make_catalogue(node: "Node", connections: Iterable[ClientConnection]) -> Catalogue:
    """What exists, over everything that the node has opened. Its figures are to be started."""
    return open_catalogue(
        Parts(
            catalog=node.catalog,
            log=node.log,
            topics=node.topics,
            groups=node.groups,
            group_offsets=node.group_offsets,
            cursors=node.cursors,
            lite=node.lite,
            members=node.members,
            counters=node.counters,
            connections=connections,
            nodes=node.presence.nodes,
            assigned_of=assigned_partitions,
            clock=LoopClock(),
            alarms_firing=lambda: len(node.desk.alarms.firing),
        )
    )
