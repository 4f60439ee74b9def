"""OffsetFetch (9): how far groups have come.

A partition without an offset is answered with -1, and no error; only version 0, as it was with ZooKeeper, says
UNKNOWN_TOPIC_OR_PARTITION. Null topics mean all that the group has offsets for (from version 2 on). Versions from 8 on
ask for several groups, version 10 by topic id. Who requires stable offsets is told UNSTABLE_OFFSET_COMMIT for a
partition while a transaction that has not ended may change it. A member that we assign to must be in the epoch that it
names.
"""

from collections.abc import Mapping
from typing import NamedTuple

from braidmq.core.access import Action, ResourceKind
from braidmq.log import GroupOffset
from braidmq.model import BraidError
from braidmq.model.errors import UnknownTopic
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import group_error_code
from braidmq.protocols.kafka._groups import by_topic
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._partitions import find_topic, partition_of
from braidmq.protocols.kafka.codec import NO_UUID, ApiKey, ErrorCode, Uuid
from braidmq.protocols.kafka.codec.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse

_MANY_MIN_VERSION = 8
_IDS_MIN_VERSION = 10


class _Wanted(NamedTuple):
    """The partitions of a topic that are asked for."""

    name: str
    topic_id: Uuid
    indexes: list[int]


class _Found(NamedTuple):
    """What is known of one partition."""

    place: int
    error: ErrorCode = ErrorCode.NONE
    offset: GroupOffset = GroupOffset(-1)


@answers(ApiKey.OFFSET_FETCH, versions=(0, 10), action=Action.DESCRIBE, resource=ResourceKind.GROUP)
def offset_fetch(call: Call[OffsetFetchRequest]) -> OffsetFetchResponse:
    request = call.request
    if call.version >= _MANY_MIN_VERSION:
        return OffsetFetchResponse(groups=[_group(call, group) for group in request.groups])
    wanted = None
    if request.topics is not None:
        wanted = [_Wanted(topic.name, NO_UUID, topic.partition_indexes) for topic in request.topics]
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponse.OffsetFetchResponseTopic(
                name=topic.name, partitions=[_old_partition(each) for each in found]
            )
            for topic, found in _topics(call, request.group_id, wanted)
        ]
    )


def _group(
    call: Call[OffsetFetchRequest], asked: OffsetFetchRequest.OffsetFetchRequestGroup
) -> OffsetFetchResponse.OffsetFetchResponseGroup:
    try:
        call.services.groups.check_fetch(asked.group_id, asked.member_id, asked.member_epoch)
    except BraidError as error:
        return OffsetFetchResponse.OffsetFetchResponseGroup(group_id=asked.group_id, error_code=group_error_code(error))
    wanted = None
    if asked.topics is not None:
        wanted = [_Wanted(topic.name, topic.topic_id, topic.partition_indexes) for topic in asked.topics]
    return OffsetFetchResponse.OffsetFetchResponseGroup(
        group_id=asked.group_id,
        topics=[
            OffsetFetchResponse.OffsetFetchResponseTopics(
                name=topic.name, topic_id=topic.topic_id, partitions=[_partition(each) for each in found]
            )
            for topic, found in _topics(call, asked.group_id, wanted)
        ],
    )


def _topics(
    call: Call[OffsetFetchRequest], group: str, wanted: list[_Wanted] | None
) -> list[tuple[_Wanted, list[_Found]]]:
    offsets = call.services.groups.offsets(group)
    if wanted is None:
        wanted = _all(call, offsets)
    return [(topic, [_find(call, group, offsets, topic, index) for index in topic.indexes]) for topic in wanted]


def _all(call: Call[OffsetFetchRequest], offsets: Mapping[int, GroupOffset]) -> list[_Wanted]:
    """Every partition that the group has an offset in."""
    found = by_topic(call.services.catalog, offsets)
    return [_Wanted(topic.name, topic.id.bytes, indexes) for topic, indexes in found]


def _find(
    call: Call[OffsetFetchRequest], group: str, offsets: Mapping[int, GroupOffset], topic: _Wanted, index: int
) -> _Found:
    by_id = call.version >= _IDS_MIN_VERSION
    try:
        found = find_topic(call.services, topic.name, topic.topic_id if by_id else NO_UUID)
        number = partition_of(found, index).number
    except UnknownTopic:
        return _Found(index, ErrorCode.UNKNOWN_TOPIC_ID if by_id else _without_offset(call))
    except BraidError:
        return _Found(index, _without_offset(call))
    if call.request.require_stable and call.services.groups.has_pending(group, number):
        return _Found(index, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    if (offset := offsets.get(number)) is None:
        return _Found(index, _without_offset(call))
    return _Found(index, ErrorCode.NONE, offset)


def _without_offset(call: Call[OffsetFetchRequest]) -> ErrorCode:
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if call.version == 0 else ErrorCode.NONE


def _old_partition(found: _Found) -> OffsetFetchResponse.OffsetFetchResponsePartition:
    return OffsetFetchResponse.OffsetFetchResponsePartition(
        partition_index=found.place,
        committed_offset=found.offset.offset,
        committed_leader_epoch=found.offset.leader_epoch,
        metadata=found.offset.metadata,
        error_code=found.error,
    )


def _partition(found: _Found) -> OffsetFetchResponse.OffsetFetchResponsePartitions:
    return OffsetFetchResponse.OffsetFetchResponsePartitions(
        partition_index=found.place,
        committed_offset=found.offset.offset,
        committed_leader_epoch=found.offset.leader_epoch,
        metadata=found.offset.metadata,
        error_code=found.error,
    )
