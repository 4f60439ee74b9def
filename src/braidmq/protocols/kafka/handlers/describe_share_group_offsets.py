"""DescribeShareGroupOffsets (90): how far groups have come whose members share partitions, and how much is not done.

The offset is the first that is not done; there may be messages behind it that are. It is -1 where the group has never
been. Version 1 also tells the lag.
"""

from collections.abc import Iterable

from braidmq.core.access import Action, ResourceKind
from braidmq.core.cursors import CursorView
from braidmq.model import BraidError, Topic
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import group_error_code
from braidmq.protocols.kafka._groups import by_topic
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._partitions import find_own_topic, partition_of
from braidmq.protocols.kafka._services import LEADER_EPOCH
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsResponse,
)

_Asked = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup
_Group = DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup
_Topic = DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseTopic
_Partition = DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition
_Call = Call[DescribeShareGroupOffsetsRequest]


@answers(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, versions=(0, 1), action=Action.DESCRIBE, resource=ResourceKind.GROUP)
def describe_share_group_offsets(call: _Call) -> DescribeShareGroupOffsetsResponse:
    return DescribeShareGroupOffsetsResponse(groups=[_describe(call, asked) for asked in call.request.groups])


def _describe(call: _Call, asked: _Asked) -> _Group:
    name = asked.group_id
    if not call.services.groups.is_share(name):
        message = f"there is no group {name!r} whose members share partitions"
        return _Group(group_id=name, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=message)
    views = {view.number: view for view in call.services.cursors.views(name)}
    if asked.topics is None:
        numbers = {*views, *call.services.groups.offsets(name)}
        found = by_topic(call.services.catalog, numbers)
        return _Group(group_id=name, topics=[_topic(call, name, topic, indexes, views) for topic, indexes in found])
    return _Group(
        group_id=name, topics=[_named(call, name, each.topic_name, each.partitions, views) for each in asked.topics]
    )


def _named(call: _Call, group: str, name: str, indexes: Iterable[int], views: dict[int, CursorView]) -> _Topic:
    try:
        topic = find_own_topic(call.services, name)
    except BraidError as error:
        code = group_error_code(error)
        return _Topic(
            topic_name=name,
            partitions=[
                _Partition(partition_index=index, start_offset=-1, error_code=code, error_message=error.message)
                for index in indexes
            ],
        )
    return _topic(call, group, topic, indexes, views)


def _topic(call: _Call, group: str, topic: Topic, indexes: Iterable[int], views: dict[int, CursorView]) -> _Topic:
    partitions = [_partition(call, group, topic, index, views) for index in indexes]
    return _Topic(topic_name=topic.name, topic_id=topic.id.bytes, partitions=partitions)


def _partition(call: _Call, group: str, topic: Topic, index: int, views: dict[int, CursorView]) -> _Partition:
    answer = _Partition(partition_index=index, start_offset=-1, leader_epoch=LEADER_EPOCH)
    try:
        number = partition_of(topic, index).number
        committed = call.services.groups.offsets(group).get(number)
        if (view := views.get(number)) is not None:
            answer.start_offset, answer.lag = view.floor, view.lag
        elif committed is not None:
            end = call.services.log.bounds(number).end
            answer.start_offset, answer.lag = committed.offset, max(end - committed.offset, 0)
    except BraidError as error:
        answer.error_code, answer.error_message = group_error_code(error), error.message
    return answer
