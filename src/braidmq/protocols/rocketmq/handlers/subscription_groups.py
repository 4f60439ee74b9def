"""Consumer groups, as tools make, change, describe and delete them.

A group that is deleted while it has members is made again by their next heartbeat, as with RocketMQ.
"""

import contextlib

from msgspec.structs import replace

from braidmq.core.access import Action, ResourceKind
from braidmq.model import DEFAULT_INSTANCE, Group
from braidmq.model.errors import UnknownGroup
from braidmq.model.group_settings import FORBIDDEN, forbidden_topics
from braidmq.protocols.rocketmq._call import Answer, Call
from braidmq.protocols.rocketmq._group_configs import apply_config, config_of
from braidmq.protocols.rocketmq._operations import answers
from braidmq.protocols.rocketmq._queues import READ, data_version
from braidmq.protocols.rocketmq._services import RocketMQServices
from braidmq.protocols.rocketmq.codec import RequestCode, decode_body, encode_body
from braidmq.protocols.rocketmq.codec.bodies import (
    GroupForbidden,
    SubscriptionGroupConfig,
    SubscriptionGroupList,
    SubscriptionGroupWrapper,
)
from braidmq.protocols.rocketmq.codec.headers import (
    CustomHeader,
    DeleteSubscriptionGroupRequestHeader,
    GetAllSubscriptionGroupRequestHeader,
    GetSubscriptionGroupConfigRequestHeader,
    UpdateGroupForbiddenRequestHeader,
)
from braidmq.protocols.rocketmq.handlers.clients import check_group


@answers(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, action=Action.CREATE, resource=ResourceKind.GROUP)
async def update_group(call: Call[CustomHeader]) -> Answer:
    config = decode_body(SubscriptionGroupConfig, call.command.body)
    check_group(config.group_name)
    await apply_config(call.services, config)
    return Answer()


@answers(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, action=Action.CREATE, resource=ResourceKind.GROUP)
async def update_groups(call: Call[CustomHeader]) -> Answer:
    """All of the names are checked before the first group is made."""
    configs = decode_body(SubscriptionGroupList, call.command.body).group_config_list
    for config in configs:
        check_group(config.group_name)
    for config in configs:
        await apply_config(call.services, config)
    return Answer()


@answers(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, action=Action.DESCRIBE, resource=ResourceKind.GROUP)
def all_groups(call: Call[GetAllSubscriptionGroupRequestHeader]) -> Answer:
    """Always the whole table: no total beside it says so."""
    groups = [group for group in call.services.catalog.groups() if group.instance == DEFAULT_INSTANCE]
    forbidden = {group.name: dict.fromkeys(sorted(forbidden_topics(group.settings)), READ) for group in groups}
    table = SubscriptionGroupWrapper(
        subscription_group_table={group.name: config_of(group) for group in groups},
        forbidden_table={name: topics for name, topics in forbidden.items() if topics},
        data_version=data_version(call.services),
    )
    return Answer(body=encode_body(table))


@answers(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, action=Action.DESCRIBE, resource=ResourceKind.GROUP)
def group_config(call: Call[GetSubscriptionGroupConfigRequestHeader]) -> Answer:
    return Answer(body=encode_body(config_of(find_group(call.services, call.header.group))))


@answers(RequestCode.DELETE_SUBSCRIPTIONGROUP, action=Action.DELETE, resource=ResourceKind.GROUP)
async def delete_group(call: Call[DeleteSubscriptionGroupRequestHeader]) -> Answer:
    """Deleting what is not there is no error. The group's own topics stay: tools delete them by name."""
    services, name = call.services, call.header.group_name
    with contextlib.suppress(UnknownGroup):
        if call.header.clean_offset:
            await services.group_offsets.delete(name)
    with contextlib.suppress(UnknownGroup):
        await services.catalog.delete_group(DEFAULT_INSTANCE, name)
    return Answer()


@answers(RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, action=Action.CHANGE, resource=ResourceKind.GROUP)
async def forbid(call: Call[UpdateGroupForbiddenRequestHeader]) -> Answer:
    """Whether the group is given messages of the topic; asked without a word on it, only tells."""
    header = call.header
    group = find_group(call.services, header.group)
    topics = forbidden_topics(group.settings)
    if header.readable is not None:
        topics = topics - {header.topic} if header.readable else topics | {header.topic}
        settings = {**group.settings, FORBIDDEN: " ".join(sorted(topics))}
        settings = {name: text for name, text in settings.items() if text}
        await call.services.catalog.save_group(replace(group, settings=settings))
    forbidden = GroupForbidden(group=group.name, topic=header.topic, readable=header.topic not in topics)
    return Answer(body=encode_body(forbidden))


def find_group(services: RocketMQServices, name: str) -> Group:
    """Raises UnknownGroup."""
    group = services.catalog.group(DEFAULT_INSTANCE, name)
    if group is None:
        raise UnknownGroup(f"subscription group [{name}] not exist")
    return group
