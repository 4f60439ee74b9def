"""DescribeClientQuotas (48): the quotas of entities that a filter chooses.

Each component of the filter names a type that an entity must have, with this name, without a name (the default), or
with any. A strict filter chooses entities that have no other types.
"""

from collections.abc import Sequence
from typing import Final

from braidmq.core.access import Action, ResourceKind
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import InvalidResource
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._quota_names import CLIENT_ID, ENTITY_TYPES, IP, USER, Entity, entity_of, values_of
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

_EXACT: Final = 0
_DEFAULT: Final = 1
_ANY: Final = 2
_MATCHES: Final = {_EXACT: "EXACT", _DEFAULT: "DEFAULT", _ANY: "SPECIFIED"}

_Component = DescribeClientQuotasRequest.ComponentData
_Entry = DescribeClientQuotasResponse.EntryData


@answers(ApiKey.DESCRIBE_CLIENT_QUOTAS, versions=(0, 1), action=Action.DESCRIBE, resource=ResourceKind.ACCOUNT)
def describe_client_quotas(call: Call[DescribeClientQuotasRequest]) -> DescribeClientQuotasResponse:
    components = call.request.components
    for component in components:
        if component.entity_type and component.entity_type not in ENTITY_TYPES:
            return _refused(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {component.entity_type}")
    try:
        _check(components)
    except InvalidResource as error:
        return _refused(ErrorCode.INVALID_REQUEST, error.message)
    chosen = [
        _entry(entity, values_of(quota))
        for quota in call.services.quotas.list()
        if _is_chosen(entity := entity_of(quota), components, strict=call.request.strict)
    ]
    return DescribeClientQuotasResponse(error_message=None, entries=chosen)


def _refused(code: ErrorCode, message: str) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(error_code=code, error_message=message, entries=None)


def _check(components: Sequence[_Component]) -> None:
    """Raises InvalidResource."""
    types: set[str] = set()
    for component in components:
        if not component.entity_type:
            raise InvalidResource("Invalid empty entity type.")
        if component.entity_type in types:
            raise InvalidResource(f"Entity type {component.entity_type} cannot appear more than once in the filter.")
        types.add(component.entity_type)
        _check_match(component)
    if IP in types and types & {USER, CLIENT_ID}:
        raise InvalidResource(
            "Invalid entity filter component combination. IP filter component should not be used with user or clientId "
            "filter component."
        )


def _check_match(component: _Component) -> None:
    name = _MATCHES.get(component.match_type)
    if name is None:
        raise InvalidResource(f"Unknown match type {component.match_type}")
    if component.match_type == _EXACT and component.match is None:
        raise InvalidResource("Request specified MATCH_TYPE_EXACT, but set match string to null.")
    if component.match_type != _EXACT and component.match is not None:
        raise InvalidResource(f"Request specified MATCH_TYPE_{name}, but also specified a match string.")


def _is_chosen(entity: Entity, components: Sequence[_Component], *, strict: bool) -> bool:
    if strict and len(entity) != len(components):
        return False
    return all(
        component.entity_type in entity
        and (component.match_type == _ANY or entity[component.entity_type] == component.match)
        for component in components
    )


def _entry(entity: Entity, values: dict[str, float]) -> _Entry:
    return _Entry(
        entity=[
            DescribeClientQuotasResponse.EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()
        ],
        values=[DescribeClientQuotasResponse.ValueData(key=key, value=value) for key, value in values.items()],
    )
