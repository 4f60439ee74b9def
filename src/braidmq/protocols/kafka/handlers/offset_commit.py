"""OffsetCommit (8): how far a group has come.

Version 0, which Kafka kept in ZooKeeper, knows no members; like every commit without a generation it is taken while the
group has none. Version 1 brings the time of the commit. The retention that versions 2 to 4 may ask for is not kept: the
settings decide for all. Version 10 names topics by id. A group that is not there is ILLEGAL_GENERATION to a member
before version 9, GROUP_ID_NOT_FOUND from then on.
"""

from braidmq.core.access import Action, ResourceKind
from braidmq.core.groups import GroupKind, GroupState, MemberIdentity, check_metadata
from braidmq.log import GroupOffset
from braidmq.model import BraidError
from braidmq.model.errors import UnknownGroup, UnknownTopic
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import group_error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._partitions import find_topic, partition_of
from braidmq.protocols.kafka.codec import NO_UUID, ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse

_UNKNOWN_GROUP_MIN_VERSION = 9
_EPOCHS_MIN_VERSION = 9

_Topic = OffsetCommitRequest.OffsetCommitRequestTopic
_Partition = OffsetCommitRequest.OffsetCommitRequestPartition


@answers(ApiKey.OFFSET_COMMIT, versions=(0, 10), action=Action.CONSUME, resource=ResourceKind.GROUP)
async def offset_commit(call: Call[OffsetCommitRequest]) -> OffsetCommitResponse:
    request = call.request
    offsets: dict[int, GroupOffset] = {}
    member = MemberIdentity(request.member_id, request.generation_id_or_member_epoch, request.group_instance_id)
    refused = [[_check(call, topic, partition, offsets) for partition in topic.partitions] for topic in request.topics]
    accepted = ErrorCode.NONE
    if offsets and _is_too_old(call):
        accepted = ErrorCode.UNSUPPORTED_VERSION
    elif offsets:
        try:
            await call.services.groups.commit(request.group_id, member, offsets)
        except BraidError as error:
            accepted = _group_code(call, error)
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponse.OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponse.OffsetCommitResponsePartition(
                        partition_index=partition.partition_index, error_code=accepted if code is None else code
                    )
                    for partition, code in zip(topic.partitions, codes, strict=True)
                ],
            )
            for topic, codes in zip(request.topics, refused, strict=True)
        ]
    )


def _check(
    call: Call[OffsetCommitRequest], topic: _Topic, asked: _Partition, offsets: dict[int, GroupOffset]
) -> ErrorCode | None:
    """Add the partition to what is to be committed, or say why not."""
    try:
        number = partition_of(find_topic(call.services, topic.name, topic.topic_id), asked.partition_index).number
        metadata = asked.committed_metadata or ""
        check_metadata(metadata)
    except UnknownTopic as error:
        return ErrorCode.UNKNOWN_TOPIC_ID if topic.topic_id != NO_UUID else group_error_code(error)
    except BraidError as error:
        return group_error_code(error)
    offsets[number] = GroupOffset(
        asked.committed_offset, metadata, asked.committed_leader_epoch, max(asked.commit_timestamp, -1)
    )
    return None


def _is_too_old(call: Call[OffsetCommitRequest]) -> bool:
    """Members that we assign to speak of epochs, which older versions do not know."""
    if call.version >= _EPOCHS_MIN_VERSION or call.request.generation_id_or_member_epoch < 0:
        return False
    view = call.services.groups.find(call.request.group_id)
    return view is not None and view.kind is GroupKind.CONSUMER and view.state is not GroupState.EMPTY


def _group_code(call: Call[OffsetCommitRequest], error: BraidError) -> ErrorCode:
    if isinstance(error, UnknownGroup) and call.version < _UNKNOWN_GROUP_MIN_VERSION:
        return ErrorCode.ILLEGAL_GENERATION
    return group_error_code(error)
