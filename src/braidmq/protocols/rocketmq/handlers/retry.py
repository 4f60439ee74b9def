"""Messages that a consumer could not work on: sent back, to come again later.

A message is named by its place, and copied from there: the group's own retry topic brings it again.
"""

from braidmq.core.access import Action, ResourceKind
from braidmq.core.timers import level_delay_ms
from braidmq.protocols.rocketmq._call import Answer, Call
from braidmq.protocols.rocketmq._operations import answers
from braidmq.protocols.rocketmq.codec import RequestCode
from braidmq.protocols.rocketmq.codec.headers import ConsumerSendMsgBackRequestHeader
from braidmq.protocols.rocketmq.codec.ids import split_physical_offset, write_offset_id


@answers(RequestCode.CONSUMER_SEND_MSG_BACK, action=Action.CONSUME, resource=ResourceKind.GROUP)
async def send_back(call: Call[ConsumerSendMsgBackRequestHeader]) -> Answer:
    """Level 0 leaves the delay to the group's policy; one below it gives the message up."""
    header = call.header
    number, offset = split_physical_offset(header.offset)
    delay_ms = None if header.delay_level == 0 else level_delay_ms(header.delay_level) or -1
    await call.services.retries.send_back(
        header.group,
        number,
        offset,
        delay_ms=delay_ms,
        attempts_max=header.max_reconsume_times,
        origin_id=write_offset_id(call.connection.store_host, header.offset),
    )
    return Answer()
