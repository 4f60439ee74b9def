"""One file for each API key; importing this package registers them all.

Each file begins with what its API does here where that differs from, or is not obvious in, Kafka.
"""

from braidmq.protocols.kafka.handlers import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    api_versions,
    describe_producers,
    describe_transactions,
    end_txn,
    fetch,
    init_producer_id,
    list_offsets,
    list_transactions,
    metadata,
    offset_for_leader_epoch,
    produce,
    txn_offset_commit,
    write_txn_markers,
)

__all__ = [
    "add_offsets_to_txn",
    "add_partitions_to_txn",
    "api_versions",
    "describe_producers",
    "describe_transactions",
    "end_txn",
    "fetch",
    "init_producer_id",
    "list_offsets",
    "list_transactions",
    "metadata",
    "offset_for_leader_epoch",
    "produce",
    "txn_offset_commit",
    "write_txn_markers",
]
