"""What handlers of groups share: Kafka's words for states, and partitions as clients name them."""

from collections.abc import Iterable, Mapping
from typing import Final
from uuid import UUID

from braidmq.core.groups import GroupState
from braidmq.model import Topic
from braidmq.store import Catalog

ALL_GROUP_OPERATIONS: Final = 0b0000_1101_0100_1000
"""Until accounts exist, everybody may do everything that can be done to a group."""

_NAMES: Final[Mapping[GroupState, str]] = {
    GroupState.EMPTY: "Empty",
    GroupState.PREPARING: "PreparingRebalance",
    GroupState.COMPLETING: "CompletingRebalance",
    GroupState.STABLE: "Stable",
    GroupState.DEAD: "Dead",
    GroupState.ASSIGNING: "Assigning",
    GroupState.RECONCILING: "Reconciling",
}


def state_name(state: GroupState) -> str:
    """The state as Kafka writes it."""
    return _NAMES[state]


def by_topic(catalog: Catalog, numbers: Iterable[int]) -> list[tuple[Topic, list[int]]]:
    """The topics of these partitions, each with the indexes of those that are meant; without topics that are gone."""
    found: dict[UUID, tuple[Topic, list[int]]] = {}
    for number in sorted(numbers):
        partition = catalog.partition_by_number(number)
        topic = None if partition is None else catalog.topic_by_id(partition.topic_id)
        if partition is not None and topic is not None and not topic.deleting:
            found.setdefault(topic.id, (topic, []))[1].append(partition.index)
    return list(found.values())
