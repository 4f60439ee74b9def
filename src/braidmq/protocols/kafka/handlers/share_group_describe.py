"""ShareGroupDescribe (77): groups whose members share partitions. Any other group is GROUP_ID_NOT_FOUND."""

from braidmq.core.access import Action, ResourceKind
from braidmq.core.groups import ConsumerMemberView
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._groups import ALL_GROUP_OPERATIONS, by_topic, state_name
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.share_group_describe import (
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)

_Group = ShareGroupDescribeResponse.DescribedGroup
_Member = ShareGroupDescribeResponse.Member


@answers(ApiKey.SHARE_GROUP_DESCRIBE, versions=(1, 1), action=Action.DESCRIBE, resource=ResourceKind.GROUP)
def share_group_describe(call: Call[ShareGroupDescribeRequest]) -> ShareGroupDescribeResponse:
    return ShareGroupDescribeResponse(groups=[_describe(call, name) for name in call.request.group_ids])


def _describe(call: Call[ShareGroupDescribeRequest], name: str) -> _Group:
    if not name:
        return _Group(group_id=name, error_code=ErrorCode.INVALID_GROUP_ID)
    view = call.services.groups.find_share(name)
    if view is None:
        message = f"there is no group {name!r} whose members share partitions"
        return _Group(group_id=name, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=message)
    group = _Group(
        group_id=name,
        group_state=state_name(view.state),
        group_epoch=view.epoch,
        assignment_epoch=view.target_epoch,
        assignor_name=view.assignor,
        members=[_member(call, member) for member in view.members],
    )
    if call.request.include_authorized_operations:
        group.authorized_operations = ALL_GROUP_OPERATIONS
    return group


def _member(call: Call[ShareGroupDescribeRequest], member: ConsumerMemberView) -> _Member:
    return _Member(
        member_id=member.member_id,
        rack_id=member.rack,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topics),
        assignment=_assignment(call, member.assigned),
    )


def _assignment(
    call: Call[ShareGroupDescribeRequest], numbers: frozenset[int]
) -> ShareGroupDescribeResponse.Assignment:
    return ShareGroupDescribeResponse.Assignment(
        topic_partitions=[
            ShareGroupDescribeResponse.TopicPartitions(
                topic_id=topic.id.bytes, topic_name=topic.name, partitions=indexes
            )
            for topic, indexes in by_topic(call.services.catalog, numbers)
        ]
    )
