"""AlterClientQuotas (49): refused, because a limit that is taken and not held would be a false promise."""

from braidmq.core.access import Action, ResourceKind
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
)

_MESSAGE = "this node holds no quotas for clients, so none can be set"

_Entity = AlterClientQuotasResponse.EntityData


@answers(ApiKey.ALTER_CLIENT_QUOTAS, versions=(0, 1), action=Action.CHANGE, resource=ResourceKind.ACCOUNT)
def alter_client_quotas(call: Call[AlterClientQuotasRequest]) -> AlterClientQuotasResponse:
    return AlterClientQuotasResponse(
        entries=[
            AlterClientQuotasResponse.EntryData(
                error_code=ErrorCode.INVALID_REQUEST,
                error_message=_MESSAGE,
                entity=[_Entity(entity_type=each.entity_type, entity_name=each.entity_name) for each in entry.entity],
            )
            for entry in call.request.entries
        ]
    )
