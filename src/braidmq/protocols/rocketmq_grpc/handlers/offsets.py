"""Reading by offset: for clients that keep their place by themselves, or let the group keep it."""

from typing import Any, Final

from braidmq.core.access import Action, ResourceKind
from braidmq.log import GroupOffset
from braidmq.model import Topic
from braidmq.protocols.rocketmq_grpc import wire
from braidmq.protocols.rocketmq_grpc._call import Call
from braidmq.protocols.rocketmq_grpc._operations import answers
from braidmq.protocols.rocketmq_grpc._queues import (
    check_may_read,
    filter_of_expression,
    find_topic,
    group_name,
    queue_number,
)
from braidmq.protocols.rocketmq_grpc.codes import OK, Code, OffsetPolicy, Refused, status
from braidmq.protocols.rocketmq_grpc.messages import ms_of, wire_message

BATCH_MAX: Final = 32
BYTES_MAX: Final = 4 << 20
POLL_MAX_S: Final = 20.0
MARGIN_S: Final = 0.5


@answers("PullMessage", action=Action.CONSUME, resource=ResourceKind.TOPIC, streams=True)
async def pull_message(call: Call) -> None:
    """Messages from an offset on, and where to go on; where there is none, where to go on all the same."""
    request, services = call.request, call.services
    topic, number = _place(call)
    group = group_name(request.group)
    check_may_read(services, topic, group)
    pulled = await services.puller.pull(
        number,
        request.offset,
        filter_of_expression(request.filter_expression),
        count_max=max(1, min(request.batch_size, BATCH_MAX)),
        bytes_max=BYTES_MAX,
        wait_s=call.wait_s(ms_of(request.long_polling_timeout) / 1000, POLL_MAX_S, MARGIN_S),
    )
    said = OK if pulled.records else status(Code.MESSAGE_NOT_FOUND, "no new message")
    await call.context.write(wire.PullMessageResponse(status=said))
    queue = request.message_queue
    host = f"{call.port.store_host.address}:{call.port.store_host.port}"
    for record in pulled.records:
        message = wire_message(record, queue.topic, queue.id, number, host)
        await call.context.write(wire.PullMessageResponse(message=message))
    await call.context.write(wire.PullMessageResponse(next_offset=pulled.next_offset))
    if pulled.records:
        size_bytes = sum(len(record.value or b"") for record in pulled.records)
        services.outlet.gave_records(group, number, pulled.records, size_bytes)


@answers("UpdateOffset", action=Action.CONSUME, resource=ResourceKind.GROUP)
async def update_offset(call: Call) -> Any:
    """Kept when this is answered. A word that is older than an operator's is passed over."""
    request, services = call.request, call.services
    _, number = _place(call)
    group = group_name(request.group)
    if request.offset < 0:
        raise Refused(Code.ILLEGAL_OFFSET, f"offset {request.offset} is below 0")
    if not services.resets.ignores(group, number, request.offset):
        await services.groups.commit(group, None, {number: GroupOffset(request.offset)}, client=call.client_id)
    return wire.UpdateOffsetResponse(status=OK)


@answers("GetOffset", action=Action.DESCRIBE, resource=ResourceKind.GROUP)
async def get_offset(call: Call) -> Any:
    _, number = _place(call)
    group = group_name(call.request.group)
    committed = call.services.groups.offsets(group).get(number)
    if committed is None:
        raise Refused(Code.OFFSET_NOT_FOUND, f"the group {group!r} has no offset in this queue yet")
    return wire.GetOffsetResponse(status=OK, offset=committed.offset)


@answers("QueryOffset", action=Action.DESCRIBE, resource=ResourceKind.TOPIC)
async def query_offset(call: Call) -> Any:
    request, log = call.request, call.services.log
    _, number = _place(call)
    if request.query_offset_policy == OffsetPolicy.BEGINNING:
        return wire.QueryOffsetResponse(status=OK, offset=log.bounds(number).start)
    if request.query_offset_policy == OffsetPolicy.END:
        return wire.QueryOffsetResponse(status=OK, offset=log.bounds(number).stable)
    if request.query_offset_policy != OffsetPolicy.TIMESTAMP or not request.HasField("timestamp"):
        raise Refused(Code.BAD_REQUEST, "an offset is asked for by BEGINNING, END, or TIMESTAMP with a time")
    found = await log.offset_for_time(number, ms_of(request.timestamp))
    return wire.QueryOffsetResponse(status=OK, offset=log.bounds(number).stable if found is None else found.offset)


def _place(call: Call) -> tuple[Topic, int]:
    """Raises UnknownTopic, UnknownPartition."""
    queue = call.request.message_queue
    topic = find_topic(call.services, queue.topic)
    return topic, queue_number(topic, queue.id)
