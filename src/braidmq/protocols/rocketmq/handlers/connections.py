"""Who is connected, and what they say of themselves when they are asked.

Members of a group that do not want the same of a topic lose messages. RocketMQ is silent about that; here the answer
about a group's connections says so in its remark.
"""

import asyncio
import time
from collections.abc import Awaitable, Iterable, Mapping
from typing import Final, TypeVar

from braidmq.core.access import Action, ResourceKind
from braidmq.core.members import Difference, Member
from braidmq.core.questions import Outcome
from braidmq.model.errors import MemberSilent
from braidmq.protocols.rocketmq._call import Answer, Call
from braidmq.protocols.rocketmq._connection import ClientGone, ClientSilent, Connection
from braidmq.protocols.rocketmq._operations import answers
from braidmq.protocols.rocketmq._places import message_named, message_of
from braidmq.protocols.rocketmq._services import RocketMQServices
from braidmq.protocols.rocketmq._subscriptions import subscriptions_of
from braidmq.protocols.rocketmq.codec import MalformedBody, RequestCode, ResponseCode, decode_body, encode_body
from braidmq.protocols.rocketmq.codec.bodies import Connection as ConnectionBody
from braidmq.protocols.rocketmq.codec.bodies import (
    ConsumeFromWhere,
    ConsumeMessageDirectlyResult,
    ConsumerConnection,
    ConsumerRunningInfo,
    ConsumeType,
    GetConsumerStatusBody,
    MessageModel,
    ProducerConnection,
    ProducerInfo,
    ProducerTableInfo,
)
from braidmq.protocols.rocketmq.codec.headers import (
    ConsumeMessageDirectlyResultRequestHeader,
    GetAllProducerInfoRequestHeader,
    GetConsumerConnectionListRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    GetConsumerStatusRequestHeader,
    GetProducerConnectionListRequestHeader,
)

ASK_TIMEOUT_S: Final = 10.0
"""How long a client may take to tell of itself, or to work on one message."""
STATUS_BYTES_MAX: Final = 8 << 20
_RESULTS: Final = {
    Outcome.CONSUMED: "CR_SUCCESS",
    Outcome.FAILED: "CR_LATER",
    Outcome.CORRUPT: "CR_RETURN_NULL",
}

Word = TypeVar("Word", ConsumeType, MessageModel, ConsumeFromWhere)


@answers(RequestCode.GET_CONSUMER_CONNECTION_LIST, action=Action.DESCRIBE, resource=ResourceKind.GROUP)
def consumer_connections(call: Call[GetConsumerConnectionListRequestHeader]) -> Answer:
    group, members = call.header.consumer_group, call.services.members
    consumers = members.consumers(group)
    if not consumers:
        return Answer(ResponseCode.CONSUMER_NOT_ONLINE, remark=f"the consumer group[{group}] not online")
    last = max(consumers, key=lambda member: member.seen_ms)
    body = ConsumerConnection(
        connection_set=_connections(consumers),
        subscription_table=subscriptions_of(consumers),
        consume_type=_trait(last, ConsumeType, "consumeType"),
        message_model=_trait(last, MessageModel, "messageModel"),
        consume_from_where=_trait(last, ConsumeFromWhere, "consumeFromWhere"),
    )
    return Answer(body=encode_body(body), remark=_warning(members.differences(group)))


@answers(RequestCode.GET_PRODUCER_CONNECTION_LIST, action=Action.DESCRIBE, resource=ResourceKind.NODE)
def producer_connections(call: Call[GetProducerConnectionListRequestHeader]) -> Answer:
    group = call.header.producer_group
    producers = call.services.members.producers(group)
    if not producers:
        return Answer(ResponseCode.SYSTEM_ERROR, remark=f"the producer group[{group}] not exist")
    return Answer(body=encode_body(ProducerConnection(connection_set=_connections(producers))))


@answers(RequestCode.GET_ALL_PRODUCER_INFO, action=Action.DESCRIBE, resource=ResourceKind.NODE)
def all_producers(call: Call[GetAllProducerInfoRequestHeader]) -> Answer:
    members = call.services.members
    data = {group: [_producer(member) for member in members.producers(group)] for group in members.producer_groups()}
    return Answer(body=encode_body(ProducerTableInfo(data=data)))


def _connections(members: Iterable[Member]) -> list[ConnectionBody]:
    return [
        ConnectionBody(
            client_id=member.id, client_addr=member.address, language=member.language, version=member.version
        )
        for member in members
    ]


def _producer(member: Member) -> ProducerInfo:
    return ProducerInfo(
        client_id=member.id,
        remote_ip=member.address,
        language=member.language,
        version=member.version,
        last_update_timestamp=member.seen_ms,
    )


def _trait(member: Member, kind: type[Word], name: str) -> Word | None:
    word = member.traits.get(name)
    return None if word is None else kind(word)


def _warning(differences: Iterable[Difference]) -> str | None:
    told = [
        f"{each.topic}: " + ", ".join(f"{wish} ({' '.join(ids)})" for wish, ids in each.wishes.items())
        for each in differences
    ]
    return "members do not want the same, and lose messages: " + "; ".join(told) if told else None


# Asking clients.


