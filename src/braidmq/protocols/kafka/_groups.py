"""What Kafka calls the states of a group, and what may be done with one."""

from collections.abc import Mapping
from typing import Final

from braidmq.core.groups import GroupState

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
