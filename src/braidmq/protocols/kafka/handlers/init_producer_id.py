"""InitProducerId (22): an id and an epoch for an idempotent producer; with a transactional id, a new life of the
producer behind it.

What an earlier life had open is aborted before the answer leaves, so that clients need not come again; only if that
cannot be done just now they hear CONCURRENT_TRANSACTIONS. From version 3 on a producer may say who it was, and goes on
after an error if nobody took over meanwhile.
"""

from braidmq.core.access import Action, ResourceKind
from braidmq.core.transactions import ProducerIdentity
from braidmq.model import NO_EPOCH, NO_PRODUCER_ID, BraidError
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._transactions import transaction_error
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

_FENCED_MIN_VERSION = 4


@answers(ApiKey.INIT_PRODUCER_ID, versions=(0, 5), action=Action.PUBLISH, resource=ResourceKind.TRANSACTION)
async def init_producer_id(call: Call[InitProducerIdRequest]) -> InitProducerIdResponse:
    try:
        producer = await _producer(call)
    except BraidError as error:
        return _refused(transaction_error(error, call.version, fenced_since=_FENCED_MIN_VERSION))
    except ValueError:
        return _refused(ErrorCode.INVALID_REQUEST)
    return InitProducerIdResponse(producer_id=producer.id, producer_epoch=producer.epoch)


async def _producer(call: Call[InitProducerIdRequest]) -> ProducerIdentity:
    """Raises ValueError for a request that makes no sense."""
    request, transactions = call.request, call.services.transactions
    expected: ProducerIdentity | None = ProducerIdentity(request.producer_id, request.producer_epoch)
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_EPOCH):
        raise ValueError(expected)
    if request.producer_id == NO_PRODUCER_ID:
        expected = None
    if request.transactional_id is None:
        return ProducerIdentity(await transactions.new_producer_id(), 0)
    if not request.transactional_id:
        raise ValueError(request.transactional_id)
    return await transactions.begin(request.transactional_id, request.transaction_timeout_ms, expected)


def _refused(code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_id=NO_PRODUCER_ID, producer_epoch=NO_EPOCH)
