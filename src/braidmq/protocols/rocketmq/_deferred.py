"""Messages that do not go to their topic at once: delayed ones, and halves of a transaction.

A half is known to its producer by two numbers, as with RocketMQ, where they are places in files: here they are the two
halves of its handle. A delayed message is known by a text of RocketMQ's own form, because its clients look into it.
"""

import base64
import time
from collections.abc import Mapping
from typing import Final
from uuid import UUID

import msgspec

from braidmq.core.timers import level_delay_ms
from braidmq.model import GROUP_HEADER, HALF_HEADER, Message, Topic
from braidmq.model.errors import InvalidHandle, InvalidMessage
from braidmq.model.names import RETRY_TOPIC_PREFIX
from braidmq.model.numbers import whole_number
from braidmq.protocols.rocketmq._call import Answer, Call
from braidmq.protocols.rocketmq._operations import Result
from braidmq.protocols.rocketmq._sending import SendHeader, sent_answer, sent_message
from braidmq.protocols.rocketmq.codec.ids import physical_offset, write_offset_id
from braidmq.protocols.rocketmq.codec.messages import TRANSACTION_COMMIT, TRANSACTION_MASK, write_properties

IMMUNITY_PROPERTY: Final = "CHECK_IMMUNITY_TIME_IN_SECONDS"
IMMUNITY_MAX_S: Final = 40 * 86_400
DELAY_PROPERTY: Final = "DELAY"
DELIVER_AT_PROPERTY: Final = "TIMER_DELIVER_MS"
DELAY_SECONDS_PROPERTY: Final = "TIMER_DELAY_SEC"
DELAY_MS_PROPERTY: Final = "TIMER_DELAY_MS"

_DELAYS: Final = (DELAY_PROPERTY, DELIVER_AT_PROPERTY, DELAY_SECONDS_PROPERTY, DELAY_MS_PROPERTY)
_LOW_BITS: Final = (1 << 64) - 1
_HANDLE_VERSION: Final = "v1"


def may_be_deferred(properties: str) -> bool:
    """Whether one of these properties may be in the text; what only looks so costs a second look. Hot path."""
    return "DELAY\x01" in properties or "TRAN_MSG\x01" in properties or "TIMER_DEL" in properties


def send_deferred(call: Call[SendHeader], topic: Topic, properties: dict[str, str]) -> Result:
    """A message whose properties may say that it is to wait."""
    attempts = call.header.reconsume_times or 0
    if properties.get(HALF_HEADER, "").lower() == "true" and not (attempts and DELAY_PROPERTY in properties):
        return _prepare(call, topic, properties)
    return _delay(call, topic, properties)


async def _prepare(call: Call[SendHeader], topic: Topic, properties: dict[str, str]) -> Answer:
    header = call.header
    partition = header.queue_id if header.queue_id >= 0 else call.services.publisher.choose(topic, _bare(properties))
    kept, sys_flag = kept_of_half(properties, header.sys_flag, topic.name, partition, header.producer_group)
    message = sent_message(call, call.command.body, write_properties(kept), header.flag, sys_flag=sys_flag)
    handle, _ = await call.services.publisher.prepare(
        topic, message, group=kept[GROUP_HEADER], partition=partition, immunity_ms=_immunity_ms(properties)
    )
    first, second = numbers_of(UUID(handle))
    return sent_answer(write_offset_id(call.connection.store_host, second), partition, first, message.id or "")


def kept_of_half(
    properties: Mapping[str, str], sys_flag: int, topic: str, partition: int, group: str
) -> tuple[dict[str, str], int]:
    """With which properties and which flag a half is kept."""
    kept = {name: value for name, value in properties.items() if name not in _DELAYS}
    kept.setdefault(GROUP_HEADER, group)
    kept |= {"REAL_TOPIC": topic, "REAL_QID": str(partition)}
    return kept, sys_flag & ~TRANSACTION_MASK | TRANSACTION_COMMIT


