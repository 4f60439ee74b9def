"""Pulling: messages of one queue from an offset on. Hot path.

A pull that finds nothing waits, if its client allows, and is answered by the first message that its group wants. One
that passes over messages which are there already is answered at once, so that its client comes behind them. What the
group wants is known from its heartbeats, unless the pull says so itself. A client that asks outside what is kept is
told where to go on.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

from braidmq.core.access import Action, ResourceKind
from braidmq.core.filters import Filter, filter_of
from braidmq.core.pull import Pulled
from braidmq.core.shapes import check_readable, readable_partitions
from braidmq.log import Bounds
from braidmq.model import DEFAULT_INSTANCE, Topic, TraceKind
from braidmq.model.errors import OffsetOutOfRange, UnknownPartition, UnknownSubscription
from braidmq.model.group_settings import check_consumption
from braidmq.protocols.rocketmq._call import Answer, Call
from braidmq.protocols.rocketmq._delivered import begin_reading, encode_records
from braidmq.protocols.rocketmq._filters import kind_of
from braidmq.protocols.rocketmq._operations import LATER, Later, Result, answers
from braidmq.protocols.rocketmq._queues import find_topic, queue_number
from braidmq.protocols.rocketmq._services import RocketMQServices
from braidmq.protocols.rocketmq.codec import RequestCode, ResponseCode
from braidmq.protocols.rocketmq.codec.headers import PullMessageRequestHeader

COMMIT_FLAG: Final = 1
SUSPEND_FLAG: Final = 2
SUBSCRIPTION_FLAG: Final = 4

BYTES: Final = 256 << 10
"""How much an answer holds unless its client asks for more."""
BYTES_MAX: Final = 8 << 20
WAIT_MAX_MS: Final = 60_000


@answers(RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE, action=Action.CONSUME, resource=ResourceKind.TOPIC)
def pull(call: Call[PullMessageRequestHeader]) -> Result:
    header = call.header
    topic = find_topic(call.services, header.topic)
    number = queue_number(topic, header.queue_id)
    if topic.settings:
        _check_topic(topic, header.queue_id)
    group_settings = _group_settings(call.services, header.consumer_group)
    if group_settings:
        _check_group(call, group_settings)
    chosen = _chosen(call)
    if isinstance(chosen, Answer):
        return chosen
    services, group = call.services, header.consumer_group
    if (reset := services.resets.pending(group, number, header.queue_offset)) is not None:
        services.resets.taken(group, number)
        return _moved(call, number, reset)
    if header.sys_flag & COMMIT_FLAG and header.commit_offset >= 0:
        services.commits.note(services, call.connection.client_id, group, number, header.commit_offset)
    return _pull(call, topic, number, chosen)


def _pull(call: Call[PullMessageRequestHeader], topic: Topic, number: int, chosen: Filter) -> Result:
    header = call.header
    is_waiting = header.sys_flag & SUSPEND_FLAG and header.suspend_timeout_millis > 0
    try:
        if (read := _read(call, topic, number, chosen, header.queue_offset)) is not None:
            return read
        pulled = call.services.puller.pull_now(
            number, header.queue_offset, chosen, count_max=_count_max(call), bytes_max=_bytes_max(header)
        )
    except OffsetOutOfRange:
        return _moved(call, number)
    if pulled is not None and (pulled.records or not is_waiting or pulled.next_offset > header.queue_offset):
        return _answer(call, topic, number, pulled)
    return _wait(call, topic, number, chosen)


def _read(
    call: Call[PullMessageRequestHeader], topic: Topic, number: int, chosen: Filter, offset: int
) -> Answer | None:
    """Messages that are there from the offset on, and need not be read one by one; None where that found none. Raises
    what `Puller.pull_now` raises."""
    header, services = call.header, call.services
    reading = begin_reading(
        services,
        topic.name,
        header.queue_id,
        number,
        offset,
        chosen,
        call.connection.store_host,
        count_max=_count_max(call),
        bytes_max=_bytes_max(header),
    )
    if reading is None:
        return None
    bounds = services.puller.search_now(number, reading)
    found = reading.deliveries
    if bounds is None or not found.times:
        return None
    body = found.body
    _note_delivered(call, number, found.offset)
    services.outlet.gave(header.consumer_group, number, found.times, len(body), is_pressure=found.is_pressure)
    return Answer(ResponseCode.SUCCESS, _fields(found.offset, bounds), body)


def _note_delivered(call: Call[PullMessageRequestHeader], number: int, next_offset: int) -> None:
    call.services.commits.gave(call.header.consumer_group, number, next_offset)
    call.services.tracer.note_range(
        TraceKind.DELIVERED,
        call.header.consumer_group,
        number,
        call.header.queue_offset,  # so that pulls follow on each other, whatever their filter left out
        next_offset,
        call.connection.client_id,
    )


async def _wait(call: Call[PullMessageRequestHeader], topic: Topic, number: int, chosen: Filter) -> Answer | Later:
    """One message may end very many waits: what they bring is read when its client can take it, and not before."""
    header, puller, loop = call.header, call.services.puller, asyncio.get_running_loop()
    wait_ms = header.suspend_timeout_millis if header.sys_flag & SUSPEND_FLAG else 0
    deadline = loop.time() + min(wait_ms, WAIT_MAX_MS) / 1000
    offset = header.queue_offset
    has_waited = False  # until then, `_read` was asked already
    try:
        while True:
            async with call.connection.turn():
                if settings := _group_settings(call.services, header.consumer_group):
                    _check_group(call, settings)  # it may have been paused since
                if has_waited and (read := _read(call, topic, number, chosen, offset)) is not None:
                    call.reply(read)
                    return LATER
                pulled = await puller.pull(
                    number, offset, chosen, count_max=_count_max(call), bytes_max=_bytes_max(header)
                )
                left_s = deadline - loop.time()
                if pulled.records or left_s <= 0:
                    call.reply(_answer(call, topic, number, pulled))
                    return LATER
            offset = await puller.arrival(number, pulled.next_offset, chosen, wait_s=left_s)
            has_waited = True
    except OffsetOutOfRange:
        return _moved(call, number)


def _check_topic(topic: Topic, queue_id: int) -> None:
    check_readable(topic)
    if queue_id >= (queues := readable_partitions(topic)):
        raise UnknownPartition(f"queueId[{queue_id}] is illegal, topic:[{topic.name}] has {queues} queues to read")


def _group_settings(services: RocketMQServices, name: str) -> Mapping[str, str] | None:
    group = services.catalog.group(DEFAULT_INSTANCE, name)
    return None if group is None else group.settings


def _check_group(call: Call[PullMessageRequestHeader], settings: Mapping[str, str]) -> None:
    group = call.header.consumer_group
    member = call.services.members.consumer(group, call.connection.client_id)
    check_consumption(settings, group, call.header.topic, broadcast=member is not None and member.is_broadcast)


def _chosen(call: Call[PullMessageRequestHeader]) -> Filter | Answer:
    """What this reader wants. A client that has changed its mind since its last heartbeat is asked for another."""
    header = call.header
    if header.sys_flag & SUBSCRIPTION_FLAG:
        expression = header.subscription or "*"
        return filter_of(kind_of(header.expression_type, expression), expression)
    interest = call.services.members.interest(header.consumer_group, header.topic, call.connection)
    if interest is None:
        raise UnknownSubscription(f"the consumer's subscription not exist: {header.consumer_group}, {header.topic}")
    if interest.version < header.sub_version:
        return Answer(ResponseCode.SUBSCRIPTION_NOT_LATEST, remark="the consumer's subscription not latest")
    return filter_of(*interest.choice)


def _count_max(call: Call[PullMessageRequestHeader]) -> int:
    return max(1, min(call.header.max_msg_nums, call.services.facts.pull_messages_max))


def _bytes_max(header: PullMessageRequestHeader) -> int:
    asked = header.max_msg_bytes or 0
    return min(asked, BYTES_MAX) if 0 < asked < (1 << 31) - 1 else BYTES


def _answer(call: Call[PullMessageRequestHeader], topic: Topic, number: int, pulled: Pulled) -> Answer:
    header = call.header
    fields = _fields(pulled.next_offset, pulled.bounds)
    if pulled.records:
        _note_delivered(call, number, pulled.next_offset)
        body = encode_records(
            call.services, pulled.records, topic.name, header.queue_id, number, call.connection.store_host
        )
        call.services.outlet.gave_records(header.consumer_group, number, pulled.records, len(body))
        return Answer(ResponseCode.SUCCESS, fields, body)
    if pulled.next_offset > header.queue_offset:
        return Answer(ResponseCode.PULL_RETRY_IMMEDIATELY, fields, remark="NO_MATCHED_MESSAGE")
    return Answer(ResponseCode.PULL_NOT_FOUND, fields, remark="OFFSET_OVERFLOW_ONE")


def _moved(call: Call[PullMessageRequestHeader], number: int, next_offset: int | None = None) -> Answer:
    """Go on elsewhere: where an operator says, or else at the nearest place that there is."""
    bounds = call.services.log.bounds(number)
    if next_offset is None:
        next_offset = bounds.start if call.header.queue_offset < bounds.start else bounds.stable
    remark = f"the offset {call.header.queue_offset} is not within {bounds.start} to {bounds.stable}"
    return Answer(ResponseCode.PULL_OFFSET_MOVED, _fields(next_offset, bounds), remark=remark)


def _fields(next_offset: int, bounds: Bounds) -> dict[str, str]:
    return {
        "suggestWhichBrokerId": "0",
        "nextBeginOffset": str(next_offset),
        "minOffset": str(bounds.start),
        "maxOffset": str(bounds.stable),
    }
