"""Offsets: of queues, and how far groups have come.

A group that is new to a queue is told to begin at its start while the queue is young, as RocketMQ does; the setting
`rocketmq.new_group_from_start` turns that off, and then the group's own choice counts.
"""

from typing import Any, Protocol

from braidmq.core.access import Action, ResourceKind
from braidmq.core.lookup import is_young
from braidmq.protocols.rocketmq._call import Answer, Call
from braidmq.protocols.rocketmq._operations import answers
from braidmq.protocols.rocketmq._queues import find_topic, queue_number
from braidmq.protocols.rocketmq.codec import RequestCode, ResponseCode
from braidmq.protocols.rocketmq.codec.headers import (
    BoundaryType,
    GetEarliestMsgStoretimeRequestHeader,
    GetMaxOffsetRequestHeader,
    GetMinOffsetRequestHeader,
    QueryConsumerOffsetRequestHeader,
    SearchOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)


@answers(RequestCode.GET_MAX_OFFSET, action=Action.DESCRIBE, resource=ResourceKind.TOPIC)
def max_offset(call: Call[GetMaxOffsetRequestHeader]) -> Answer:
    return _offset(call.services.log.bounds(_number(call)).stable)


@answers(RequestCode.GET_MIN_OFFSET, action=Action.DESCRIBE, resource=ResourceKind.TOPIC)
def min_offset(call: Call[GetMinOffsetRequestHeader]) -> Answer:
    return _offset(call.services.log.bounds(_number(call)).start)


@answers(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, action=Action.DESCRIBE, resource=ResourceKind.TOPIC)
async def search_offset(call: Call[SearchOffsetRequestHeader]) -> Answer:
    """The first message of the time or later; with the upper boundary, the last one of the time or before."""
    number, timestamp_ms = _number(call), call.header.timestamp
    log = call.services.log
    if call.header.boundary_type is BoundaryType.LOWER:
        found = await log.offset_for_time(number, timestamp_ms)
        return _offset(log.bounds(number).stable if found is None else found.offset)
    later = await log.offset_for_time(number, timestamp_ms + 1)
    bounds = log.bounds(number)
    return _offset(max(bounds.start, (bounds.stable if later is None else later.offset) - 1))


@answers(RequestCode.GET_EARLIEST_MSG_STORETIME, action=Action.DESCRIBE, resource=ResourceKind.TOPIC)
async def earliest_time(call: Call[GetEarliestMsgStoretimeRequestHeader]) -> Answer:
    first = await call.services.log.offset_for_time(_number(call), 0)
    return Answer(fields={"timestamp": str(-1 if first is None else first.timestamp_ms)})


@answers(RequestCode.QUERY_CONSUMER_OFFSET, action=Action.DESCRIBE, resource=ResourceKind.GROUP)
async def query_offset(call: Call[QueryConsumerOffsetRequestHeader]) -> Answer:
    header, services = call.header, call.services
    number = _number(call)
    await call.services.commits.settled(header.consumer_group, number)
    committed = services.groups.offsets(header.consumer_group).get(number)
    if committed is not None:
        return _offset(committed.offset)
    is_from_start = services.facts.new_group_from_start and is_young(services.log, number)
    if header.set_zero_if_not_found is not False and is_from_start:
        return _offset(0)
    return Answer(
        ResponseCode.QUERY_NOT_FOUND,
        remark=f"group {header.consumer_group} has no offset in queue {header.queue_id} of {header.topic} yet",
    )


@answers(RequestCode.UPDATE_CONSUMER_OFFSET, action=Action.CONSUME, resource=ResourceKind.GROUP)
async def update_offset(call: Call[UpdateConsumerOffsetRequestHeader]) -> Answer:
    header = call.header
    services, client_id = call.services, call.connection.client_id
    await services.commits.commit(services, client_id, header.consumer_group, _number(call), header.commit_offset)
    return Answer()


class _OfQueue(Protocol):
    topic: str
    queue_id: int


def _number(call: Call[Any]) -> int:
    header: _OfQueue = call.header
    return queue_number(find_topic(call.services, header.topic), header.queue_id)


def _offset(offset: int) -> Answer:
    return Answer(fields={"offset": str(offset)})
