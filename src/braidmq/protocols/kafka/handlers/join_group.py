"""JoinGroup (11): a member wants to be in the group's next generation; the answer comes with it.

Version 0 has one timeout for session and rebalance. From version 4 on a new member is first given its id (error 79) and
comes back with it. From version 9 on a leader that returns under its instance id is told to leave the assignment as it
is; before that, it is told that somebody else leads, so that it does not begin to assign.
"""

from braidmq.core.access import Action, ResourceKind
from braidmq.core.groups import Join, Joined, Protocol
from braidmq.model import BraidError
from braidmq.model.errors import GroupFull, InconsistentProtocol, MemberIdRequired
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import group_error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka.codec import ApiKey
from braidmq.protocols.kafka.codec.messages.join_group import JoinGroupRequest, JoinGroupResponse

_NULL_PROTOCOL_MIN_VERSION = 7
_ID_FIRST_MIN_VERSION = 4
_SKIP_MIN_VERSION = 9


@answers(ApiKey.JOIN_GROUP, versions=(0, 9), action=Action.CONSUME, resource=ResourceKind.GROUP)
async def join_group(call: Call[JoinGroupRequest]) -> JoinGroupResponse:
    try:
        return _response(await call.services.groups.join(_join(call)))
    except BraidError as error:
        return JoinGroupResponse(
            error_code=group_error_code(error),
            protocol_name=None if call.version >= _NULL_PROTOCOL_MIN_VERSION else "",
            member_id=_told_id(call, error),
        )


def _join(call: Call[JoinGroupRequest]) -> Join:
    request = call.request
    return Join(
        group=request.group_id,
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        client_id=call.client_id,
        client_host=f"/{call.client.host}",
        session_ms=request.session_timeout_ms,
        rebalance_ms=request.session_timeout_ms if call.version == 0 else request.rebalance_timeout_ms,
        protocol_type=request.protocol_type,
        protocols=tuple(Protocol(each.name, bytes(each.metadata)) for each in request.protocols),
        asks_id_first=call.version >= _ID_FIRST_MIN_VERSION,
        may_skip_assignment=call.version >= _SKIP_MIN_VERSION,
        reason=request.reason,
    )


def _told_id(call: Call[JoinGroupRequest], error: BraidError) -> str:
    """A member that has no place here is not to come back with its id."""
    if isinstance(error, MemberIdRequired):
        return error.member_id
    if isinstance(error, GroupFull) or (isinstance(error, InconsistentProtocol) and not call.request.member_id):
        return ""
    return call.request.member_id


def _response(joined: Joined) -> JoinGroupResponse:
    return JoinGroupResponse(
        generation_id=joined.generation,
        protocol_type=joined.protocol_type,
        protocol_name=joined.protocol or "",
        leader=joined.leader,
        skip_assignment=joined.skip_assignment,
        member_id=joined.member_id,
        members=[
            JoinGroupResponse.JoinGroupResponseMember(
                member_id=member.member_id, group_instance_id=member.instance_id, metadata=member.metadata
            )
            for member in joined.members
        ],
    )
