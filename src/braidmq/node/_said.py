"""What members of groups say in Kafka's own formats, for parts of the house that know no wire format.

Kafka's package is imported when the first of them has said something: a node that does not speak Kafka has no use for
its 5 MB.
"""

from collections.abc import Mapping, Sequence

from braidmq.core.groups import Speech
from braidmq.store import Catalog


def kafka_speech(catalog: Catalog) -> Speech:
    """What members of groups write to each other."""
    from braidmq.protocols import kafka

    return kafka.ConsumerSpeech(catalog)


def assigned_partitions(assignment: bytes) -> Mapping[str, Sequence[int]]:
    """The partitions that a member was assigned, by topic; none for what cannot be read."""
    from braidmq.protocols import kafka

    return kafka.assigned_partitions(assignment)
