"""DeleteRecords (21): forget what lies before an offset; -1 means all there is.

A topic that is only compacted cannot lose its beginning so: the last message of each key is promised to stay.
"""

import asyncio

from braidmq.core.access import Action, ResourceKind
from braidmq.core.topics import check_beginning_deletable
from braidmq.model import BraidError
from braidmq.model.errors import NotPermitted, OffsetOutOfRange
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._partitions import find_own_topic, partition_of
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse

_END = -1

_Asked = DeleteRecordsRequest.DeleteRecordsPartition
_Result = DeleteRecordsResponse.DeleteRecordsPartitionResult


@answers(ApiKey.DELETE_RECORDS, versions=(0, 2), action=Action.DELETE, resource=ResourceKind.TOPIC)
async def delete_records(call: Call[DeleteRecordsRequest]) -> DeleteRecordsResponse:
    topics = []
    for topic in call.request.topics:
        results = await asyncio.gather(*(_delete(call, topic.name, asked) for asked in topic.partitions))
        topics.append(DeleteRecordsResponse.DeleteRecordsTopicResult(name=topic.name, partitions=results))
    return DeleteRecordsResponse(topics=topics)


async def _delete(call: Call[DeleteRecordsRequest], name: str, asked: _Asked) -> _Result:
    log = call.services.log
    try:
        place = partition_of(find_own_topic(call.services, name), asked.partition_index)
        check_beginning_deletable(place.topic)
        if asked.offset < _END:
            raise OffsetOutOfRange
        before = log.bounds(place.number).end if asked.offset == _END else asked.offset
        start = await log.delete_records(place.number, before)
    except NotPermitted:
        return _failed(asked, ErrorCode.POLICY_VIOLATION)
    except BraidError as error:
        return _failed(asked, error_code(error))
    return _Result(partition_index=asked.partition_index, low_watermark=start)


def _failed(asked: _Asked, error: ErrorCode) -> _Result:
    return _Result(partition_index=asked.partition_index, low_watermark=-1, error_code=error)
