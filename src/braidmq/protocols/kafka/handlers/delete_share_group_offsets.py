"""DeleteShareGroupOffsets (92): forget where a group whose members share partitions is in topics, while it has no
members. It begins there anew."""

from braidmq.core.access import Action, ResourceKind
from braidmq.model import BraidError
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import group_error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._partitions import find_own_topic
from braidmq.protocols.kafka.codec import ApiKey
from braidmq.protocols.kafka.codec.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
)

_Topic = DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic
_Call = Call[DeleteShareGroupOffsetsRequest]


@answers(ApiKey.DELETE_SHARE_GROUP_OFFSETS, versions=(0, 0), action=Action.DELETE, resource=ResourceKind.GROUP)
async def delete_share_group_offsets(call: _Call) -> DeleteShareGroupOffsetsResponse:
    try:
        call.services.groups.check_idle_share(call.request.group_id)
    except BraidError as error:
        return DeleteShareGroupOffsetsResponse(error_code=group_error_code(error), error_message=error.message)
    topics = [await _delete(call, topic.topic_name) for topic in call.request.topics]
    return DeleteShareGroupOffsetsResponse(responses=topics)


async def _delete(call: _Call, name: str) -> _Topic:
    answer = _Topic(topic_name=name)
    try:
        topic = find_own_topic(call.services, name)
        answer.topic_id = topic.id.bytes
        call.services.cursors.forget(call.request.group_id, topic.partition_numbers)
        await call.services.groups.delete_offsets(call.request.group_id, topic.partition_numbers)
    except BraidError as error:
        answer.error_code, answer.error_message = group_error_code(error), error.message
    return answer
