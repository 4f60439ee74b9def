"""Heartbeat (12): a member is alive, and hears whether the group begins a new generation."""

from braidmq.core.access import Action, ResourceKind
from braidmq.core.groups import MemberIdentity
from braidmq.model import BraidError
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import group_error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka.codec import ApiKey
from braidmq.protocols.kafka.codec.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


@answers(ApiKey.HEARTBEAT, versions=(0, 4), action=Action.CONSUME, resource=ResourceKind.GROUP)
def heartbeat(call: Call[HeartbeatRequest]) -> HeartbeatResponse:
    request = call.request
    member = MemberIdentity(request.member_id, request.generation_id, request.group_instance_id)
    try:
        call.services.groups.heartbeat(request.group_id, member)
    except BraidError as error:
        return HeartbeatResponse(error_code=group_error_code(error))
    return HeartbeatResponse()
