"""SyncGroup (14): a member asks what it is to do; the leader brings what all are to do. Assignments are opaque."""

from braidmq.core.access import Action, ResourceKind
from braidmq.core.groups import MemberIdentity, Sync
from braidmq.model import BraidError
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import group_error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka.codec import ApiKey
from braidmq.protocols.kafka.codec.messages.sync_group import SyncGroupRequest, SyncGroupResponse


@answers(ApiKey.SYNC_GROUP, versions=(0, 5), action=Action.CONSUME, resource=ResourceKind.GROUP)
async def sync_group(call: Call[SyncGroupRequest]) -> SyncGroupResponse:
    request = call.request
    sync = Sync(
        group=request.group_id,
        member=MemberIdentity(request.member_id, request.generation_id, request.group_instance_id),
        protocol_type=request.protocol_type,
        protocol=request.protocol_name,
        assignments={each.member_id: bytes(each.assignment) for each in request.assignments},
    )
    try:
        synced = await call.services.groups.sync(sync)
    except BraidError as error:
        return SyncGroupResponse(error_code=group_error_code(error))
    return SyncGroupResponse(
        protocol_type=synced.protocol_type, protocol_name=synced.protocol, assignment=synced.assignment
    )
