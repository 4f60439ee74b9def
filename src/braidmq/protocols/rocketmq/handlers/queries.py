"""Looking for messages: by key, by unique id, by place.

An answer to a search tells how far the index has come. Without an index, searching is refused, and says so.
"""

from typing import Final

from braidmq.core.access import Action, ResourceKind
from braidmq.core.filters import Everything, filter_of
from braidmq.model import TAG_HEADER, Message, Topic
from braidmq.model.errors import OffsetOutOfRange
from braidmq.protocols.rocketmq._call import Answer, Call
from braidmq.protocols.rocketmq._delivered import delivered, encode_records
from braidmq.protocols.rocketmq._operations import answers
from braidmq.protocols.rocketmq._places import message_at
from braidmq.protocols.rocketmq._queues import find_topic, queue_number
from braidmq.protocols.rocketmq._subscriptions import subscription_of
from braidmq.protocols.rocketmq.codec import RequestCode, ResponseCode, encode_body, write_header
from braidmq.protocols.rocketmq.codec.bodies import ConsumeQueueData, QueryConsumeQueueResponseBody
from braidmq.protocols.rocketmq.codec.headers import (
    QueryConsumeQueueRequestHeader,
    QueryMessageRequestHeader,
    QueryMessageResponseHeader,
    ViewMessageRequestHeader,
)
from braidmq.protocols.rocketmq.codec.ids import physical_offset
from braidmq.protocols.rocketmq.codec.messages import encode_message
from braidmq.records import Record

UNIQUE_FIELD: Final = "_UNIQUE_KEY_QUERY"
UNIQUE_MAX: Final = 32
QUERY_MAX: Final = 1_000
ENTRIES_MAX: Final = 1_000
ENTRIES_BYTES: Final = 4 << 20


@answers(RequestCode.QUERY_MESSAGE, action=Action.CONSUME, resource=ResourceKind.TOPIC)
async def query_message(call: Call[QueryMessageRequestHeader]) -> Answer:
    header, query = call.header, call.services.query
    topic = find_topic(call.services, header.topic)
    if call.fields.get(UNIQUE_FIELD, "").lower() == "true":
        found = await query.by_id(topic, header.key, UNIQUE_MAX)
    else:
        count = max(1, min(header.max_num, QUERY_MAX))
        found = await query.by_key(topic, header.key, header.begin_timestamp, header.end_timestamp, count)
    indexed = query.indexed_to(topic)
    latest = max((each.latest_ms for each in indexed.values()), default=-1)
    last = max((physical_offset(number, each.offset) for number, each in indexed.items()), default=0)
    fields = write_header(
        QueryMessageResponseHeader(index_last_update_timestamp=max(latest, 0), index_last_update_phyoffset=last)
    )
    if not found:
        return Answer(ResponseCode.QUERY_NOT_FOUND, fields, remark="can not find message, maybe time range not correct")
    body = b"".join([_encoded(call, topic, message) for message in found])
    return Answer(ResponseCode.SUCCESS, fields, body)


def _encoded(call: Call[QueryMessageRequestHeader], topic: Topic, message: Message) -> bytes:
    place = physical_offset(topic.partition_numbers[message.partition], message.offset)
    added = call.services.facts.every_message
    return encode_message(delivered(message, message.partition, place, call.connection.store_host, added))


@answers(RequestCode.VIEW_MESSAGE_BY_ID, action=Action.CONSUME, resource=ResourceKind.TOPIC)
async def view_message(call: Call[ViewMessageRequestHeader]) -> Answer:
    return Answer(body=await message_at(call.services, call.header.offset, call.connection.store_host))


@answers(RequestCode.QUERY_CONSUME_QUEUE, action=Action.CONSUME, resource=ResourceKind.TOPIC)
async def query_queue(call: Call[QueryConsumeQueueRequestHeader]) -> Answer:
    """Where a queue's messages lie, from an index on, and whether a group would be given them."""
    header, services = call.header, call.services
    topic = find_topic(services, header.topic or "")
    number = queue_number(topic, header.queue_id)
    bounds = services.log.bounds(number)
    body = QueryConsumeQueueResponseBody(max_queue_index=bounds.stable, min_queue_index=bounds.start)
    chosen = None
    if header.consumer_group:
        interest = services.members.interest(header.consumer_group, topic.name, call.connection)
        if interest is None:
            body.filter_data = f"{header.consumer_group}@{topic.name} is not online!"
        else:
            body.subscription_data = subscription_of(topic.name, interest)
            chosen = filter_of(*interest.choice)
    count = max(1, min(header.count, ENTRIES_MAX))
    try:
        pulled = await services.puller.pull(
            number, header.index, Everything(), count_max=count, bytes_max=ENTRIES_BYTES
        )
    except OffsetOutOfRange:
        remark = f"Index {header.index} of {header.queue_id}@{topic.name} is not exist!"
        return Answer(body=encode_body(body), remark=remark)
    for record in pulled.records:
        size = len(encode_records(services, (record,), topic.name, header.queue_id, number, call.connection.store_host))
        body.queue_data.append(
            ConsumeQueueData(
                physic_offset=physical_offset(number, record.offset),
                physic_size=size,
                tags_code=_tags_code(record),
                eval=chosen is None or chosen.matches(record),
            )
        )
    return Answer(body=encode_body(body))


def _tags_code(record: Record) -> int:
    """Java's hash of the tag; 0 without one."""
    tag = next((value for name, value in reversed(record.headers) if name == TAG_HEADER), None)
    code = 0
    for unit in memoryview((tag or b"").decode(errors="replace").encode("utf-16-le")).cast("H"):
        code = (31 * code + unit) & 0xFFFFFFFF
    return code - (1 << 32) if code >= 1 << 31 else code
