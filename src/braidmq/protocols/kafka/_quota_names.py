"""Quotas in Kafka's words: entities, and what is set for them."""

from collections.abc import Mapping
from typing import Final

from braidmq.model.limits import OTHERS, UNNAMED, Holder, Limit, Quota, named

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"
ENTITY_TYPES: Final = (USER, CLIENT_ID, IP)

LIMITS: Final[Mapping[str, Limit]] = {
    "producer_byte_rate": Limit.PUBLISHED_BYTES,
    "consumer_byte_rate": Limit.CONSUMED_BYTES,
    "request_percentage": Limit.BUSY_PERCENT,
    "controller_mutation_rate": Limit.CHANGED_PARTITIONS,
    "connection_creation_rate": Limit.CONNECTIONS,
}
_NAMES: Final = {limit.value: name for name, limit in LIMITS.items()}

Entity = Mapping[str, str | None]
"""Names by entity types; None is the default entity of a type."""


def holder_of(entity: Entity) -> Holder:
    """The entity must only have types that there are."""

    def part(entity_type: str) -> str:
        if entity_type not in entity:
            return UNNAMED
        name = entity[entity_type]
        return OTHERS if name is None else named(name)

    return Holder(user=part(USER), client=part(CLIENT_ID), host=part(IP))


def entity_of(quota: Quota) -> Entity:
    parts = zip(ENTITY_TYPES, quota.holder, strict=True)
    return {kind: None if part == OTHERS else part[1:] for kind, part in parts if part != UNNAMED}


def values_of(quota: Quota) -> dict[str, float]:
    """What is set, by Kafka's names; what a newer node has set is left out."""
    return {_NAMES[limit]: value for limit, value in quota.limits.items() if limit in _NAMES}
