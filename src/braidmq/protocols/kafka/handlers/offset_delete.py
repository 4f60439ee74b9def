"""OffsetDelete (47): forget how far a group has come in partitions whose topics its members do not read."""

from braidmq.core.access import Action, ResourceKind
from braidmq.model import BraidError
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import group_error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._partitions import find_partition
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse

_Partition = OffsetDeleteResponse.OffsetDeleteResponsePartition


@answers(ApiKey.OFFSET_DELETE, versions=(0, 0), action=Action.DELETE, resource=ResourceKind.GROUP)
async def offset_delete(call: Call[OffsetDeleteRequest]) -> OffsetDeleteResponse:
    request = call.request
    places = [
        [_number(call, topic.name, each.partition_index) for each in topic.partitions] for topic in request.topics
    ]
    numbers = [number for topic in places for number in topic if number is not None]
    try:
        fates = await call.services.groups.delete_offsets(request.group_id, numbers)
    except BraidError as error:
        return OffsetDeleteResponse(error_code=group_error_code(error))
    return OffsetDeleteResponse(
        topics=[
            OffsetDeleteResponse.OffsetDeleteResponseTopic(
                name=topic.name,
                partitions=[
                    _Partition(partition_index=each.partition_index, error_code=_code(number, fates))
                    for each, number in zip(topic.partitions, found, strict=True)
                ],
            )
            for topic, found in zip(request.topics, places, strict=True)
        ]
    )


def _number(call: Call[OffsetDeleteRequest], topic: str, index: int) -> int | None:
    try:
        return find_partition(call.services, topic, index).number
    except BraidError:
        return None


def _code(number: int | None, fates: dict[int, BraidError | None]) -> ErrorCode:
    if number is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    fate = fates[number]
    return ErrorCode.NONE if fate is None else group_error_code(fate)
