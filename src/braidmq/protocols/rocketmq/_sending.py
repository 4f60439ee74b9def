"""What all sends have in common: the message that was sent, and the answer to it."""

import time
from collections.abc import Mapping
from typing import Final

from braidmq.model import ID_HEADER, Message
from braidmq.protocols.rocketmq._call import Answer, Call
from braidmq.protocols.rocketmq._services import REGION
from braidmq.protocols.rocketmq._unique_ids import UniqueIds
from braidmq.protocols.rocketmq.codec import ResponseCode
from braidmq.protocols.rocketmq.codec.headers import SendMessageRequestHeader, SendMessageRequestHeaderV2
from braidmq.protocols.rocketmq.codec.mapping import make_message

REPLY_TO_PROPERTY: Final = "REPLY_TO_CLIENT"
SendHeader = SendMessageRequestHeader | SendMessageRequestHeaderV2

_EVERY_ANSWER: Final = {"MSG_REGION": REGION, "TRACE_ON": "true"}
"""Clients take these for granted."""
_ID_PROPERTY: Final = f"{ID_HEADER}\x01"
_ID_BEHIND_ANOTHER: Final = f"\x02{_ID_PROPERTY}"

_unique_ids = UniqueIds()


def sent_message(
    call: Call[SendHeader], body: bytes, properties: str, flag: int, *, sys_flag: int | None = None
) -> Message:
    """The message with all that is known of it now. One without a unique id is given one. Raises MalformedMessage."""
    header, connection = call.header, call.connection
    if properties and properties[-1] != "\x02":
        properties += "\x02"
    if _ID_BEHIND_ANOTHER not in properties and not properties.startswith(_ID_PROPERTY):
        properties = f"{properties}{_ID_PROPERTY}{_unique_ids.next(connection.store_host)}\x02"
    return make_message(
        properties,
        body,
        header.born_timestamp,
        flag=flag,
        sys_flag=header.sys_flag if sys_flag is None else sys_flag,
        store_ms=time.time_ns() // 1_000_000,
        born_host=connection.born_host,
        attempts=header.reconsume_times or 0,
        body_bytes_max=call.services.publisher.limits.body_bytes_max,
    )


def sent_answer(
    msg_id: str, queue_id: int, queue_offset: int, unique_id: str, more: Mapping[str, str] | None = None
) -> Answer:
    """`msg_id` are the offset ids, with commas between them; clients show the unique ids to their users."""
    fields = {
        "msgId": msg_id,
        "queueId": str(queue_id),
        "queueOffset": str(queue_offset),
        "transactionId": unique_id,
        **_EVERY_ANSWER,
    }
    if more:
        fields.update(more)
    return Answer(ResponseCode.SUCCESS, fields)
