"""Who reads which queues, where clients leave that to the server; and whether they pull or pop.

Members that pull divide the queues of a topic among them, by the rule that they name. Members that pop all read all
queues: no message comes to two of them, and none waits for a member that is slow.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from braidmq.core.access import Action, ResourceKind
from braidmq.core.shapes import readable_partitions
from braidmq.model import DEFAULT_INSTANCE, Group
from braidmq.model.group_settings import ROCKETMQ_MODES
from braidmq.protocols.rocketmq._call import Answer, Call
from braidmq.protocols.rocketmq._members import dividers
from braidmq.protocols.rocketmq._operations import answers
from braidmq.protocols.rocketmq._queues import find_topic
from braidmq.protocols.rocketmq._services import RocketMQServices
from braidmq.protocols.rocketmq.codec import RequestCode, decode_body, encode_body
from braidmq.protocols.rocketmq.codec.bodies import (
    MessageModel,
    MessageQueue,
    MessageQueueAssignment,
    MessageRequestMode,
    QueryAssignmentRequestBody,
    QueryAssignmentResponseBody,
    SetMessageRequestModeRequestBody,
)
from braidmq.protocols.rocketmq.codec.headers import CustomHeader
from braidmq.protocols.rocketmq.handlers.clients import check_group

ANY_QUEUE: Final = -1
IN_TURN: Final = "AVG_BY_CIRCLE"

_modes = msgspec.json.Decoder(dict[str, str])


@answers(RequestCode.QUERY_ASSIGNMENT, action=Action.CONSUME, resource=ResourceKind.GROUP)
def assignment(call: Call[CustomHeader]) -> Answer:
    """A member that is not known yet, because its first heartbeat is on its way, is told to keep what it has."""
    asked = decode_body(QueryAssignmentRequestBody, call.command.body)
    services = call.services
    topic = find_topic(services, asked.topic)
    mode = mode_of(services, asked.consumer_group, asked.topic)
    count = readable_partitions(topic)
    if mode is MessageRequestMode.POP:
        queues: Sequence[int] | None = [ANY_QUEUE]
    elif asked.message_model is MessageModel.BROADCASTING:
        queues = range(count)
    else:
        members = sorted(dividers(services, asked.consumer_group))
        queues = divided(count, members, asked.client_id, asked.strategy_name)
    assignments = None if queues is None else [_assignment(services, topic.name, queue, mode) for queue in queues]
    return Answer(body=encode_body(QueryAssignmentResponseBody(message_queue_assignments=assignments)))


@answers(RequestCode.SET_MESSAGE_REQUEST_MODE, action=Action.CHANGE, resource=ResourceKind.GROUP)
async def set_mode(call: Call[CustomHeader]) -> Answer:
    """How many queues members that pop share is not kept: they share all."""
    asked = decode_body(SetMessageRequestModeRequestBody, call.command.body)
    find_topic(call.services, asked.topic)
    check_group(asked.consumer_group)
    catalog = call.services.catalog
    group = catalog.group(DEFAULT_INSTANCE, asked.consumer_group) or Group(name=asked.consumer_group)
    modes = _modes_of(group) | {asked.topic: asked.mode.value}
    settings = {**group.settings, ROCKETMQ_MODES: msgspec.json.encode(modes).decode()}
    await catalog.save_group(replace(group, settings=settings))
    return Answer()


def mode_of(services: RocketMQServices, group: str, topic: str) -> MessageRequestMode:
    found = services.catalog.group(DEFAULT_INSTANCE, group)
    text = "" if found is None else _modes_of(found).get(topic, "")
    return MessageRequestMode.POP if text == MessageRequestMode.POP.value else MessageRequestMode.PULL


def _modes_of(group: Group) -> dict[str, str]:
    text = group.settings.get(ROCKETMQ_MODES)
    return {} if text is None else _modes.decode(text)


def divided(count: int, members: Sequence[str], member: str, rule: str | None) -> Sequence[int] | None:
    """The member's queues: a run of them, or every so many; None where the member is not known."""
    if member not in members:
        return None
    at = members.index(member)
    if rule == IN_TURN:
        return range(at, count, len(members))
    each, more = divmod(count, len(members))
    first = at * each + min(at, more)
    return range(first, first + each + (at < more))


def _assignment(services: RocketMQServices, topic: str, queue: int, mode: MessageRequestMode) -> MessageQueueAssignment:
    return MessageQueueAssignment(message_queue=MessageQueue(topic, services.facts.broker, queue), mode=mode)
