"""LeaveGroup (13): members go at once instead of at the end of their sessions.

From version 3 on a request names several, and may name an instance without its member's id: so administrators remove
members. Before that there is one, and its error is the response's.
"""

from braidmq.core.access import Action, ResourceKind
from braidmq.core.groups import Leaver
from braidmq.model import BraidError
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import group_error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse

_MANY_MIN_VERSION = 3


@answers(ApiKey.LEAVE_GROUP, versions=(0, 5), action=Action.CONSUME, resource=ResourceKind.GROUP)
async def leave_group(call: Call[LeaveGroupRequest]) -> LeaveGroupResponse:
    request = call.request
    leavers = [Leaver(each.member_id, each.group_instance_id, each.reason) for each in request.members]
    if call.version < _MANY_MIN_VERSION:
        leavers = [Leaver(request.member_id)]
    try:
        fates = await call.services.groups.leave(request.group_id, leavers)
    except BraidError as error:
        return LeaveGroupResponse(error_code=group_error_code(error))
    if call.version < _MANY_MIN_VERSION:
        return LeaveGroupResponse(error_code=_code(fates[0]))
    return LeaveGroupResponse(
        members=[
            LeaveGroupResponse.MemberResponse(
                member_id=leaver.member_id, group_instance_id=leaver.instance_id, error_code=_code(fate)
            )
            for leaver, fate in zip(leavers, fates, strict=True)
        ]
    )


def _code(fate: BraidError | None) -> ErrorCode:
    return ErrorCode.NONE if fate is None else group_error_code(fate)
