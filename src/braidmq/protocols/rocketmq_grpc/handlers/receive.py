"""Receiving messages one by one, and saying what became of each. Hot path.

A receiver is given messages of any queue of the topic, whichever one it names: queues are what clients divide work by,
and here that is done message by message. Messages for a push consumer are renewed while its telemetry stream lives.
"""

import time
from typing import Any, Final

from braidmq.core.access import Action, ResourceKind
from braidmq.core.cursors import Ask, Beginning, Delivered, Receipt
from braidmq.model import BraidError, Topic
from braidmq.model.errors import InvalidHandle
from braidmq.protocols.rocketmq_grpc import wire
from braidmq.protocols.rocketmq_grpc._call import Call
from braidmq.protocols.rocketmq_grpc._operations import answers
from braidmq.protocols.rocketmq_grpc._queues import (
    check_may_read,
    filter_of_expression,
    find_topic,
    group_name,
    group_of,
)
from braidmq.protocols.rocketmq_grpc.codes import OK, Code, Refused, status, status_of
from braidmq.protocols.rocketmq_grpc.messages import (
    duration,
    ms_of,
    read_receipt,
    set_ms,
    wire_message,
    write_receipt,
)

BATCH_MAX: Final = 32
BYTES_MAX: Final = 4 << 20
INVISIBLE_MIN_MS: Final = 10_000
INVISIBLE_MAX_MS: Final = 12 * 3_600_000
RENEWED_MS: Final = 60_000
POLL_DEFAULT_S: Final = 20.0
POLL_MAX_S: Final = 20.0
MARGIN_S: Final = 0.5
"""How long before its deadline a call that found nothing is answered."""
ACKS_MAX: Final = 1_024
ATTEMPT_ID_LENGTH_MAX: Final = 255


@answers("ReceiveMessage", action=Action.CONSUME, resource=ResourceKind.TOPIC, streams=True)
async def receive_message(call: Call) -> None:
    request, services = call.request, call.services
    topic = find_topic(services, request.message_queue.topic)
    group = group_name(request.group)
    check_may_read(services, topic, group)
    ask = _ask(call, topic, group)
    asked_s = ms_of(request.long_polling_timeout) / 1000 if request.HasField("long_polling_timeout") else POLL_DEFAULT_S
    if asked_s < 0:
        raise Refused(Code.ILLEGAL_POLLING_TIME, "nobody waits for less than no time")
    batch = await services.cursors.receive(ask, wait_s=call.wait_s(asked_s, POLL_MAX_S, MARGIN_S))
    if batch:
        await _give(call, ask, batch)
    else:
        await call.context.write(wire.ReceiveMessageResponse(status=status(Code.MESSAGE_NOT_FOUND, "no new message")))
    await call.context.write(_timestamp())


def _ask(call: Call, topic: Topic, group: str) -> Ask:
    request, services = call.request, call.services
    holder = call.client if request.auto_renew else None
    beginning = Beginning.YOUNG if services.facts.new_group_from_start else Beginning.END
    return Ask(
        group=group,
        topic=topic,
        chosen=filter_of_expression(request.filter_expression),
        count_max=max(1, min(request.batch_size, BATCH_MAX)),
        bytes_max=BYTES_MAX,
        invisible_ms=RENEWED_MS if request.auto_renew else _invisible_ms(request, INVISIBLE_MIN_MS),
        is_ordered=group_of(services, group).ordered,
        holder=holder if holder is not None and holder.is_alive else None,
        attempt_id=request.attempt_id[:ATTEMPT_ID_LENGTH_MAX],
        client=call.client_id,
        beginning=beginning,
    )


def _invisible_ms(request: Any, least_ms: int) -> int:
    invisible_ms = ms_of(request.invisible_duration)
    if not least_ms <= invisible_ms <= INVISIBLE_MAX_MS:
        raise Refused(
            Code.ILLEGAL_INVISIBLE_TIME,
            f"messages are invisible for {least_ms} to {INVISIBLE_MAX_MS} ms, and not for {invisible_ms}",
        )
    return invisible_ms