@answers(RequestCode.GET_CONSUMER_RUNNING_INFO, action=Action.DESCRIBE, resource=ResourceKind.GROUP)
async def running_info(call: Call[GetConsumerRunningInfoRequestHeader]) -> Answer:
    header, code = call.header, RequestCode.GET_CONSUMER_RUNNING_INFO
    group, client_id = header.consumer_group, header.client_id
    member = call.services.members.consumer(group, client_id)
    if member is None or isinstance(member.channel, Connection):
        return await _relay(call.services, code, call.fields, group, client_id)
    return await _asked(member, _running_info(call.services, member, bool(header.jstack_enable)))


@answers(RequestCode.CONSUME_MESSAGE_DIRECTLY, action=Action.CONSUME, resource=ResourceKind.GROUP)
async def consume_directly(call: Call[ConsumeMessageDirectlyResultRequestHeader]) -> Answer:
    """Let a consumer work on one message now, whatever its group has done with it."""
    header, code, services = call.header, RequestCode.CONSUME_MESSAGE_DIRECTLY, call.services
    group, client_id = header.consumer_group, header.client_id or ""
    member = services.members.consumer(group, client_id)
    if member is not None and not isinstance(member.channel, Connection):
        return await _asked(member, _consumed(services, member, header.msg_id or ""))
    body = await message_named(services, header.msg_id or "", call.connection.store_host)
    fields = {**call.fields, "brokerName": services.facts.broker}
    return await _relay(services, code, fields, group, client_id, body)


async def _running_info(services: RocketMQServices, member: Member, with_stacks: bool) -> ConsumerRunningInfo:
    """What is known of a member of another protocol, with its stacks where they are wanted."""
    stacks = None
    if with_stacks:
        stacks = await services.questions.stack_trace(member.group, member.id, timeout_s=ASK_TIMEOUT_S)
    wanted = subscriptions_of([member])
    return ConsumerRunningInfo(properties=dict(member.traits), subscription_set=[*wanted.values()], jstack=stacks)


async def _consumed(services: RocketMQServices, member: Member, msg_id: str) -> ConsumeMessageDirectlyResult:
    """What a member of another protocol made of the message."""
    message, number = await message_of(services, msg_id)
    began = time.monotonic()
    verdict = await services.questions.try_message(member.group, member.id, message, number, timeout_s=ASK_TIMEOUT_S)
    return ConsumeMessageDirectlyResult(
        consume_result=_RESULTS[verdict.outcome],
        remark=verdict.remark or None,
        spent_time_mills=round((time.monotonic() - began) * 1000),
    )


async def _asked(member: Member, told: Awaitable[ConsumerRunningInfo | ConsumeMessageDirectlyResult]) -> Answer:
    """In the words that tools know from members of this protocol."""
    try:
        return Answer(body=encode_body(await told))
    except MemberSilent:
        return Answer(ResponseCode.CONSUME_MSG_TIMEOUT, remark=f"consumer <{member.group}> <{member.id}> Timeout")


async def _relay(
    services: RocketMQServices,
    code: RequestCode,
    fields: Mapping[str, str],
    group: str,
    client_id: str,
    body: bytes = b"",
) -> Answer:
    """Hand a tool's request on to a consumer, and its answer back."""
    member = services.members.consumer(group, client_id)
    if member is None or not isinstance(member.channel, Connection):
        return Answer(ResponseCode.SYSTEM_ERROR, remark=f"The Consumer <{group}> <{client_id}> not online")
    try:
        answer = await member.channel.ask(code, fields, body, timeout_s=ASK_TIMEOUT_S)
    except ClientSilent:
        return Answer(ResponseCode.CONSUME_MSG_TIMEOUT, remark=f"consumer <{group}> <{client_id}> Timeout")
    return Answer(answer.code, answer.fields, answer.body, answer.remark)


@answers(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, action=Action.DESCRIBE, resource=ResourceKind.GROUP)
async def consumer_status(call: Call[GetConsumerStatusRequestHeader]) -> Answer:
    """How far each member of a group is with its queues, as the members themselves say."""
    header = call.header
    table = GetConsumerStatusBody()
    asked = [
        each for each in call.services.members.consumers(header.group) if header.client_addr in (None, "", each.id)
    ]
    if not asked:
        return Answer(
            ResponseCode.SYSTEM_ERROR, remark=f"No Any Consumer online in the consumer group: [{header.group}]"
        )
    told = await asyncio.gather(*(_status(member, header) for member in asked))
    for member, status in zip(asked, told, strict=True):
        if status is not None:
            table.consumer_table[member.id] = status.message_queue_table
    silent = [member.id for member, status in zip(asked, told, strict=True) if status is None]
    remark = f"these did not say: {', '.join(silent)}" if silent else None
    return Answer(body=encode_body(table), remark=remark)


async def _status(member: Member, header: GetConsumerStatusRequestHeader) -> GetConsumerStatusBody | None:
    """What one member says; None where it says nothing that can be read."""
    if not isinstance(member.channel, Connection):
        return None
    fields = {"topic": header.topic, "group": header.group}
    try:
        answer = await member.channel.ask(RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, fields, timeout_s=ASK_TIMEOUT_S)
        return decode_body(GetConsumerStatusBody, answer.body, STATUS_BYTES_MAX)
    except (ClientGone, ClientSilent, MalformedBody):
        return None
