"""AlterConfigs (33): all settings of a topic or a group at once; what is not named has its default again.

Tools that only want to change one setting read all, change it and write all back; they should use
IncrementalAlterConfigs, which does not undo what somebody else changes meanwhile.
"""

from collections.abc import Mapping
from functools import partial

from braidmq.core.access import Action, ResourceKind
from braidmq.protocols.kafka._alterations import Alteration, alter_all, check_unrepeated
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import InvalidResource, error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka.codec import ApiKey
from braidmq.protocols.kafka.codec.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse

_Resource = AlterConfigsRequest.AlterConfigsResource


@answers(ApiKey.ALTER_CONFIGS, versions=(0, 2), action=Action.CHANGE, resource=ResourceKind.SETTING)
async def alter_configs(call: Call[AlterConfigsRequest]) -> AlterConfigsResponse:
    request = call.request
    alterations = [
        Alteration(resource.resource_type, resource.resource_name, partial(_replace, resource))
        for resource in request.resources
    ]
    fates = await alter_all(call.services, alterations, validate_only=request.validate_only)
    return AlterConfigsResponse(
        responses=[
            AlterConfigsResponse.AlterConfigsResourceResponse(
                error_code=0 if fate is None else error_code(fate),
                error_message=None if fate is None else fate.message,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource, fate in zip(request.resources, fates, strict=True)
        ]
    )


def _replace(resource: _Resource, _: Mapping[str, str]) -> Mapping[str, str]:
    check_unrepeated(config.name for config in resource.configs)
    texts = {}
    for config in resource.configs:
        if config.value is None:
            raise InvalidResource(f"Null value not supported for : {config.name}")
        texts[config.name] = config.value
    return texts