async def _give(call: Call, ask: Ask, batch: list[Delivered]) -> None:
    """Write the messages. Those that the client did not get, because it has gone, are there for others at once."""
    written = 0
    try:
        await call.context.write(wire.ReceiveMessageResponse(status=OK))
        for each in batch:
            await call.context.write(wire.ReceiveMessageResponse(message=_given(call, ask, each)))
            written += 1
    finally:
        if written < len(batch):
            call.services.cursors.take_back(ask.group, batch[written:])
        given = ((each.receipt.number, each.record) for each in batch[:written])
        call.services.outlet.gave_each(ask.group, given)


def _given(call: Call, ask: Ask, delivered: Delivered) -> Any:
    receipt, partition, record, attempt = delivered
    host = f"{call.port.store_host.address}:{call.port.store_host.port}"
    message = wire_message(record, call.request.message_queue.topic, partition, receipt.number, host)
    properties = message.system_properties
    properties.receipt_handle = write_receipt(receipt)
    properties.delivery_attempt = attempt
    properties.invisible_duration.CopyFrom(duration(ask.invisible_ms))
    return message


def _timestamp() -> Any:
    answer = wire.ReceiveMessageResponse()
    set_ms(answer.delivery_timestamp, time.time_ns() // 1_000_000)
    return answer


@answers("AckMessage", action=Action.CONSUME, resource=ResourceKind.GROUP)
async def acknowledge(call: Call) -> Any:
    request = call.request
    topic = find_topic(call.services, request.topic)
    group = group_name(request.group)
    if not 0 < len(request.entries) <= ACKS_MAX:
        raise Refused(Code.BAD_REQUEST, f"a call acknowledges 1 to {ACKS_MAX} messages, not {len(request.entries)}")
    entries = [
        wire.AckMessageResultEntry(
            message_id=entry.message_id,
            receipt_handle=entry.receipt_handle,
            status=_acknowledged(call, topic, group, entry.receipt_handle),
        )
        for entry in request.entries
    ]
    first = entries[0].status
    is_one = all(each.status.code == first.code for each in entries)
    return wire.AckMessageResponse(status=first if is_one else status(Code.MULTIPLE_RESULTS), entries=entries)


def _acknowledged(call: Call, topic: Topic, group: str, handle: str) -> Any:
    try:
        call.services.cursors.acknowledge(group, _receipt(topic, handle))
    except BraidError as error:
        return status_of(error)
    return OK


@answers("ChangeInvisibleDuration", action=Action.CONSUME, resource=ResourceKind.GROUP)
async def change_invisible_duration(call: Call) -> Any:
    """Whoever goes on with the message does so under the new handle."""
    request = call.request
    topic = find_topic(call.services, request.topic)
    group = group_name(request.group)
    invisible_ms = _invisible_ms(request, 0)
    receipt = _receipt(topic, request.receipt_handle)
    changed = call.services.cursors.extend(group, receipt, invisible_ms, counts=not request.suspend)
    return wire.ChangeInvisibleDurationResponse(status=OK, receipt_handle=write_receipt(changed))


@answers("ForwardMessageToDeadLetterQueue", action=Action.CONSUME, resource=ResourceKind.GROUP)
async def forward_to_dead_letters(call: Call) -> Any:
    request = call.request
    topic = find_topic(call.services, request.topic)
    await call.services.cursors.bury(group_name(request.group), _receipt(topic, request.receipt_handle))
    return wire.ForwardMessageToDeadLetterQueueResponse(status=OK)


def _receipt(topic: Topic, handle: str) -> Receipt:
    """Raises InvalidHandle."""
    receipt = read_receipt(handle)
    if receipt.number not in topic.partition_numbers:
        raise InvalidHandle(f"the handle is not one of the topic {topic.name!r}")
    return receipt
