"""POP: messages taken one by one, for a while, and acknowledged one by one. Hot path.

Every message that is popped carries its own handle. A message that is not acknowledged in time comes again from where
it lies, at once to whoever waits, and not by way of a retry topic; so there is nothing to be revived. One that comes
for the last time in vain goes to the group's dead letters.
"""

import time
from collections.abc import Iterator
from typing import Any, Final

from braidmq.core.access import Action, ResourceKind
from braidmq.core.cursors import Ask, Beginning, Delivered, Receipt
from braidmq.core.filters import Everything, Filter, filter_of
from braidmq.core.shapes import check_reading
from braidmq.model import DEFAULT_INSTANCE, Topic
from braidmq.model.errors import HandleExpired, InvalidHandle
from braidmq.protocols.rocketmq._call import Answer, Call
from braidmq.protocols.rocketmq._delivered import encode_popped, encode_records
from braidmq.protocols.rocketmq._filters import kind_of
from braidmq.protocols.rocketmq._operations import LATER, Later, answers
from braidmq.protocols.rocketmq._pop_handles import check_seal, pop_seal, read_pop_handle
from braidmq.protocols.rocketmq._queues import find_topic, queue_number
from braidmq.protocols.rocketmq.codec import RequestCode, ResponseCode, decode_body, write_header
from braidmq.protocols.rocketmq.codec.bodies import BatchAck, BatchAckMessageRequestBody
from braidmq.protocols.rocketmq.codec.headers import CustomHeader
from braidmq.protocols.rocketmq.codec.headers.pop import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    ChangeInvisibleTimeResponseHeader,
    NotificationRequestHeader,
    NotificationResponseHeader,
    PeekMessageRequestHeader,
    PollingInfoRequestHeader,
    PollingInfoResponseHeader,
    PopMessageRequestHeader,
    PopMessageResponseHeader,
)

MESSAGES_MAX: Final = 32
BYTES: Final = 256 << 10
WAIT_MAX_MS: Final = 60_000
INVISIBLE_MIN_MS: Final = 10
INVISIBLE_MAX_MS: Final = 12 * 3_600_000
ANY_QUEUE: Final = -1
FROM_START: Final = 0
BITS_MAX: Final = 4096


@answers(RequestCode.POP_MESSAGE, action=Action.CONSUME, resource=ResourceKind.TOPIC)
async def pop(call: Call[PopMessageRequestHeader]) -> Answer | Later:
    header, services = call.header, call.services
    topic = _readable_topic(call, header.topic, header.consumer_group)
    invisible_ms = min(max(header.invisible_time, INVISIBLE_MIN_MS), INVISIBLE_MAX_MS)
    ask = Ask(
        group=header.consumer_group,
        topic=topic,
        partition=_partition(topic, header.queue_id),
        chosen=_chosen(call),
        count_max=max(1, min(header.max_msg_nums, MESSAGES_MAX)),
        bytes_max=BYTES,
        invisible_ms=invisible_ms,
        is_ordered=header.order,
        attempt_id=header.attempt_id or "",
        client=call.connection.client_id,
        beginning=Beginning.START if header.init_mode == FROM_START else _young_or_end(call),
    )
    batch = await services.cursors.receive(ask, wait_s=_wait_s(header.born_time, header.poll_time))
    if call.connection.is_gone:
        services.cursors.take_back(ask.group, batch)
        return LATER
    if not batch:
        return Answer(ResponseCode.POLLING_TIMEOUT, write_header(PopMessageResponseHeader()), remark="no message found")
    return _popped(call, topic, batch, invisible_ms)


def _popped(call: Call[PopMessageRequestHeader], topic: Topic, batch: list[Delivered], invisible_ms: int) -> Answer:
    services, group = call.services, call.header.consumer_group
    pop_ms = time.time_ns() // 1_000_000
    body = encode_popped(services, batch, topic.name, call.connection.store_host, pop_ms, invisible_ms)
    offsets: dict[int, list[int]] = {}
    for each in batch:
        offsets.setdefault(each.partition, []).append(each.record.offset)
    services.outlet.gave_each(group, ((each.receipt.number, each.record) for each in batch))
    header = PopMessageResponseHeader(
        pop_time=pop_ms,
        invisible_time=invisible_ms,
        rest_num=services.cursors.lag(group, topic),
        start_offset_info=";".join(f"0 {queue} {found[0]}" for queue, found in offsets.items()),
        msg_offset_info=";".join(f"0 {queue} {','.join(map(str, found))}" for queue, found in offsets.items()),
        order_count_info=";".join(f"0 qo{each.partition}%{each.record.offset} {each.attempt - 1}" for each in batch)
        if call.header.order
        else "",
    )
    return Answer.with_header(header, body)


@answers(RequestCode.ACK_MESSAGE, action=Action.CONSUME, resource=ResourceKind.GROUP)
def acknowledge(call: Call[AckMessageRequestHeader]) -> Answer:
    header = call.header
    receipt = _receipt(call, header.topic, header.consumer_group, header.extra_info)
    call.services.cursors.acknowledge(header.consumer_group, receipt)
    return Answer()


@answers(RequestCode.BATCH_ACK_MESSAGE, action=Action.CONSUME, resource=ResourceKind.GROUP)
def acknowledge_batch(call: Call[CustomHeader]) -> Answer:
    """What cannot be acknowledged any more is passed over: its client is to be given it again."""
    for ack in decode_body(BatchAckMessageRequestBody, call.command.body).acks:
        topic = find_topic(call.services, ack.topic)
        number = queue_number(topic, ack.queue_id)
        for offset in _offsets(ack):
            try:
                receipt = call.services.cursors.current(ack.consumer_group, number, offset)
                check_seal(receipt, ack.revive_queue_id)
                call.services.cursors.acknowledge(ack.consumer_group, receipt)
            except (HandleExpired, InvalidHandle):
                continue
    return Answer()


