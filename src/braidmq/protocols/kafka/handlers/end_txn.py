"""EndTxn (26): commit or abort.

The decision is durable when the answer leaves, and its readers see it, unless the log could not take the markers just
then: they follow. An end that is repeated in the same way is answered as the first time. From version 5 on an end also
gives the producer its next epoch.
"""

from braidmq.core.access import Action, ResourceKind
from braidmq.core.transactions import ProducerIdentity
from braidmq.model import BraidError
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._transactions import transaction_error
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.end_txn import EndTxnRequest, EndTxnResponse

_FENCED_MIN_VERSION = 2
_EPOCHS_MIN_VERSION = 5


@answers(ApiKey.END_TXN, versions=(0, 5), action=Action.PUBLISH, resource=ResourceKind.TRANSACTION)
async def end_txn(call: Call[EndTxnRequest]) -> EndTxnResponse:
    request = call.request
    if not request.transactional_id:
        return EndTxnResponse(error_code=ErrorCode.INVALID_REQUEST)
    producer = ProducerIdentity(request.producer_id, request.producer_epoch)
    try:
        following = await call.services.transactions.end(
            request.transactional_id,
            producer,
            commit=request.committed,
            bumps_epoch=call.version >= _EPOCHS_MIN_VERSION,
        )
    except BraidError as error:
        return EndTxnResponse(error_code=transaction_error(error, call.version, fenced_since=_FENCED_MIN_VERSION))
    return EndTxnResponse(producer_id=following.id, producer_epoch=following.epoch)
