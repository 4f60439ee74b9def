"""InitProducerId (22): an id for an idempotent producer."""

from braidmq.core.access import Action, ResourceKind
from braidmq.model import BraidError
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse


@answers(ApiKey.INIT_PRODUCER_ID, versions=(0, 5), action=Action.PUBLISH, resource=ResourceKind.NODE)
async def init_producer_id(call: Call[InitProducerIdRequest]) -> InitProducerIdResponse:
    if call.request.transactional_id is not None:
        return InitProducerIdResponse(error_code=ErrorCode.INVALID_REQUEST, producer_epoch=-1)
    try:
        producer_id = await call.services.transactions.new_producer_id()
    except BraidError as error:
        return InitProducerIdResponse(error_code=error_code(error), producer_epoch=-1)
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)
