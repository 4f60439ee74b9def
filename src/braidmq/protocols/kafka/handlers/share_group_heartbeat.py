"""ShareGroupHeartbeat (76): a member says what it reads, and hears where it is to ask for messages (KIP-932).

Null says "as before", in both directions. Epoch 0 joins, -1 leaves. Members bring their own ids.
"""

from braidmq.core.access import Action, ResourceKind
from braidmq.core.groups import Pulse, PulseAnswer
from braidmq.model import BraidError
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import group_error_code
from braidmq.protocols.kafka._groups import by_topic
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka.codec import ApiKey
from braidmq.protocols.kafka.codec.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)


@answers(ApiKey.SHARE_GROUP_HEARTBEAT, versions=(1, 1), action=Action.CONSUME, resource=ResourceKind.GROUP)
async def share_group_heartbeat(call: Call[ShareGroupHeartbeatRequest]) -> ShareGroupHeartbeatResponse:
    try:
        answer = await call.services.groups.share_pulse(_pulse(call))
    except BraidError as error:
        return ShareGroupHeartbeatResponse(error_code=group_error_code(error), error_message=error.message)
    return ShareGroupHeartbeatResponse(
        member_id=answer.member_id,
        member_epoch=answer.epoch,
        heartbeat_interval_ms=answer.heartbeat_ms,
        assignment=_assignment(call, answer),
    )


def _pulse(call: Call[ShareGroupHeartbeatRequest]) -> Pulse:
    request = call.request
    names = request.subscribed_topic_names
    return Pulse(
        group=request.group_id,
        member_id=request.member_id,
        epoch=request.member_epoch,
        rack=request.rack_id,
        topics=None if names is None else tuple(names),
        client_id=call.client_id,
        client_host=f"/{call.client.host}",
    )


def _assignment(
    call: Call[ShareGroupHeartbeatRequest], answer: PulseAnswer
) -> ShareGroupHeartbeatResponse.Assignment | None:
    if answer.assigned is None:
        return None
    return ShareGroupHeartbeatResponse.Assignment(
        topic_partitions=[
            ShareGroupHeartbeatResponse.TopicPartitions(topic_id=topic.id.bytes, partitions=indexes)
            for topic, indexes in by_topic(call.services.catalog, answer.assigned)
        ]
    )
