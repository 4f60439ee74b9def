"""AlterClientQuotas (49): what users, clients and hosts may use. Each entity's alteration is made whole or not at all.

Of two alterations of one entity, and of two values for one key, neither is made (Kafka makes the first, and answers
with an error all the same). Hosts are addresses: names are not looked up. Values are numbers, while
Kafka takes what is none.
"""

from collections import Counter
from collections.abc import Sequence

from braidmq.core.access import Action, ResourceKind
from braidmq.core.quotas import check_holder, check_value, may_have
from braidmq.model import BraidError
from braidmq.model.errors import InvalidQuota
from braidmq.model.limits import Holder, Limit
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._quota_names import ENTITY_TYPES, LIMITS, Entity, holder_of
from braidmq.protocols.kafka.codec import ApiKey
from braidmq.protocols.kafka.codec.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
)

_Asked = AlterClientQuotasRequest.EntryData
_Result = AlterClientQuotasResponse.EntryData
_Entity = AlterClientQuotasResponse.EntityData


@answers(ApiKey.ALTER_CLIENT_QUOTAS, versions=(0, 1), action=Action.CHANGE, resource=ResourceKind.ACCOUNT)
async def alter_client_quotas(call: Call[AlterClientQuotasRequest]) -> AlterClientQuotasResponse:
    asked = [(_entity(entry), entry.ops) for entry in call.request.entries]
    counts = Counter(frozenset(entity.items()) for entity, _ in asked)
    results = {}
    for entity, ops in asked:
        key = frozenset(entity.items())
        results[key] = await _alter(call, entity, ops, times=counts[key])
    return AlterClientQuotasResponse(entries=list(results.values()))


def _entity(entry: _Asked) -> Entity:
    """Of two names for one type, the last counts."""
    return {each.entity_type: each.entity_name for each in entry.entity}


async def _alter(
    call: Call[AlterClientQuotasRequest], entity: Entity, ops: Sequence[AlterClientQuotasRequest.OpData], *, times: int
) -> _Result:
    result = _Result(
        error_message=None, entity=[_Entity(entity_type=kind, entity_name=name) for kind, name in entity.items()]
    )
    try:
        if times > 1:
            raise InvalidQuota("each entity may be named once in a request")
        holder = _holder(entity)
        limits = _limits(holder, ops)
        if not call.request.validate_only:
            await call.services.quotas.revise(holder, limits)
    except BraidError as error:
        result.error_code, result.error_message = error_code(error), error.message
    return result


def _holder(entity: Entity) -> Holder:
    """Raises InvalidQuota."""
    if not entity:
        raise InvalidQuota("Invalid empty client quota entity")
    for kind, name in entity.items():
        if kind not in ENTITY_TYPES:
            raise InvalidQuota(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise InvalidQuota(f"Empty {kind} not supported")
    holder = holder_of(entity)
    check_holder(holder)
    return holder


def _limits(holder: Holder, ops: Sequence[AlterClientQuotasRequest.OpData]) -> dict[Limit, float | None]:
    """Raises InvalidQuota."""
    limits: dict[Limit, float | None] = {}
    for op in ops:
        limit = LIMITS.get(op.key)
        if limit is None or not may_have(holder, limit):
            if op.remove:
                continue
            raise InvalidQuota(f"Invalid configuration key {op.key}")
        if limit in limits:
            raise InvalidQuota(f"{op.key} may be named once for an entity")
        if not op.remove:
            check_value(limit, op.value, op.key)
        limits[limit] = None if op.remove else op.value
    return limits
