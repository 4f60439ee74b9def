"""The most frequent requests, from the bytes of a connection to the core and back: plain sends, halves of transactions
and the words that commit them. Hot path.

All that came together for one queue goes to the core and is answered together. Nothing is meant here that
`handlers/send.py` and `handlers/transactions.py` do not mean: what is plain ends as it would end there, and whatever is
not is left to them before anything has happened. So is everything where the codec of plain sends is not compiled.
"""

import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import UUID

from braidmq.core.delivery import packed_for_later
from braidmq.core.publish import Published
from braidmq.core.shapes import is_writable
from braidmq.model import BraidError, Topic
from braidmq.protocols.rocketmq._call import NO_FIELDS, Call
from braidmq.protocols.rocketmq._deferred import half_id_of_numbers, numbers_of
from braidmq.protocols.rocketmq._services import BROKER_VERSION, REGION
from braidmq.protocols.rocketmq.codec import Command, RequestCode
from braidmq.protocols.rocketmq.codec.ids import physical_offset
from braidmq.records import Packed

if TYPE_CHECKING:
    from braidmq.protocols.rocketmq._connection import Connection
    from braidmq.protocols.rocketmq.codec._sends import Said, Sends

try:
    from braidmq.protocols.rocketmq.codec._sends import read_sends
except ImportError:
    _IS_COMPILED = False
else:
    _IS_COMPILED = True

PLAIN: Final = (b'{"code":%d,' % RequestCode.SEND_MESSAGE_V2, b'{"code":%d,' % RequestCode.END_TRANSACTION)
"""How the headers of such requests begin."""

_REGION: Final = REGION.encode()


def take_plain(connection: "Connection", data: bytes, position: int) -> int:
    """Carry out the plain requests that begin at the position; where the first frame begins that is none."""
    if not _IS_COMPILED:
        return position
    store_ms = time.time_ns() // 1_000_000
    end, groups, words = read_sends(data, position, connection.frame_bytes_max, store_ms, *connection.born_host)
    for sends in groups:
        connection.memory.take(sends.frame_bytes)
        topic = connection.services.topics.find(sends.topic)
        if topic is not None and topic.settings and not is_writable(topic):
            topic = None
        if topic is None or not (_prepare if sends.are_halves else _offer)(connection, sends, topic):
            for frame in sends.frames():
                connection.take_now(frame)
        else:
            connection.begun(RequestCode.SEND_MESSAGE_V2, len(sends))
    if words:
        _commit(connection, data, words)
    return end


# Messages that go to their queue at once.


def _offer(connection: "Connection", sends: "Sends", topic: Topic) -> bool:
    """False where the general way must be gone: then nothing has happened."""
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


# Halves.


def _prepare(connection: "Connection", sends: "Sends", topic: Topic) -> bool:
    """False where the general way must be gone: then nothing has happened."""
    messages = [
        (packed_for_later(content, born_ms), sends.message_id(nth), sends.groups[nth])
        for nth, (content, born_ms) in enumerate(zip(sends.contents, sends.times, strict=True))
    ]
    return connection.services.publisher.prepare_packed(
        topic,
        messages,
        partial(_tell_kept, connection, sends),
        partition=sends.queue_id,
        largest_bytes=sends.body_bytes_max,
    )


def _tell_kept(connection: "Connection", sends: "Sends", kept: list[UUID] | BraidError) -> None:
    if isinstance(kept, BraidError):
        for one in sends.alone():
            _refuse(connection, one, kept)
        return
    numbers = [numbers_of(half_id) for half_id in kept]
    frames = sends.half_answers(BROKER_VERSION, _REGION, connection.offset_id.encode(), numbers)
    connection.answered(frames, len(sends), sends.frame_bytes)


def _commit(connection: "Connection", data: bytes, words: Sequence["Said"]) -> None:
    """Nobody expects an answer. Words that do not commit, or not a half of the last moments, go the general way."""
    commits = [(half_id_of_numbers(word[0], word[1]), word[3], word[4]) for word in words if word[2]]
    others = connection.services.halves.commit_now(commits, connection.ended)
    connection.begun(RequestCode.END_TRANSACTION, len(commits) - len(others))
    places = [word[5:] for word in words if word[2]]
    for begin, end in (*(places[nth] for nth in others), *(word[5:] for word in words if not word[2])):
        connection.memory.take(end - begin)
        connection.take_now(data[begin:end])
