"""A producer's transaction: which records and offsets of which producer count together, and how far their end is."""

import enum

import msgspec

NO_PRODUCER_ID = -1
NO_EPOCH = -1


class TransactionState(enum.StrEnum):
    """Where a transactional id stands. The way is empty, ongoing, then ending and ended in one of two ways, and from
    there ongoing again."""

    EMPTY = "empty"
    ONGOING = "ongoing"
    COMMITTING = "committing"
    ABORTING = "aborting"
    COMMITTED = "committed"
    ABORTED = "aborted"

    @property
    def is_ending(self) -> bool:
        """Decided, but not yet told to all partitions and groups."""
        return self in (TransactionState.COMMITTING, TransactionState.ABORTING)

    @property
    def is_idle(self) -> bool:
        """Nothing is open, nothing is left to do."""
        return self in (TransactionState.EMPTY, TransactionState.COMMITTED, TransactionState.ABORTED)


class Transaction(msgspec.Struct, frozen=True, kw_only=True):
    """All that is kept of one transactional id. A transactional id names a producer across its restarts: each life
    gets the same producer id with a higher epoch, and the lives before it are shut out."""

    id: str
    producer_id: int
    epoch: int
    """-1 until the producer has been given one."""
    state: TransactionState = TransactionState.EMPTY
    timeout_ms: int
    """How long a transaction may stay open before it is aborted for its producer."""
    partitions: frozenset[int] = frozenset()
    """The numbers of the partitions that have, or may have, records of it."""
    groups: frozenset[str] = frozenset()
    """The groups whose offsets it carries."""
    last_epoch: int = NO_EPOCH
    """What the epoch was before its last change, if its producer asked for the change: it may ask again."""
    previous_producer_id: int = NO_PRODUCER_ID
    """What the producer id was before its epochs were used up."""
    next_producer_id: int = NO_PRODUCER_ID
    """What the producer id will be when the end is carried out, if the epochs are used up by it."""
    bumps_epoch: bool = False
    """Whether the producer takes a new epoch with each end (the newer of the two ways that clients have)."""
    started_ms: int = -1
    changed_ms: int = -1
