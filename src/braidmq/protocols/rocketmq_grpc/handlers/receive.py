"""Receiving messages one by one, and saying what became of each. Hot path.

A receiver is given messages of any queue of the topic, whichever one it names: queues are what clients divide work by,
and here that is done message by message. What came back to the group by its retry topic, such as replayed dead letters,
comes with the messages of the topic that it was sent to first. Messages for a push consumer are renewed while its
telemetry stream lives.
"""

import asyncio
import time
from typing import Any, Final

from braidmq.core.access import Action, ResourceKind
from braidmq.core.cursors import Ask, Beginning, Delivered, Receipt, read_receipt, write_receipt
from braidmq.model import BraidError, Topic, TopicKind
from braidmq.model.errors import InvalidHandle
from braidmq.model.names import read_lite_topic_name
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
    set_ms,
    wire_message,
)

BATCH_MAX: Final = 32
BYTES_MAX: Final = 4 << 20
INVISIBLE_MIN_MS: Final = 10_000
INVISIBLE_MAX_MS: Final = 12 * 3_600_000
RENEWED_MS: Final = 60_000
POLL_MAX_S: Final = 20.0
MARGIN_S: Final = 0.5
"""How long before its deadline a call that found nothing is answered."""
INTRODUCTION_S: Final = 0.2
"""How long a client that nobody knows waits before it is told that there is nothing for it."""
ACKS_MAX: Final = 1_024
ATTEMPT_ID_LENGTH_MAX: Final = 255


@answers("ReceiveMessage", action=Action.CONSUME, resource=ResourceKind.TOPIC, streams=True)
async def receive_message(call: Call) -> None:
    request, services = call.request, call.services
    topic = find_topic(services, request.message_queue.topic)
    group = group_name(request.group)
    check_may_read(services, topic, group)
    ask = _ask(call, topic, group)
    batch = await (_receive_lite(call, ask) if topic.kind is TopicKind.LITE else _receive(call, ask))
    if batch:
        await _give(call, ask, batch)
    else:
        await call.context.write(wire.ReceiveMessageResponse(status=status(Code.MESSAGE_NOT_FOUND, "no new message")))
    await call.context.write(_timestamp())


async def _receive(call: Call, ask: Ask) -> list[Delivered]:
    return await call.services.cursors.receive(ask, wait_s=_wait_s(call))


async def _receive_lite(call: Call, ask: Ask) -> list[Delivered]:
    """Some clients ask for messages a moment before they introduce themselves; they are given none yet."""
    wait_s = _wait_s(call)
    if call.client is None:
        await asyncio.sleep(min(wait_s, INTRODUCTION_S))
        return []
    if not call.client.is_lite:
        name = ask.topic.name
        raise Refused(
            Code.BAD_REQUEST, f"the topic {name!r} has lite topics, which are read by consumers of the lite types"
        )
    return await call.services.lite.receive(ask, wait_s=wait_s)


def _wait_s(call: Call) -> float:
    """As long as the client says. Older ones do not: they wait until their deadline less the time that they give any
    request, of which half is left for the answer to arrive."""
    request = call.request
    if not request.HasField("long_polling_timeout"):
        client = call.client
        return call.wait_s(POLL_MAX_S, POLL_MAX_S, MARGIN_S if client is None else max(client.request_s / 2, MARGIN_S))
    asked_s = ms_of(request.long_polling_timeout) / 1000
    if asked_s < 0:
        raise Refused(Code.ILLEGAL_POLLING_TIME, "nobody waits for less than no time")
    return call.wait_s(asked_s, POLL_MAX_S, MARGIN_S)


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
        with_retries=True,
    )


def _invisible_ms(request: Any, least_ms: int) -> int:
    invisible_ms = ms_of(request.invisible_duration)
    if invisible_ms < least_ms:
        raise Refused(Code.ILLEGAL_INVISIBLE_TIME, f"the invisibleTime is too small; at least {least_ms} ms")
    if invisible_ms > INVISIBLE_MAX_MS:
        raise Refused(Code.ILLEGAL_INVISIBLE_TIME, f"the invisibleTime is too large; at most {INVISIBLE_MAX_MS} ms")
    return invisible_ms


async def _give(call: Call, ask: Ask, batch: list[Delivered]) -> None:
    """Write the messages. Those that the client did not get, because it has gone, are there for others at once."""
    written = 0
    host = f"{call.port.store_host.address}:{call.port.store_host.port}"
    try:
        await call.context.write(wire.ReceiveMessageResponse(status=OK))
        for each in batch:
            await call.context.write(wire.ReceiveMessageResponse(message=_given(call, ask, each, host)))
            written += 1
    finally:
        if written < len(batch):
            call.services.cursors.take_back(ask.group, batch[written:])
        given = ((each.receipt.number, each.record) for each in batch[:written])
        call.services.outlet.gave_each(ask.group, given)


def _given(call: Call, ask: Ask, delivered: Delivered, host: str) -> Any:
    receipt, partition, record, attempt, topic = delivered
    message = wire_message(record, call.request.message_queue.topic, partition, receipt.number, host)
    properties = message.system_properties
    properties.receipt_handle = write_receipt(receipt)
    properties.delivery_attempt = attempt
    if ask.topic.kind is TopicKind.LITE and (name := read_lite_topic_name(topic)) is not None:
        properties.lite_topic = name.lite
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
    return wire.AckMessageResponse(status=_together([entry.status for entry in entries]), entries=entries)


def _together(statuses: list[Any]) -> Any:
    """What became of all, where that is one; clients look for the code's name in what it says."""
    code = statuses[0].code
    if any(each.code != code for each in statuses):
        return status(Code.MULTIPLE_RESULTS)
    return OK if code == Code.OK else status(Code(code), f"{Code(code).name}: {statuses[0].message}")


def _acknowledged(call: Call, topic: Topic, group: str, handle: str) -> Any:
    try:
        call.services.cursors.acknowledge(group, _receipt(call, topic, group, handle))
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
    receipt = _receipt(call, topic, group, request.receipt_handle)
    changed = call.services.cursors.extend(group, receipt, invisible_ms, counts=not request.suspend)
    return wire.ChangeInvisibleDurationResponse(status=OK, receipt_handle=write_receipt(changed))


@answers("ForwardMessageToDeadLetterQueue", action=Action.CONSUME, resource=ResourceKind.GROUP)
async def forward_to_dead_letters(call: Call) -> Any:
    request = call.request
    topic = find_topic(call.services, request.topic)
    group = group_name(request.group)
    await call.services.cursors.bury(group, _receipt(call, topic, group, request.receipt_handle))
    return wire.ForwardMessageToDeadLetterQueueResponse(status=OK)


def _receipt(call: Call, topic: Topic, group: str, handle: str) -> Receipt:
    """Of a message of the topic, or of one of its lite topics; it may have come back to the group by its retry topic.
    Raises InvalidHandle."""
    receipt, services = read_receipt(handle), call.services
    is_lite = topic.kind is TopicKind.LITE and services.lite.topics.owns(topic, receipt.number)
    if not is_lite and receipt.number not in services.cursors.numbers(group, topic):
        raise InvalidHandle(f"the handle is not one of the topic {topic.name!r}")
    return receipt
