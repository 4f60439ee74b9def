"""One file for each API key; importing this package registers them all.

Each file begins with what its API does here where that differs from, or is not obvious in, Kafka.
"""

from braidmq.protocols.kafka.handlers import (
    api_versions,
    create_topics,
    delete_topics,
    describe_configs,
    fetch,
    init_producer_id,
    list_offsets,
    metadata,
    produce,
)

__all__ = [
    "api_versions",
    "create_topics",
    "delete_topics",
    "describe_configs",
    "fetch",
    "init_producer_id",
    "list_offsets",
    "metadata",
    "produce",
]
