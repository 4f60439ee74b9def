"""DescribeConfigs (32): every setting of topics and nodes, with where its value comes from.

A topic has all of Kafka's settings, also those that change nothing here (their documentation says so), because tools
read, change and write back. A group has those of share consumers, whether anybody has used it yet or not. A node's
settings are read-only: they are in its file. Nodes have no loggers whose level a client could see, and clients have no
settings: these are answered with an empty list.
"""

from collections.abc import Iterable

from braidmq.core.access import Action, ResourceKind
from braidmq.model import DEFAULT_INSTANCE, BraidError, Group
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._configs import (
    TYPES,
    Config,
    ResourceType,
    Source,
    group_configs,
    node_configs,
    topic_config,
)
from braidmq.protocols.kafka._errors import InvalidResource, error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._partitions import find_described, find_own_topic
from braidmq.protocols.kafka.codec import ApiKey
from braidmq.protocols.kafka.codec.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse

_Resource = DescribeConfigsRequest.DescribeConfigsResource
_Entry = DescribeConfigsResponse.DescribeConfigsResourceResult
_Result = DescribeConfigsResponse.DescribeConfigsResult


@answers(ApiKey.DESCRIBE_CONFIGS, versions=(0, 4), action=Action.DESCRIBE, resource=ResourceKind.SETTING)
def describe_configs(call: Call[DescribeConfigsRequest]) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(results=[_describe(call, resource) for resource in call.request.resources])


def _describe(call: Call[DescribeConfigsRequest], asked: _Resource) -> _Result:
    try:
        configs = _configs(call, asked)
    except BraidError as error:
        return _Result(
            error_code=error_code(error),
            error_message=error.message,
            resource_type=asked.resource_type,
            resource_name=asked.resource_name,
        )
    # Old clients send an empty list where they mean all.
    wanted = set(asked.configuration_keys or ())
    return _Result(
        error_message=None,
        resource_type=asked.resource_type,
        resource_name=asked.resource_name,
        configs=[_entry(call, config) for config in configs if not wanted or config.name in wanted],
    )


def _configs(call: Call[DescribeConfigsRequest], asked: _Resource) -> Iterable[Config]:
    """Raises UnknownTopic, InvalidName, InvalidFilter, InvalidResource."""
    services, name = call.services, asked.resource_name
    if asked.resource_type == ResourceType.TOPIC:
        find_described(services, name)
        return map(topic_config, services.topics.effective(find_own_topic(services, name)))
    if asked.resource_type == ResourceType.BROKER:
        # Without a name, what was changed for all nodes at once, which nothing can be.
        return node_configs(services) if check_node(call, name, may_be_empty=True) else ()
    if asked.resource_type == ResourceType.BROKER_LOGGER:
        check_node(call, name, may_be_empty=False)
        return ()
    if asked.resource_type == ResourceType.GROUP:
        return group_configs(services.catalog.group(DEFAULT_INSTANCE, name) or Group(name=name))
    if asked.resource_type == ResourceType.CLIENT_METRICS:
        return ()
    raise InvalidResource(f"there are no settings of resource type {asked.resource_type}")


def check_node(call: Call[DescribeConfigsRequest], name: str, *, may_be_empty: bool) -> bool:
    """Whether the name is this node's number; False for an empty one. Raises InvalidResource."""
    if not name and may_be_empty:
        return False
    if name != str(call.services.node_id):
        raise InvalidResource(f"this is node {call.services.node_id}, which does not know the settings of {name!r}")
    return True


def _entry(call: Call[DescribeConfigsRequest], config: Config) -> _Entry:
    entry = _Entry(
        name=config.name,
        value=config.value,
        read_only=config.read_only,
        config_source=config.source,
        config_type=TYPES[config.kind],
        documentation=config.documentation if call.request.include_documentation else None,
    )
    if call.version == 0:
        entry.is_default = config.source not in (Source.TOPIC, Source.GROUP)
    if call.request.include_synonyms:
        entry.synonyms = [
            DescribeConfigsResponse.DescribeConfigsSynonym(name=each.name, value=each.value, source=each.source)
            for each in config.synonyms
        ]
    return entry
