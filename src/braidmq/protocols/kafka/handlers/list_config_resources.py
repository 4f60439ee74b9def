"""ListConfigResources (74): what has settings that can be described: every topic, this node, and groups that have some.

Version 0 asks for the settings of clients' metrics, which there are none of.
"""

from braidmq.core.access import Action, ResourceKind
from braidmq.model import DEFAULT_INSTANCE
from braidmq.model.share_settings import share_texts
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._configs import ResourceType
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from braidmq.protocols.kafka.handlers.metadata import is_shown

_Resource = ListConfigResourcesResponse.ConfigResource


@answers(ApiKey.LIST_CONFIG_RESOURCES, versions=(0, 1), action=Action.DESCRIBE, resource=ResourceKind.SETTING)
def list_config_resources(call: Call[ListConfigResourcesRequest]) -> ListConfigResourcesResponse:
    if call.version == 0:
        return ListConfigResourcesResponse()
    wanted = call.request.resource_types or list(ResourceType)
    if any(each not in list(ResourceType) for each in wanted):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    return ListConfigResourcesResponse(
        config_resources=[
            _Resource(resource_name=name, resource_type=each)
            for each in dict.fromkeys(wanted)
            for name in _names(call, each)
        ]
    )


def _names(call: Call[ListConfigResourcesRequest], resource_type: int) -> list[str]:
    if resource_type == ResourceType.TOPIC:
        topics = call.services.catalog.topics()
        return sorted(topic.name for topic in topics if is_shown(call.services, topic))
    if resource_type in (ResourceType.BROKER, ResourceType.BROKER_LOGGER):
        return [str(call.services.node_id)]
    if resource_type == ResourceType.GROUP:
        groups = call.services.catalog.groups()
        return sorted(group.name for group in groups if group.instance == DEFAULT_INSTANCE and share_texts(group))
    return []
