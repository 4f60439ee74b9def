"""ListTransactions (66): all transactional ids, or those in a state, of a producer, open for longer than a time
(version 1), or named by a regular expression (version 2)."""

import time

from braidmq.core.access import Action, ResourceKind
from braidmq.core.patterns import Pattern
from braidmq.model import Transaction
from braidmq.model.errors import InvalidExpression
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._transactions import STATE_NAMES
from braidmq.protocols.kafka.codec import ApiKey
from braidmq.protocols.kafka.codec.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse

_STATES = {name: state for state, name in STATE_NAMES.items()}
_OTHER_STATES = ("PrepareEpochFence", "Dead")
"""Known to Kafka, but only for moments; nothing is ever in them here."""


@answers(ApiKey.LIST_TRANSACTIONS, versions=(0, 2), action=Action.DESCRIBE, resource=ResourceKind.TRANSACTION)
def list_transactions(call: Call[ListTransactionsRequest]) -> ListTransactionsResponse:
    request = call.request
    now_ms = time.time_ns() // 1_000_000
    try:
        pattern = Pattern(request.transactional_id_pattern) if request.transactional_id_pattern else None
    except InvalidExpression as error:
        return ListTransactionsResponse(error_code=error_code(error))
    return ListTransactionsResponse(
        unknown_state_filters=[
            name for name in request.state_filters if name not in _STATES and name not in _OTHER_STATES
        ],
        transaction_states=[
            ListTransactionsResponse.TransactionState(
                transactional_id=transaction.id,
                producer_id=transaction.producer_id,
                transaction_state=STATE_NAMES[transaction.state],
            )
            for transaction in call.services.transactions.transactions()
            if _is_wanted(request, transaction, now_ms) and (pattern is None or pattern.matches(transaction.id))
        ],
    )


def _is_wanted(request: ListTransactionsRequest, transaction: Transaction, now_ms: int) -> bool:
    if request.producer_id_filters and transaction.producer_id not in request.producer_id_filters:
        return False
    if request.state_filters and STATE_NAMES[transaction.state] not in request.state_filters:
        return False
    return request.duration_filter < 0 or now_ms - transaction.started_ms > request.duration_filter
