"""DeleteGroups (42): groups without members, with their offsets."""

from braidmq.core.access import Action, ResourceKind
from braidmq.model import BraidError
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import group_error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka.codec import ApiKey
from braidmq.protocols.kafka.codec.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse

_Result = DeleteGroupsResponse.DeletableGroupResult


@answers(ApiKey.DELETE_GROUPS, versions=(0, 2), action=Action.DELETE, resource=ResourceKind.GROUP)
async def delete_groups(call: Call[DeleteGroupsRequest]) -> DeleteGroupsResponse:
    names = dict.fromkeys(call.request.groups_names)
    return DeleteGroupsResponse(results=[await _delete(call, name) for name in names])


async def _delete(call: Call[DeleteGroupsRequest], name: str) -> _Result:
    try:
        await call.services.groups.delete(name)
        call.services.cursors.forget_group(name)
    except BraidError as error:
        return _Result(group_id=name, error_code=group_error_code(error))
    return _Result(group_id=name)
