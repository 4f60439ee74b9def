"""ListGroups (16): all groups, or those in some states (from version 4 on) and of some types (from 5 on).

Names of states and types are taken in any case; a name that nobody knows matches nothing.
"""

from braidmq.core.access import Action, ResourceKind
from braidmq.core.groups import GroupView
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._groups import state_name
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka.codec import ApiKey
from braidmq.protocols.kafka.codec.messages.list_groups import ListGroupsRequest, ListGroupsResponse


@answers(ApiKey.LIST_GROUPS, versions=(0, 5), action=Action.DESCRIBE, resource=ResourceKind.GROUP)
def list_groups(call: Call[ListGroupsRequest]) -> ListGroupsResponse:
    states = {name.lower() for name in call.request.states_filter}
    types = {name.lower() for name in call.request.types_filter}
    shown = [
        group
        for group in call.services.groups.all()
        if (not states or state_name(group.state).lower() in states) and (not types or group.kind.value in types)
    ]
    return ListGroupsResponse(groups=[_listed(group) for group in shown])


def _listed(group: GroupView) -> ListGroupsResponse.ListedGroup:
    return ListGroupsResponse.ListedGroup(
        group_id=group.name,
        protocol_type=group.protocol_type,
        group_state=state_name(group.state),
        group_type=group.kind.value,
    )
