"""IncrementalAlterConfigs (44): some settings of a topic or a group; the others stay.

SET and DELETE give a setting a value or its default; APPEND and SUBTRACT change a list, beginning with its default
where nothing is set. All changes of one topic are made together or, if one of them cannot be, not at all.
"""

import enum
from collections.abc import Mapping
from functools import partial

from braidmq.core.access import Action, ResourceKind
from braidmq.model.errors import InvalidSetting
from braidmq.model.topic_settings import SettingKind, split_list, topic_setting
from braidmq.protocols.kafka._alterations import Alteration, alter_all, check_unrepeated
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import InvalidResource, error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka.codec import ApiKey
from braidmq.protocols.kafka.codec.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

_Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
_Config = IncrementalAlterConfigsRequest.AlterableConfig


class _Operation(enum.IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@answers(ApiKey.INCREMENTAL_ALTER_CONFIGS, versions=(0, 1), action=Action.CHANGE, resource=ResourceKind.SETTING)
async def incremental_alter_configs(call: Call[IncrementalAlterConfigsRequest]) -> IncrementalAlterConfigsResponse:
    request = call.request
    defaults = call.services.topics.defaults
    alterations = [
        Alteration(resource.resource_type, resource.resource_name, partial(_changed, resource, defaults))
        for resource in request.resources
    ]
    fates = await alter_all(call.services, alterations, validate_only=request.validate_only)
    return IncrementalAlterConfigsResponse(
        responses=[
            IncrementalAlterConfigsResponse.AlterConfigsResourceResponse(
                error_code=0 if fate is None else error_code(fate),
                error_message=None if fate is None else fate.message,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource, fate in zip(request.resources, fates, strict=True)
        ]
    )


def _changed(resource: _Resource, defaults: Mapping[str, str], texts: Mapping[str, str]) -> Mapping[str, str]:
    """Raises InvalidSetting, InvalidResource."""
    check_unrepeated(config.name for config in resource.configs)
    changed = dict(texts)
    for config in resource.configs:
        if config.config_operation == _Operation.DELETE:
            changed.pop(config.name, None)
        elif config.value is None:
            raise InvalidResource(f"Null value not supported for : {config.name}")
        elif config.config_operation == _Operation.SET:
            changed[config.name] = config.value
        else:
            setting = topic_setting(config.name)
            now = changed.get(config.name, defaults.get(config.name, setting.default))
            changed[config.name] = _changed_list(config, config.value, now, setting.kind)
    return changed


def _changed_list(config: _Config, value: str, now: str, kind: SettingKind) -> str:
    if config.config_operation not in (_Operation.APPEND, _Operation.SUBTRACT):
        raise InvalidResource(f"there is no operation {config.config_operation} on the setting {config.name}")
    if kind is not SettingKind.LIST:
        name = _Operation(config.config_operation).name
        raise InvalidSetting(f"Can't {name} to key {config.name} because its type is not LIST.")
    parts = list(split_list(now))
    for part in split_list(value):
        if config.config_operation == _Operation.SUBTRACT:
            parts = [each for each in parts if each != part]
        elif part not in parts:
            parts.append(part)
    return ",".join(parts)
