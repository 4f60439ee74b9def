"""DescribeGroups (15): groups and their members. Metadata and assignments are shown while the group is stable.

A group that is not there is shown as dead, and from version 6 on also as GROUP_ID_NOT_FOUND. Groups that we assign to
are not shown here but by ConsumerGroupDescribe.
"""

from braidmq.core.access import Action, ResourceKind
from braidmq.core.groups import GroupKind, GroupView, MemberView
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._groups import ALL_GROUP_OPERATIONS, state_name
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse

_UNKNOWN_MIN_VERSION = 6

_Group = DescribeGroupsResponse.DescribedGroup
_Member = DescribeGroupsResponse.DescribedGroupMember


@answers(ApiKey.DESCRIBE_GROUPS, versions=(0, 6), action=Action.DESCRIBE, resource=ResourceKind.GROUP)
def describe_groups(call: Call[DescribeGroupsRequest]) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(groups=[_describe(call, name) for name in call.request.groups])


def _describe(call: Call[DescribeGroupsRequest], name: str) -> _Group:
    view = call.services.groups.find(name)
    if view is None or view.kind is not GroupKind.CLASSIC:
        return _unknown(call, name)
    group = _group(view)
    if call.request.include_authorized_operations:
        group.authorized_operations = ALL_GROUP_OPERATIONS
    return group


def _unknown(call: Call[DescribeGroupsRequest], name: str) -> _Group:
    if call.version < _UNKNOWN_MIN_VERSION:
        return _Group(group_id=name, group_state="Dead")
    return _Group(
        group_id=name,
        group_state="Dead",
        error_code=ErrorCode.GROUP_ID_NOT_FOUND,
        error_message=f"there is no classic group {name!r}",
    )


def _group(view: GroupView) -> _Group:
    return _Group(
        group_id=view.name,
        group_state=state_name(view.state),
        protocol_type=view.protocol_type,
        protocol_data=view.protocol,
        members=[_member(member) for member in view.members],
    )


def _member(member: MemberView) -> _Member:
    return _Member(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=member.metadata,
        member_assignment=member.assignment,
    )
