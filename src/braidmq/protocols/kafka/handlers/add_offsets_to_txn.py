"""AddOffsetsToTxn (25): a group whose offsets a transaction is going to carry."""

from braidmq.core.access import Action, ResourceKind
from braidmq.core.transactions import ProducerIdentity
from braidmq.model import BraidError
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._transactions import transaction_error
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse

_FENCED_MIN_VERSION = 2


@answers(ApiKey.ADD_OFFSETS_TO_TXN, versions=(0, 4), action=Action.PUBLISH, resource=ResourceKind.TRANSACTION)
async def add_offsets_to_txn(call: Call[AddOffsetsToTxnRequest]) -> AddOffsetsToTxnResponse:
    request = call.request
    if not request.transactional_id:
        return AddOffsetsToTxnResponse(error_code=ErrorCode.INVALID_REQUEST)
    if not request.group_id:
        return AddOffsetsToTxnResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    producer = ProducerIdentity(request.producer_id, request.producer_epoch)
    try:
        await call.services.transactions.add(request.transactional_id, producer, groups=[request.group_id])
    except BraidError as error:
        return AddOffsetsToTxnResponse(
            error_code=transaction_error(error, call.version, fenced_since=_FENCED_MIN_VERSION)
        )
    return AddOffsetsToTxnResponse()
