"""Sending: one message, or several for one queue. Hot path.

The body lies in the log as its user wrote it: what the client compressed is opened here. Whatever is refused is refused
before anything is stored, with the reason; what is answered is kept.
"""

from collections.abc import Sequence
from typing import Final

from braidmq.core.access import Action, ResourceKind
from braidmq.core.publish import Published
from braidmq.core.shapes import check_writable, shown_partitions
from braidmq.model import BraidError, Message, Topic
from braidmq.model.errors import InvalidMessage, InvalidName, NotPermitted, UnknownTopic
from braidmq.model.names import DEAD_LETTER_TOPIC_PREFIX, RETRY_TOPIC_PREFIX
from braidmq.protocols.rocketmq._call import Answer, Call
from braidmq.protocols.rocketmq._deferred import may_be_deferred, send_again, send_deferred
from braidmq.protocols.rocketmq._members import note_asker
from braidmq.protocols.rocketmq._operations import LATER, Later, Result, answers
from braidmq.protocols.rocketmq._queues import TRACE_TOPIC, illegal_queue, made_topic
from braidmq.protocols.rocketmq._sending import REPLY_TO_PROPERTY, SendHeader, sent_answer, sent_message
from braidmq.protocols.rocketmq.codec import RequestCode
from braidmq.protocols.rocketmq.codec.ids import physical_offset, write_offset_id
from braidmq.protocols.rocketmq.codec.messages import decode_batch, read_properties

_OF_GROUPS: Final = (RETRY_TOPIC_PREFIX, DEAD_LETTER_TOPIC_PREFIX)
TOPIC_LENGTH_MAX: Final = 127
RETRY_TOPIC_LENGTH_MAX: Final = 255
FORBIDDEN_TOPICS: Final = frozenset(
    {
        "SCHEDULE_TOPIC_XXXX",
        "RMQ_SYS_TRANS_HALF_TOPIC",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC",
        "TRANS_CHECK_MAX_TIME_TOPIC",
        "SELF_TEST_TOPIC",
        "OFFSET_MOVED_EVENT",
    }
)
"""Where RocketMQ keeps things of its own. Here they lie elsewhere, but nothing may pass for them."""


@answers(
    RequestCode.SEND_MESSAGE,
    RequestCode.SEND_MESSAGE_V2,
    RequestCode.SEND_BATCH_MESSAGE,
    action=Action.PUBLISH,
    resource=ResourceKind.TOPIC,
)
def send(call: Call[SendHeader]) -> Result:
    topic = call.services.topics.find(call.header.topic)
    return _make_and_send(call) if topic is None else _send(call, topic)


async def _make_and_send(call: Call[SendHeader]) -> Answer | Later:
    result = _send(call, await _made_topic(call))
    return result if isinstance(result, Answer | Later) else await result


async def _made_topic(call: Call[SendHeader]) -> Topic:
    header, services = call.header, call.services
    name = header.topic
    check_topic(name)
    if name.startswith(RETRY_TOPIC_PREFIX):
        return await services.retries.retry_topic(name.removeprefix(RETRY_TOPIC_PREFIX))
    if name == TRACE_TOPIC:
        return await made_topic(services, name, 1)
    if not services.topics.auto_create:
        raise UnknownTopic(f"topic[{name}] not exist, apply first please!")
    return await made_topic(services, name, max(1, min(header.default_topic_queue_nums, services.facts.default_queues)))


def _send(call: Call[SendHeader], topic: Topic) -> Result:
    header = call.header
    if topic.settings:
        check_writable(topic)
    if header.queue_id >= shown_partitions(topic):
        raise illegal_queue(topic, header.queue_id, shown_partitions(topic))
    if call.command.code == RequestCode.SEND_BATCH_MESSAGE or header.batch:
        return _send_batch(call, topic)
    properties = header.properties or ""
    if topic.name.startswith(RETRY_TOPIC_PREFIX):
        return send_again(call, topic, read_properties(properties))
    if REPLY_TO_PROPERTY in properties:
        note_asker(call, read_properties(properties).get(REPLY_TO_PROPERTY, ""), header.producer_group)
    if may_be_deferred(properties):
        return send_deferred(call, topic, read_properties(properties))
    _publish(call, topic, (sent_message(call, call.command.body, properties, header.flag),))
    return LATER


def _send_batch(call: Call[SendHeader], topic: Topic) -> Later:
    if topic.name.startswith(RETRY_TOPIC_PREFIX):
        raise InvalidMessage(f"batch request does not support retry group {topic.name}")
    batch = decode_batch(call.command.body)
    if not batch:
        raise InvalidMessage("the batch holds no message")
    for each in batch:
        if may_be_deferred(each.properties):
            raise InvalidMessage("messages of a batch can neither be delayed nor transactional")
    _publish(call, topic, [sent_message(call, each.body, each.properties, each.flag) for each in batch])
    return LATER


def _publish(call: Call[SendHeader], topic: Topic, messages: Sequence[Message]) -> None:
    def on_done(fate: Published | BraidError) -> None:
        if isinstance(fate, BraidError):
            call.fail(fate)
            return
        partition, offset = fate
        number = topic.partition_numbers[partition]
        unique_id = messages[0].id or ""
        if len(messages) == 1 and call.connection.answer_sent(call, partition, number, offset, unique_id):
            return
        host = call.connection.store_host
        places = range(offset, offset + len(messages))
        msg_id = ",".join(write_offset_id(host, physical_offset(number, each)) for each in places)
        call.reply(sent_answer(msg_id, partition, offset, unique_id))

    call.services.publisher.publish(topic, messages, on_done, partition=max(call.header.queue_id, -1))


def check_topic(name: str) -> None:
    """Raises InvalidName and NotPermitted for what RocketMQ does not take either."""
    limit = RETRY_TOPIC_LENGTH_MAX if name.startswith(_OF_GROUPS) else TOPIC_LENGTH_MAX
    if not name or len(name) > limit:
        raise InvalidName(f"The specified topic has {len(name)} characters; it may have 1 to {limit}.")
    if name in FORBIDDEN_TOPICS:
        raise NotPermitted(f"Sending message to topic[{name}] is forbidden.")
