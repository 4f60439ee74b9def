"""AlterShareGroupOffsets (91): let a group whose members share partitions go on elsewhere, while it has no members; one
that there is not yet is made, to begin there.

What the group had done behind the new offset counts no more: it is delivered again, with attempts from the first on.
"""

from braidmq.core.access import Action, ResourceKind
from braidmq.log import GroupOffset
from braidmq.model import DEFAULT_INSTANCE, BraidError
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import group_error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._partitions import find_own_topic, partition_of
from braidmq.protocols.kafka.codec import ApiKey
from braidmq.protocols.kafka.codec.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
)

_AskedTopic = AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic
_AskedPartition = AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestPartition
_Topic = AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponseTopic
_Partition = AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponsePartition
_Call = Call[AlterShareGroupOffsetsRequest]


@answers(ApiKey.ALTER_SHARE_GROUP_OFFSETS, versions=(0, 0), action=Action.CHANGE, resource=ResourceKind.GROUP)
async def alter_share_group_offsets(call: _Call) -> AlterShareGroupOffsetsResponse:
    try:
        await call.services.groups.ensure_share(call.request.group_id)
    except BraidError as error:
        return AlterShareGroupOffsetsResponse(error_code=group_error_code(error), error_message=error.message)
    return AlterShareGroupOffsetsResponse(responses=[await _topic(call, topic) for topic in call.request.topics])


async def _topic(call: _Call, asked: _AskedTopic) -> _Topic:
    answer = _Topic(
        topic_name=asked.topic_name, partitions=[await _alter(call, asked, each) for each in asked.partitions]
    )
    topic = call.services.catalog.topic(DEFAULT_INSTANCE, asked.topic_name)
    if topic is not None:
        answer.topic_id = topic.id.bytes
    return answer


async def _alter(call: _Call, topic: _AskedTopic, asked: _AskedPartition) -> _Partition:
    answer = _Partition(partition_index=asked.partition_index)
    try:
        number = partition_of(find_own_topic(call.services, topic.topic_name), asked.partition_index).number
        bounds = call.services.log.bounds(number)
        offset = min(max(asked.start_offset, bounds.start), bounds.end)
        await call.services.groups.commit(call.request.group_id, None, {number: GroupOffset(offset)}, is_progress=False)
        call.services.cursors.forget(call.request.group_id, [number])
    except BraidError as error:
        answer.error_code, answer.error_message = group_error_code(error), error.message
    return answer
