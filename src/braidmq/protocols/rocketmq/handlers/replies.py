"""Request and reply: a consumer answers a message, and the answer goes straight to the producer that waits for it.

Nothing is stored: a producer that is gone does not wait any more.
"""

import time

from braidmq.core.access import Action, ResourceKind
from braidmq.protocols.rocketmq._call import Answer, Call
from braidmq.protocols.rocketmq._connection import Connection
from braidmq.protocols.rocketmq._operations import answers
from braidmq.protocols.rocketmq._sending import REPLY_TO_PROPERTY, SendHeader, sent_answer, sent_message
from braidmq.protocols.rocketmq.codec import RequestCode, ResponseCode, write_header
from braidmq.protocols.rocketmq.codec.headers import ReplyMessageRequestHeader
from braidmq.protocols.rocketmq.codec.ids import write_offset_id
from braidmq.protocols.rocketmq.codec.messages import read_properties

PUSH_TIMEOUT_S = 3.0


@answers(
    RequestCode.SEND_REPLY_MESSAGE,
    RequestCode.SEND_REPLY_MESSAGE_V2,
    action=Action.PUBLISH,
    resource=ResourceKind.TOPIC,
)
async def reply(call: Call[SendHeader]) -> Answer:
    header, connection = call.header, call.connection
    properties = header.properties or ""
    client_id = read_properties(properties).get(REPLY_TO_PROPERTY, "")
    asker = call.services.members.producer_named(client_id)
    if asker is None or not isinstance(asker.channel, Connection):
        return Answer(ResponseCode.SYSTEM_ERROR, remark=f"push reply message fail, channel of <{client_id}> not found.")
    push = ReplyMessageRequestHeader(
        producer_group=header.producer_group,
        topic=header.topic,
        default_topic=header.default_topic,
        default_topic_queue_nums=header.default_topic_queue_nums,
        queue_id=header.queue_id,
        sys_flag=header.sys_flag,
        born_timestamp=header.born_timestamp,
        flag=header.flag,
        properties=f"{properties.rstrip(chr(2))}\x02PUSH_REPLY_TIME\x01{time.time_ns() // 1_000_000}\x02",
        reconsume_times=header.reconsume_times,
        unit_mode=bool(header.unit_mode),
        born_host=str(connection.peer),
        store_host=str(connection.broker),
        store_timestamp=time.time_ns() // 1_000_000,
    )
    answered = await asker.channel.ask(
        RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, write_header(push), call.command.body, timeout_s=PUSH_TIMEOUT_S
    )
    if answered.code != ResponseCode.SUCCESS:
        return Answer(ResponseCode.SYSTEM_ERROR, remark=f"push reply message to {client_id} fail: {answered.remark}")
    message = sent_message(call, b"", properties, header.flag, sys_flag=0)
    return sent_answer(write_offset_id(connection.store_host, 0), max(header.queue_id, 0), 0, message.id or "")
