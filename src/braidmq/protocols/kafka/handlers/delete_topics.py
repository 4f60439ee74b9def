"""DeleteTopics (20): topics by name, or by id from version 6 on; their data goes with them.

Who waits for messages of a topic is told at once that it is gone. The name is free for a new topic before the answer
leaves.
"""

from collections import Counter

from braidmq.core.access import Action, ResourceKind
from braidmq.model import RESERVED_TOPIC_NAMES, BraidError, Topic
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._changed_partitions import ChangedPartitions
from braidmq.protocols.kafka._deadline import finished_within
from braidmq.protocols.kafka._errors import error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._partitions import find_own_topic
from braidmq.protocols.kafka.codec import NO_UUID, ApiKey, ErrorCode, Uuid
from braidmq.protocols.kafka.codec.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse

_IDS_MIN_VERSION = 6
_REFUSED_MIN_VERSION = 5

_Asked = DeleteTopicsRequest.DeleteTopicState
_Result = DeleteTopicsResponse.DeletableTopicResult


@answers(ApiKey.DELETE_TOPICS, versions=(0, 6), action=Action.DELETE, resource=ResourceKind.TOPIC)
async def delete_topics(call: Call[DeleteTopicsRequest]) -> DeleteTopicsResponse:
    request = call.request
    asked = request.topics if call.version >= _IDS_MIN_VERSION else [_Asked(name=name) for name in request.topic_names]
    found = [_find(call, each) for each in asked]
    counts = Counter(each.id for each in found if isinstance(each, Topic))
    doomed = [each for each in found if isinstance(each, Topic) and counts[each.id] == 1]
    changed = ChangedPartitions(call, strict_since=_REFUSED_MIN_VERSION)
    results = await finished_within(request.timeout_ms, [_delete(call, topic, changed) for topic in doomed])
    fates = {topic.id: result or _late(topic) for topic, result in zip(doomed, results, strict=True)}
    return DeleteTopicsResponse(
        throttle_time_ms=changed.wait_ms,
        responses=[fates.get(each.id) or _repeated(each) if isinstance(each, Topic) else each for each in found],
    )


def _find(call: Call[DeleteTopicsRequest], asked: _Asked) -> Topic | _Result:
    """The topic that is to go, or why there is none."""
    if (asked.name is None) == (asked.topic_id == NO_UUID):
        message = "a topic to delete has a name or an id, and not both"
        return _failed(asked.name, asked.topic_id, ErrorCode.INVALID_REQUEST, message)
    if asked.name in RESERVED_TOPIC_NAMES:
        message = f"the topic name {asked.name!r} is reserved"
        return _failed(asked.name, asked.topic_id, ErrorCode.INVALID_TOPIC_EXCEPTION, message)
    try:
        return find_own_topic(call.services, asked.name or "", asked.topic_id)
    except BraidError as error:
        code = error_code(error) if asked.name is not None else ErrorCode.UNKNOWN_TOPIC_ID
        return _failed(asked.name, asked.topic_id, code, error.message)


async def _delete(call: Call[DeleteTopicsRequest], topic: Topic, changed: ChangedPartitions) -> _Result:
    try:
        changed.take(len(topic.partition_numbers))
        await call.services.topics.delete(topic)
    except BraidError as error:
        return _failed(topic.name, topic.id.bytes, error_code(error), error.message)
    call.services.admissions.forget(topic)
    return _Result(name=topic.name, topic_id=topic.id.bytes)


def _late(topic: Topic) -> _Result:
    return _failed(topic.name, topic.id.bytes, ErrorCode.REQUEST_TIMED_OUT, "the topic is still being deleted")


def _repeated(topic: Topic) -> _Result:
    return _failed(topic.name, topic.id.bytes, ErrorCode.INVALID_REQUEST, "the topic is named more than once")


def _failed(name: str | None, topic_id: Uuid, error: ErrorCode, message: str) -> _Result:
    return _Result(name=name, topic_id=topic_id, error_code=error, error_message=message)
