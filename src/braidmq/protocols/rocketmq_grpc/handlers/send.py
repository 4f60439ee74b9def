"""Sending, the end of transactions, and taking delayed messages back. Hot path.

Messages of one call stand each for itself: each has its own answer. What is answered is kept.
"""

import asyncio
import time
from typing import Any, Final

from braidmq.core.access import Action, ResourceKind
from braidmq.core.shapes import check_writable
from braidmq.model import BraidError, Topic
from braidmq.model.errors import InvalidHandle, WrongMessageKind
from braidmq.protocols.rocketmq.codec import Host
from braidmq.protocols.rocketmq.handlers.send import check_topic
from braidmq.protocols.rocketmq_grpc import wire
from braidmq.protocols.rocketmq_grpc._call import Call
from braidmq.protocols.rocketmq_grpc._operations import answers
from braidmq.protocols.rocketmq_grpc._queues import find_topic
from braidmq.protocols.rocketmq_grpc.codes import (
    KINDS,
    OK,
    Code,
    MessageType,
    Refused,
    Resolution,
    Source,
    status,
    status_of,
)
from braidmq.protocols.rocketmq_grpc.messages import house_message, ms_of, name_of, type_of

MESSAGES_MAX: Final = 1_024
IMMUNITY_MAX_MS: Final = 40 * 86_400_000


@answers("SendMessage", action=Action.PUBLISH, resource=ResourceKind.TOPIC)
async def send_message(call: Call) -> Any:
    messages = call.request.messages
    if not 0 < len(messages) <= MESSAGES_MAX:
        raise Refused(Code.BAD_REQUEST, f"a call brings 1 to {MESSAGES_MAX} messages, not {len(messages)}")
    name = name_of(messages[0].topic)
    if any(name_of(each.topic) != name for each in messages):
        raise Refused(Code.BAD_REQUEST, "the messages of one call go to one topic")
    topic = await _writable_topic(call, name)
    if len(messages) == 1:
        entries = [await _fate(call, topic, messages[0])]
    else:
        entries = await asyncio.gather(*(_fate(call, topic, each) for each in messages))
    return wire.SendMessageResponse(status=_together(entries), entries=entries)


async def _writable_topic(call: Call, name: str) -> Topic:
    topic = call.services.topics.find(name)
    if topic is None:
        check_topic(name)
        topic = await call.services.topics.ensure(name)
    if topic.settings:
        check_writable(topic)
    return topic


def _together(entries: list[Any]) -> Any:
    """What all of them have in common."""
    first = entries[0].status
    if all(each.status.code == first.code for each in entries):
        return first
    return status(Code.MULTIPLE_RESULTS)


async def _fate(call: Call, topic: Topic, message: Any) -> Any:
    try:
        return await _send(call, topic, message)
    except BraidError as error:
        return wire.SendResultEntry(status=status_of(error), message_id=message.system_properties.message_id)


async def _send(call: Call, topic: Topic, message: Any) -> Any:
    services = call.services
    found = type_of(message)
    limit = services.publisher.limits.body_bytes_max
    kept = house_message(message, found, Host.of(*call.peer), time.time_ns() // 1_000_000, limit)
    entry = wire.SendResultEntry(status=OK, message_id=kept.id)
    if found is MessageType.TRANSACTION:
        half = kept.with_headers({"PGROUP": topic.name, "REAL_TOPIC": topic.name})
        handle, _ = await services.publisher.prepare(
            topic, half, group=topic.name, immunity_ms=_immunity_ms(message.system_properties)
        )
        entry.transaction_id = handle
    elif found is MessageType.DELAY:
        taken = await services.publisher.publish_at(topic, kept, ms_of(message.system_properties.delivery_timestamp))
        entry.recall_handle = taken.handle or ""
        entry.offset = 0 if taken.delivered is None else taken.delivered.offset
    elif found is MessageType.LITE:
        _, entry.offset = await services.lite.send(topic, message.system_properties.lite_topic, kept)
    else:
        if found is MessageType.NORMAL and topic.kind is KINDS[MessageType.FIFO]:
            raise WrongMessageKind(f"topic {topic.name} takes ordered messages, and this one has no message group")
        if (found is MessageType.PRIORITY) is not (topic.kind is KINDS[MessageType.PRIORITY]):
            raise WrongMessageKind(_about_priorities(topic))
        _, entry.offset = await services.publisher.published(topic, (kept,))
    return entry


def _about_priorities(topic: Topic) -> str:
    if topic.kind is KINDS[MessageType.PRIORITY]:
        return f"topic {topic.name} takes messages with a priority, and this one has none"
    return f"topic {topic.name} knows no priorities; make one of the kind priority for such messages"


def _immunity_ms(properties: Any) -> int:
    """How long the producer is not asked; -1 leaves that to the settings."""
    if not properties.HasField("orphaned_transaction_recovery_duration"):
        return -1
    return max(min(ms_of(properties.orphaned_transaction_recovery_duration), IMMUNITY_MAX_MS), 0)


@answers("EndTransaction", action=Action.PUBLISH, resource=ResourceKind.TOPIC)
async def end_transaction(call: Call) -> Any:
    request = call.request
    topic = find_topic(call.services, request.topic)
    if not request.transaction_id:
        raise Refused(Code.INVALID_TRANSACTION_ID, "the transaction has no id")
    if request.resolution not in (Resolution.COMMIT, Resolution.ROLLBACK):
        raise Refused(Code.BAD_REQUEST, f"a transaction is committed or rolled back, and not {request.resolution}")
    try:
        await call.services.halves.end(
            request.transaction_id,
            commit=request.resolution == Resolution.COMMIT,
            group=topic.name,
            asked=request.source == Source.SERVER_CHECK,
        )
    except InvalidHandle as error:
        raise Refused(Code.INVALID_TRANSACTION_ID, error.message) from error
    return wire.EndTransactionResponse(status=OK)


@answers("RecallMessage", action=Action.PUBLISH, resource=ResourceKind.TOPIC)
async def recall_message(call: Call) -> Any:
    topic = find_topic(call.services, call.request.topic)
    try:
        recalled = await call.services.timers.recall(call.request.recall_handle, topic=topic)
    except InvalidHandle as error:
        raise Refused(Code.BAD_REQUEST, error.message) from error
    return wire.RecallMessageResponse(status=OK, message_id=recalled.message_id)