async def _delay(call: Call[SendHeader], topic: Topic, properties: dict[str, str]) -> Answer:
    header, services = call.header, call.services
    due_ms = _due_ms(properties)
    message = sent_message(call, call.command.body, write_properties(properties), header.flag)
    partition = header.queue_id if header.queue_id >= 0 else services.publisher.choose(topic, message)
    taken = await services.publisher.publish_at(topic, message, due_ms, partition=partition)
    if taken.delivered is not None:
        partition, offset, number = taken.delivered
        place = physical_offset(number, offset)
        return sent_answer(write_offset_id(call.connection.store_host, place), partition, offset, message.id or "")
    assert taken.handle is not None
    first, second = numbers_of(UUID(taken.handle))
    recall = {"recallHandle": write_recall_handle(topic.name, services.facts.broker, due_ms, taken.message_id)}
    msg_id = write_offset_id(call.connection.store_host, second)
    return sent_answer(msg_id, partition, first, message.id or "", recall)


async def send_again(call: Call[SendHeader], topic: Topic, properties: dict[str, str]) -> Answer:
    """A message that a consumer could not work on, and brings back itself because it could not send it back.

    Consumers that work in order try again on their own, and bring a message only when they give it up; that they hold
    locks is how they are known.
    """
    header = call.header
    group = topic.name.removeprefix(RETRY_TOPIC_PREFIX)
    is_given_up = call.services.locks.has_locks(group)
    level = _number(properties, DELAY_PROPERTY)
    for name in _DELAYS:
        properties.pop(name, None)
    message = sent_message(call, call.command.body, write_properties(properties), header.flag)
    await call.services.retries.accept(
        group,
        message,
        attempts=header.reconsume_times or 0,
        attempts_max=header.max_reconsume_times,
        delay_ms=-1 if is_given_up else None if level is None else level_delay_ms(level),
    )
    return sent_answer(write_offset_id(call.connection.store_host, 0), 0, 0, message.id or "")


def _due_ms(properties: dict[str, str]) -> int:
    """When the message is to come. A level counts before a time. Raises InvalidMessage for what is no number."""
    now_ms = time.time_ns() // 1_000_000
    level = _number(properties, DELAY_PROPERTY)
    if level is not None and level > 0:
        for name in _DELAYS[1:]:
            properties.pop(name, None)
        return now_ms + level_delay_ms(level)
    if (at_ms := _number(properties, DELIVER_AT_PROPERTY)) is not None:
        return at_ms
    if (delay_s := _number(properties, DELAY_SECONDS_PROPERTY)) is not None:
        return now_ms + delay_s * 1000
    return now_ms + (_number(properties, DELAY_MS_PROPERTY) or 0)


def _immunity_ms(properties: Mapping[str, str]) -> int:
    """How long the producer is not asked; -1 leaves that to the settings."""
    immunity_s = _number(properties, IMMUNITY_PROPERTY)
    return -1 if immunity_s is None or immunity_s < 0 else min(immunity_s, IMMUNITY_MAX_S) * 1000


def _number(properties: Mapping[str, str], name: str) -> int | None:
    text = properties.get(name)
    if text is None:
        return None
    try:
        return msgspec.convert(text, int, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidMessage(f"the property {name} is {text[:40]!r}, which is no number") from error


def _bare(properties: Mapping[str, str]) -> Message:
    return Message.create(b"", sharding_key=properties.get("__SHARDINGKEY"))


# Handles.


def numbers_of(half_id: UUID) -> tuple[int, int]:
    """A half's two numbers."""
    number = half_id.int
    return number >> 64, number & _LOW_BITS


def half_id_of_numbers(first: int, second: int) -> UUID:
    """Raises InvalidHandle."""
    if not (0 <= first < 1 << 63 and 0 <= second < 1 << 63):
        raise InvalidHandle(f"{first} and {second} name no half message")
    return UUID(int=first << 64 | second)


def write_recall_handle(topic: str, broker: str, due_ms: int, message_id: str) -> str:
    return base64.urlsafe_b64encode(f"{_HANDLE_VERSION} {topic} {broker} {due_ms} {message_id}".encode()).decode()


def read_recall_handle(handle: str) -> tuple[str, int, str]:
    """Topic, time and message id. Raises InvalidHandle."""
    try:
        parts = base64.b64decode(handle, altchars=b"-_", validate=True).decode().split(" ")
    except ValueError as error:
        raise InvalidHandle("recall handle is invalid") from error
    due_ms = whole_number(parts[3], 18) if len(parts) == 5 and parts[0] == _HANDLE_VERSION else None
    if due_ms is None:
        raise InvalidHandle("recall handle is invalid")
    return parts[1], due_ms, parts[4]
