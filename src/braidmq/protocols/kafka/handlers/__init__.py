"""One file for each API key; importing this package registers them all.

Each file begins with what its API does here where that differs from, or is not obvious in, Kafka.
"""

from braidmq.protocols.kafka.handlers import (
    api_versions,
    delete_groups,
    describe_groups,
    fetch,
    find_coordinator,
    heartbeat,
    init_producer_id,
    join_group,
    leave_group,
    list_groups,
    list_offsets,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    produce,
    sync_group,
)

__all__ = [
    "api_versions",
    "delete_groups",
    "describe_groups",
    "fetch",
    "find_coordinator",
    "heartbeat",
    "init_producer_id",
    "join_group",
    "leave_group",
    "list_groups",
    "list_offsets",
    "metadata",
    "offset_commit",
    "offset_delete",
    "offset_fetch",
    "produce",
    "sync_group",
]