def _offsets(ack: BatchAck) -> Iterator[int]:
    if len(ack.bit_set) * 8 > BITS_MAX:
        raise InvalidHandle(f"a batch of acknowledgements spans at most {BITS_MAX} messages")
    for at, byte in enumerate(ack.bit_set):
        for bit in range(8):
            if byte & 1 << bit:
                yield ack.start_offset + at * 8 + bit


@answers(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, action=Action.CONSUME, resource=ResourceKind.GROUP)
def change_invisible_time(call: Call[ChangeInvisibleTimeRequestHeader]) -> Answer:
    header = call.header
    receipt = _receipt(call, header.topic, header.consumer_group, header.extra_info)
    invisible_ms = min(max(header.invisible_time, 0), INVISIBLE_MAX_MS)
    changed = call.services.cursors.extend(header.consumer_group, receipt, invisible_ms)
    return Answer.with_header(
        ChangeInvisibleTimeResponseHeader(
            pop_time=time.time_ns() // 1_000_000, invisible_time=invisible_ms, revive_qid=pop_seal(changed)
        )
    )


@answers(RequestCode.PEEK_MESSAGE, action=Action.CONSUME, resource=ResourceKind.TOPIC)
async def peek(call: Call[PeekMessageRequestHeader]) -> Answer:
    """New messages that a pop would bring; they stay where they are."""
    header = call.header
    topic = _readable_topic(call, header.topic, header.consumer_group)
    ask = Ask(
        group=header.consumer_group,
        topic=topic,
        partition=_partition(topic, header.queue_id),
        count_max=max(1, min(header.max_msg_nums, MESSAGES_MAX)),
        bytes_max=BYTES,
        beginning=_young_or_end(call),
    )
    found = await call.services.cursors.peek(ask)
    if not found:
        return Answer(ResponseCode.PULL_NOT_FOUND, remark="no message found")
    host = call.connection.store_host
    body = b"".join(
        encode_records(call.services, [record], topic.name, partition, topic.partition_numbers[partition], host)
        for partition, record in found
    )
    return Answer.with_header(PopMessageResponseHeader(pop_time=time.time_ns() // 1_000_000), body)


@answers(RequestCode.NOTIFICATION, action=Action.CONSUME, resource=ResourceKind.TOPIC)
async def notification(call: Call[NotificationRequestHeader]) -> Answer:
    """Whether there is something to pop, now or before the wait is over."""
    header = call.header
    topic = _readable_topic(call, header.topic, header.consumer_group)
    ask = Ask(
        group=header.consumer_group,
        topic=topic,
        partition=_partition(topic, header.queue_id),
        is_ordered=header.order,
        beginning=_young_or_end(call),
    )
    has_message = await call.services.cursors.arrival(ask, _wait_s(header.born_time, header.poll_time))
    return Answer.with_header(NotificationResponseHeader(has_msg=has_message))


@answers(RequestCode.POLLING_INFO, action=Action.DESCRIBE, resource=ResourceKind.TOPIC)
def polling_info(call: Call[PollingInfoRequestHeader]) -> Answer:
    topic = find_topic(call.services, call.header.topic)
    waiting = call.services.cursors.waiting(call.header.consumer_group, topic)
    return Answer.with_header(PollingInfoResponseHeader(polling_num=waiting))


@answers(RequestCode.POP_ROLLBACK, action=Action.CHANGE, resource=ResourceKind.NODE)
def rollback(_: Call[CustomHeader]) -> Answer:
    """RocketMQ's brokers take their records of pops back from one kind of store to another. There is one kind here."""
    return Answer(remark="there is nothing to take back: pops are kept in one place only")


def _readable_topic(call: Call[Any], name: str, group: str) -> Topic:
    """Raises UnknownTopic, NotPermitted."""
    topic = find_topic(call.services, name)
    check_reading(topic, call.services.catalog.group(DEFAULT_INSTANCE, group))
    return topic


def _partition(topic: Topic, queue_id: int) -> int | None:
    if queue_id == ANY_QUEUE:
        return None
    queue_number(topic, queue_id)
    return queue_id


def _chosen(call: Call[PopMessageRequestHeader]) -> Filter:
    """What the pop says, or else what the group's heartbeats say."""
    header = call.header
    if header.exp:
        return filter_of(kind_of(header.exp_type, header.exp), header.exp)
    interest = call.services.members.interest(header.consumer_group, header.topic, call.connection)
    return Everything() if interest is None else filter_of(*interest.choice)


def _young_or_end(call: Call[Any]) -> Beginning:
    return Beginning.YOUNG if call.services.facts.new_group_from_start else Beginning.END


def _wait_s(born_ms: int, wait_ms: int) -> float:
    """What is left of the client's patience."""
    if wait_ms <= 0:
        return 0.0
    passed_ms = time.time_ns() // 1_000_000 - born_ms if born_ms > 0 else 0
    return min(max(wait_ms - max(passed_ms, 0), 0), WAIT_MAX_MS) / 1000


def _receipt(call: Call[Any], topic_name: str, group: str, handle: str) -> Receipt:
    """Raises UnknownTopic, UnknownPartition, InvalidHandle, HandleExpired."""
    seal, queue_id, offset = read_pop_handle(handle)
    number = queue_number(find_topic(call.services, topic_name), queue_id)
    receipt = call.services.cursors.current(group, number, offset)
    check_seal(receipt, seal)
    return receipt
