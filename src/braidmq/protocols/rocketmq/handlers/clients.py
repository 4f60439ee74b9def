"""Clients that come, live and go: heartbeats, lists of members, filters that are checked beforehand.

A heartbeat of a new consumer group makes the group, and the topic that its messages come back by. Which fingerprint a
client has is not asked: its whole subscription comes each time, and that is compared.
"""

from collections.abc import Iterable

from braidmq.core.access import Action, ResourceKind
from braidmq.core.filters import filter_of
from braidmq.core.members import Interest
from braidmq.model import DEFAULT_INSTANCE, Group
from braidmq.model.errors import InvalidName
from braidmq.model.names import RETRY_TOPIC_PREFIX
from braidmq.protocols.rocketmq._call import Answer, Call
from braidmq.protocols.rocketmq._filters import kind_of
from braidmq.protocols.rocketmq._members import dividers, member_of
from braidmq.protocols.rocketmq._operations import Result, answers
from braidmq.protocols.rocketmq._services import RocketMQServices
from braidmq.protocols.rocketmq.codec import RequestCode, ResponseCode, decode_body, encode_body
from braidmq.protocols.rocketmq.codec.bodies import (
    CheckClientRequestBody,
    ConsumerData,
    GetConsumerListByGroupResponseBody,
    HeartbeatData,
    MessageModel,
    SubscriptionData,
)
from braidmq.protocols.rocketmq.codec.headers import (
    GetConsumerListByGroupRequestHeader,
    HeartbeatRequestHeader,
    UnregisterClientRequestHeader,
)

GROUP_LENGTH_MAX = 120


@answers(RequestCode.HEART_BEAT, action=Action.CONSUME, resource=ResourceKind.GROUP)
def heartbeat(call: Call[HeartbeatRequestHeader]) -> Result:
    beat = decode_body(HeartbeatData, call.command.body)
    services = call.services
    if call.connection.client_id not in ("", beat.client_id):
        services.members.lost(call.connection)  # a connection is one client: it has another name now
    call.connection.client_id = beat.client_id
    for producer in beat.producer_data_set:
        services.members.add_producer(member_of(call, beat.client_id, producer.group_name))
    new = [each.group_name for each in beat.consumer_data_set if not _is_known(services, each.group_name)]
    if new:
        return _make_and_enrol(call, beat, new)
    return _enrol(call, beat)


async def _make_and_enrol(call: Call[HeartbeatRequestHeader], beat: HeartbeatData, new: Iterable[str]) -> Answer:
    for group in new:
        await make_group(call.services, group)
    return _enrol(call, beat)


async def make_group(services: RocketMQServices, name: str) -> None:
    """A group and the topic that its messages come back by, unless they are there. Raises InvalidName."""
    check_group(name)
    if services.catalog.group(DEFAULT_INSTANCE, name) is None:
        await services.catalog.save_group(Group(name=name))
    await services.retries.retry_topic(name)


def check_group(name: str) -> None:
    """Raises InvalidName for what RocketMQ does not take either."""
    if not name or len(name) > GROUP_LENGTH_MAX:
        raise InvalidName(f"the group has {len(name)} characters; it may have 1 to {GROUP_LENGTH_MAX}")


def _is_known(services: RocketMQServices, group: str) -> bool:
    return (
        services.catalog.group(DEFAULT_INSTANCE, group) is not None
        and services.catalog.topic(DEFAULT_INSTANCE, RETRY_TOPIC_PREFIX + group) is not None
    )


def _enrol(call: Call[HeartbeatRequestHeader], beat: HeartbeatData) -> Answer:
    if call.connection.is_gone:
        return Answer()  # it left while its group was made, and nobody would notice any more that it is not there
    for consumer in beat.consumer_data_set:
        member = member_of(call, beat.client_id, consumer.group_name)
        member.interests = {each.topic: interest_of(each) for each in consumer.subscription_data_set}
        member.is_broadcast = consumer.message_model is MessageModel.BROADCASTING
        member.traits = _traits(consumer)
        call.services.members.add_consumer(member)
    return Answer()


def interest_of(subscription: SubscriptionData) -> Interest:
    kind = kind_of(subscription.expression_type, subscription.sub_string)
    return Interest(kind, subscription.sub_string, subscription.sub_version)


def _traits(consumer: ConsumerData) -> dict[str, str]:
    said = {
        "consumeType": consumer.consume_type,
        "messageModel": consumer.message_model,
        "consumeFromWhere": consumer.consume_from_where,
    }
    return {name: value.value for name, value in said.items() if value is not None}


@answers(RequestCode.UNREGISTER_CLIENT, action=Action.CONSUME, resource=ResourceKind.GROUP)
def unregister(call: Call[UnregisterClientRequestHeader]) -> Answer:
    header = call.header
    if header.consumer_group is not None:
        call.services.locks.forget(header.consumer_group, header.client_id)
    call.services.members.remove(
        header.client_id, producer_group=header.producer_group, consumer_group=header.consumer_group
    )
    return Answer()


@answers(RequestCode.GET_CONSUMER_LIST_BY_GROUP, action=Action.DESCRIBE, resource=ResourceKind.GROUP)
def consumer_list(call: Call[GetConsumerListByGroupRequestHeader]) -> Answer:
    group = call.header.consumer_group
    ids = dividers(call.services, group)
    if not ids:
        return Answer(ResponseCode.SYSTEM_ERROR, remark=f"no consumer for this group, {group}")
    return Answer(body=encode_body(GetConsumerListByGroupResponseBody(consumer_id_list=ids)))


@answers(RequestCode.CHECK_CLIENT_CONFIG, action=Action.CONSUME, resource=ResourceKind.GROUP)
def check_client_config(call: Call[HeartbeatRequestHeader]) -> Answer:
    """Whether a filter can be read, before a consumer starts with it."""
    asked = decode_body(CheckClientRequestBody, call.command.body)
    if asked.subscription_data is not None:
        interest = interest_of(asked.subscription_data)
        filter_of(*interest.choice)
    return Answer()
