"""ConsumerGroupDescribe (69): groups that we assign to, what their members hold and what they are to hold.

Any other group is GROUP_ID_NOT_FOUND, and clients ask DescribeGroups then.
"""

from braidmq.core.access import Action, ResourceKind
from braidmq.core.groups import ConsumerMemberView
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._groups import ALL_GROUP_OPERATIONS, by_topic, state_name
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)

_CLASSIC_MEMBER, _CONSUMER_MEMBER = 0, 1
"""The type of a member that still speaks the classic protocol, and of one that speaks that of its group."""

_Assignment = ConsumerGroupDescribeResponse.Assignment
_Group = ConsumerGroupDescribeResponse.DescribedGroup
_Member = ConsumerGroupDescribeResponse.Member


@answers(ApiKey.CONSUMER_GROUP_DESCRIBE, versions=(0, 1), action=Action.DESCRIBE, resource=ResourceKind.GROUP)
def consumer_group_describe(call: Call[ConsumerGroupDescribeRequest]) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(groups=[_describe(call, name) for name in call.request.group_ids])


def _describe(call: Call[ConsumerGroupDescribeRequest], name: str) -> _Group:
    if not name:
        return _Group(group_id=name, error_code=ErrorCode.INVALID_GROUP_ID)
    view = call.services.groups.find_consumer(name)
    if view is None:
        message = f"there is no group {name!r} whose members are assigned to"
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


def _member(call: Call[ConsumerGroupDescribeRequest], member: ConsumerMemberView) -> _Member:
    return _Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topics),
        subscribed_topic_regex=member.pattern,
        assignment=_assignment(call, member.assigned),
        target_assignment=_assignment(call, member.target),
        member_type=_CLASSIC_MEMBER if member.is_classic else _CONSUMER_MEMBER,
    )


def _assignment(call: Call[ConsumerGroupDescribeRequest], numbers: frozenset[int]) -> _Assignment:
    return _Assignment(
        topic_partitions=[
            ConsumerGroupDescribeResponse.TopicPartitions(
                topic_id=topic.id.bytes, topic_name=topic.name, partitions=indexes
            )
            for topic, indexes in by_topic(call.services.catalog, numbers)
        ]
    )
