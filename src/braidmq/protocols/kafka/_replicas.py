"""Where partitions can be kept: each of them once, on this node."""

from collections.abc import Sequence

from braidmq.model.errors import InvalidAssignment, InvalidReplication
from braidmq.protocols.kafka._services import KafkaServices

REPLICATION_FACTOR = 1
DEFAULT = -1
"""In the place of a number, for what the node thinks best."""


def check_replication(factor: int) -> None:
    """Raises InvalidReplication."""
    if factor < 1 and factor != DEFAULT:
        raise InvalidReplication("Replication factor must be larger than 0, or -1 to use the default value.")
    if factor > REPLICATION_FACTOR:
        raise InvalidReplication(
            f"The target replication factor of {factor} cannot be reached because only 1 broker(s) are registered."
        )


def check_replicas(services: KafkaServices, node_ids: Sequence[int]) -> None:
    """Raises InvalidAssignment for anything but one replica on this node."""
    if list(node_ids) != [services.node_id]:
        raise InvalidAssignment(
            f"every partition has one replica, on node {services.node_id}; it cannot be on {list(node_ids)}"
        )
