"""What members of groups say in Kafka's own formats, for parts of the house that know no wire format.

Kafka's package is imported when the first of them has said something: a node that does not speak Kafka has no use for
its 5 MB.
"""

from collections.abc import Mapping, Sequence


def subscribed_topics(metadata: bytes) -> frozenset[str] | None:
    """The topics that a member subscribes to; None for what cannot be read."""
    from braidmq.protocols import kafka

    return kafka.subscribed_topics(metadata)


def idle_assignment(protocol_type: str, protocol: str) -> bytes | None:
    """What a member is told that is to read nothing; None where its assignor would not know what to make of it."""
    from braidmq.protocols import kafka

    return kafka.idle_assignment(protocol_type, protocol)


def assigned_partitions(assignment: bytes) -> Mapping[str, Sequence[int]]:
    """The partitions that a member was assigned, by topic; none for what cannot be read."""
    from braidmq.protocols import kafka

    return kafka.assigned_partitions(assignment)
