"""Plain sends: the most frequent of requests, from the bytes of a connection to the publisher and back. Hot path.

All that came together for one queue goes to the publisher and is answered together. Nothing is meant here that
`handlers/send.py` does not mean: what is plain ends as it would end there, and whatever is not is left to it before
anything has happened. So is everything where the codec of plain sends is not compiled.
"""

import time
from functools import partial
from typing import TYPE_CHECKING, Final

from braidmq.core.publish import Published
from braidmq.core.shapes import is_writable
from braidmq.model import BraidError, Topic
from braidmq.protocols.rocketmq._call import NO_FIELDS, Call
from braidmq.protocols.rocketmq._services import BROKER_VERSION, REGION
from braidmq.protocols.rocketmq.codec import Command, RequestCode
from braidmq.protocols.rocketmq.codec.ids import physical_offset
from braidmq.records import Packed

if TYPE_CHECKING:
    from braidmq.protocols.rocketmq._connection import Connection

try:
    from braidmq.protocols.rocketmq.codec._sends import Sends, read_sends
except ImportError:
    _IS_COMPILED = False
else:
    _IS_COMPILED = True

PLAIN_SEND: Final = b'{"code":%d,' % RequestCode.SEND_MESSAGE_V2
"""How the header of such a request begins."""

_REGION: Final = REGION.encode()


def take_plain(connection: "Connection", data: bytes, position: int) -> int:
    """Publish the plain sends that begin at the position; where the first frame begins that is none."""
    if not _IS_COMPILED:
        return position
    store_ms = time.time_ns() // 1_000_000
    end, groups = read_sends(data, position, connection.frame_bytes_max, store_ms, *connection.born_host)
    for sends in groups:
        connection.memory.take(sends.frame_bytes)
        if not _publish(connection, sends):
            for frame in sends.frames():
                connection.take_now(frame)
    return end


def _publish(connection: "Connection", sends: "Sends") -> bool:
    """False where the general way must be gone: then nothing has happened."""
    topic = connection.services.topics.find(sends.topic)
    if topic is None or (topic.settings and not is_writable(topic)) or not _offer(connection, sends, topic):
        return False
    connection.begun(RequestCode.SEND_MESSAGE_V2, len(sends))
    return True


def _offer(connection: "Connection", sends: "Sends", topic: Topic) -> bool:
    return connection.services.publisher.publish_packed(
        topic,
        Packed(sends.contents, sends.times),
        partial(_tell, connection, sends, topic),
        partition=sends.queue_id,
        largest_bytes=sends.body_bytes_max,
        with_sharding_key=sends.has_sharding_key,
    )


def _tell(connection: "Connection", sends: "Sends", topic: Topic, fate: Published | BraidError) -> None:
    """A refusal is its own: what is not taken together is tried message by message."""
    if isinstance(fate, Published):
        partition, offset = fate
        place = physical_offset(topic.partition_numbers[partition], offset)
        frames = sends.answers(BROKER_VERSION, _REGION, connection.offset_id.encode(), place, offset)
        connection.answered(frames, len(sends), sends.frame_bytes)
    elif len(sends) == 1:
        _refuse(connection, sends, fate)
    else:
        for one in sends.alone():
            if not _offer(connection, one, topic):
                _refuse(connection, one, fate)


def _refuse(connection: "Connection", one: "Sends", refusal: BraidError) -> None:
    command = Command(code=RequestCode.SEND_MESSAGE_V2, opaque=one.opaque(0))
    Call(command, dict(NO_FIELDS), connection, one.frame_bytes).fail(refusal)
