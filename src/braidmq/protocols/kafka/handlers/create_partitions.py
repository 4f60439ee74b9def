"""CreatePartitions (37): more partitions for topics. A topic never has fewer.

The count is what the topic has afterwards. Messages with a key go to other partitions than before, as on Kafka.
"""

from collections import Counter

from braidmq.core.access import Action, ResourceKind
from braidmq.model import BraidError
from braidmq.model.errors import InvalidAssignment
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._changed_partitions import ChangedPartitions
from braidmq.protocols.kafka._deadline import finished_within
from braidmq.protocols.kafka._errors import error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._partitions import find_own_topic
from braidmq.protocols.kafka._replicas import check_replicas
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse

_REFUSED_MIN_VERSION = 3

_Asked = CreatePartitionsRequest.CreatePartitionsTopic
_Result = CreatePartitionsResponse.CreatePartitionsTopicResult


@answers(ApiKey.CREATE_PARTITIONS, versions=(0, 3), action=Action.CHANGE, resource=ResourceKind.TOPIC)
async def create_partitions(call: Call[CreatePartitionsRequest]) -> CreatePartitionsResponse:
    asked = call.request.topics
    repeated = {name for name, count in Counter(topic.name for topic in asked).items() if count > 1}
    wanted = [topic for topic in asked if topic.name not in repeated]
    changed = ChangedPartitions(call, strict_since=_REFUSED_MIN_VERSION)
    results = await finished_within(call.request.timeout_ms, [_expand(call, topic, changed) for topic in wanted])
    refused = [_failed(name, ErrorCode.INVALID_REQUEST, "Duplicate topic name.") for name in sorted(repeated)]
    done = [
        result or _failed(topic.name, ErrorCode.REQUEST_TIMED_OUT, "the partitions are still being made")
        for topic, result in zip(wanted, results, strict=True)
    ]
    return CreatePartitionsResponse(throttle_time_ms=changed.wait_ms, results=[*refused, *done])


async def _expand(call: Call[CreatePartitionsRequest], asked: _Asked, changed: ChangedPartitions) -> _Result:
    topics = call.services.topics
    try:
        topic = find_own_topic(call.services, asked.name)
        topics.check_expansion(topic, asked.count)
        _check_assignments(call, asked, asked.count - len(topic.partition_numbers))
        if not call.request.validate_only:
            changed.take(asked.count - len(topic.partition_numbers))
            await topics.expand(topic, asked.count)
    except BraidError as error:
        return _failed(asked.name, error_code(error), error.message)
    return _Result(name=asked.name)


def _check_assignments(call: Call[CreatePartitionsRequest], asked: _Asked, added: int) -> None:
    """Raises InvalidAssignment."""
    if asked.assignments is None:
        return
    if len(asked.assignments) != added:
        raise InvalidAssignment(
            f"the topic gets {added} new partitions, and replicas are assigned for {len(asked.assignments)}"
        )
    for assignment in asked.assignments:
        check_replicas(call.services, assignment.broker_ids)


def _failed(name: str, error: ErrorCode, message: str) -> _Result:
    return _Result(name=name, error_code=error, error_message=message)
