"""Plain sends: the most frequent of requests, from its frame to the publisher and back to its answer. Hot path.

Nothing is meant here that `handlers/send.py` does not mean: what is plain ends as it would end there, and whatever is
not is left to it before anything has happened.
"""

import time
from functools import partial
from typing import TYPE_CHECKING, Final

from braidmq.core.publish import Published
from braidmq.core.shapes import is_writable
from braidmq.model import ROCKETMQ_HEADER, BraidError, Topic
from braidmq.model.names import RETRY_TOPIC_PREFIX
from braidmq.protocols.rocketmq._call import NO_FIELDS, Call
from braidmq.protocols.rocketmq._deferred import may_be_deferred
from braidmq.protocols.rocketmq._sending import REPLY_TO_PROPERTY
from braidmq.protocols.rocketmq._services import BROKER_VERSION, REGION
from braidmq.protocols.rocketmq.codec import Command, RequestCode
from braidmq.protocols.rocketmq.codec.headers import SendMessageRequestHeaderV2
from braidmq.protocols.rocketmq.codec.ids import OFFSET_BITS
from braidmq.protocols.rocketmq.codec.mapping import own_header
from braidmq.protocols.rocketmq.codec.messages import BORN_HOST_IPV6, COMPRESSED, STORE_HOST_IPV6
from braidmq.protocols.rocketmq.codec.plain import plain_message, read_plain_send
from braidmq.protocols.rocketmq.codec.sent import write_sent

if TYPE_CHECKING:
    from braidmq.protocols.rocketmq._connection import Connection

_SPECIAL_BITS: Final = COMPRESSED | BORN_HOST_IPV6 | STORE_HOST_IPV6


def take_plain(connection: "Connection", frame: bytes) -> bool:
    """Publish what a frame that begins as a plain send brings. False where it is none: then nothing has happened."""
    found = read_plain_send(frame)
    if found is None:
        return False
    send, fields, body = found
    topic = connection.services.topics.find(fields.topic)
    if topic is None or not _is_plain(fields, topic):
        return False
    store_ms = time.time_ns() // 1_000_000
    own = ROCKETMQ_HEADER, own_header(fields.flag, fields.sys_flag, store_ms, connection.born_host)
    made = plain_message(fields.properties or "", body, fields.born_timestamp, own)
    if made is None:
        return False
    message, unique_id = made
    if not unique_id.isalnum():
        return False
    on_done = partial(_tell, connection, send.opaque, len(frame), topic.partition_numbers, unique_id)
    try:
        connection.services.publisher.publish(topic, (message,), on_done, partition=fields.queue_id)
    except BraidError:
        return False
    connection.begun(RequestCode.SEND_MESSAGE_V2)
    return True


def _is_plain(fields: SendMessageRequestHeaderV2, topic: Topic) -> bool:
    properties = fields.properties
    return not (
        not properties
        or fields.reconsume_times
        or fields.batch
        or fields.sys_flag & _SPECIAL_BITS
        or not 0 <= fields.queue_id < len(topic.partition_numbers)
        or (topic.settings and not is_writable(topic))
        or REPLY_TO_PROPERTY in properties
        or may_be_deferred(properties)
        or topic.name.startswith(RETRY_TOPIC_PREFIX)
    )


def _tell(
    connection: "Connection",
    opaque: int,
    frame_bytes: int,
    numbers: tuple[int, ...],
    unique_id: bytes,
    fate: Published | BraidError,
) -> None:
    if isinstance(fate, BraidError):
        command = Command(code=RequestCode.SEND_MESSAGE_V2, opaque=opaque)
        Call(command, dict(NO_FIELDS), connection, frame_bytes).fail(fate)
        return
    partition, offset = fate
    msg_id = f"{connection.offset_id}{numbers[partition] << OFFSET_BITS | offset:016X}"
    connection.answered(
        write_sent(opaque, BROKER_VERSION, REGION, msg_id, partition, offset, unique_id.decode()), frame_bytes
    )
