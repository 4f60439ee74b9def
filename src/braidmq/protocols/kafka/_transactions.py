"""What the handlers of transactions share: who is asking, and how its errors are numbered."""

from collections.abc import Mapping

from braidmq.model import BraidError, TransactionState
from braidmq.model.errors import ProducerFenced
from braidmq.protocols.kafka._errors import group_error_code
from braidmq.protocols.kafka.codec import ErrorCode

STATE_NAMES: Mapping[TransactionState, str] = {
    TransactionState.EMPTY: "Empty",
    TransactionState.ONGOING: "Ongoing",
    TransactionState.COMMITTING: "PrepareCommit",
    TransactionState.ABORTING: "PrepareAbort",
    TransactionState.COMMITTED: "CompleteCommit",
    TransactionState.ABORTED: "CompleteAbort",
}


def transaction_error(error: BraidError, version: int, *, fenced_since: int) -> ErrorCode:
    """Kafka's number for the error. Clients before `fenced_since` do not know PRODUCER_FENCED, and are told of their
    epoch instead."""
    if isinstance(error, ProducerFenced) and version < fenced_since:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return group_error_code(error)
