"""Letting groups go on elsewhere: resets, copies, corrections.

A reset is kept at once. Members that are connected are told with their next pull; until then, what they commit does not
count.
"""

from typing import Final

from braidmq.core.access import Action, ResourceKind
from braidmq.core.group_offsets import Target
from braidmq.model import Topic
from braidmq.model.errors import OffsetOutOfRange
from braidmq.protocols.rocketmq._call import Answer, Call
from braidmq.protocols.rocketmq._operations import answers
from braidmq.protocols.rocketmq._queues import find_topic, queue_number
from braidmq.protocols.rocketmq._services import RocketMQServices
from braidmq.protocols.rocketmq.codec import RequestCode, encode_body
from braidmq.protocols.rocketmq.codec.bodies import MessageQueue, QueryCorrectionOffsetBody, ResetOffsetBody
from braidmq.protocols.rocketmq.codec.headers import (
    CloneGroupOffsetRequestHeader,
    QueryCorrectionOffsetHeader,
    ResetOffsetRequestHeader,
)
from braidmq.protocols.rocketmq.handlers.subscription_groups import find_group

NOT_GIVEN: Final = -1
NEVER: Final = (1 << 63) - 1
"""What stands for no correction."""


@answers(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, action=Action.CHANGE, resource=ResourceKind.GROUP)
async def reset(call: Call[ResetOffsetRequestHeader]) -> Answer:
    """By time, or one queue by offset; a time of -1 means the end."""
    header, services = call.header, call.services
    topic = find_topic(services, header.topic)
    if not services.groups.offsets(header.group):
        find_group(services, header.group)  # who has come somewhere can be set elsewhere, of whatever protocol
    partitions = None if header.queue_id < 0 else [header.queue_id]
    if header.queue_id >= 0 and header.offset not in (None, NOT_GIVEN):
        target = Target(offset=_checked_offset(services, topic, header))
    elif header.timestamp < 0:
        target = Target(end=True)
    else:
        target = Target(time_ms=header.timestamp)
    moved = await services.group_offsets.reset(
        header.group, topic, target, partitions=partitions, online=bool(services.members.consumers(header.group))
    )
    table = {MessageQueue(topic.name, services.facts.broker, each.partition): each.after or 0 for each in moved}
    return Answer(body=encode_body(ResetOffsetBody(offset_table=table)))


def _checked_offset(services: RocketMQServices, topic: Topic, header: ResetOffsetRequestHeader) -> int:
    offset = header.offset or 0
    bounds = services.log.bounds(queue_number(topic, header.queue_id))
    if not bounds.start <= offset <= bounds.stable:
        raise OffsetOutOfRange(f"Target offset {offset} not in consume queue range [{bounds.start}-{bounds.stable}]")
    return offset


@answers(RequestCode.CLONE_GROUP_OFFSET, action=Action.CHANGE, resource=ResourceKind.GROUP)
async def clone(call: Call[CloneGroupOffsetRequestHeader]) -> Answer:
    header, services = call.header, call.services
    topic = find_topic(services, header.topic) if header.topic else None
    for number in list(services.groups.offsets(header.src_group)):
        await services.commits.settled(header.src_group, number)
    await services.group_offsets.clone(
        header.src_group, header.dest_group, topic=topic, online=bool(services.members.consumers(header.dest_group))
    )
    return Answer()


@answers(RequestCode.QUERY_CORRECTION_OFFSET, action=Action.DESCRIBE, resource=ResourceKind.GROUP)
def correction(call: Call[QueryCorrectionOffsetHeader]) -> Answer:
    """By queue, the least that any group but the named ones has committed, where that is not less than what the
    compared group has."""
    header, services = call.header, call.services
    topic = find_topic(services, header.topic)
    passed_over = set(filter(None, (header.filter_groups or "").split(",")))
    groups = [group for group in services.log.groups_with_offsets() if group not in passed_over]
    compared = services.groups.offsets(header.compare_group)
    corrections: dict[int, int] = {}
    for partition in topic.partitions:
        offsets = (services.groups.offsets(group).get(partition.number) for group in groups)
        least = min((each.offset for each in offsets if each is not None), default=None)
        own = compared.get(partition.number)
        if least is not None:
            corrections[partition.index] = NEVER if own is not None and least > own.offset else least
    return Answer(body=encode_body(QueryCorrectionOffsetBody(correction_offsets=corrections)))
