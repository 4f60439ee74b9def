"""CreateTopics (19): new topics, each for itself.

All of a request's topics are made at the same time, so that they share the disk's syncs. A replica assignment is taken
where it could be made true: one replica for each partition, on this node. -1 asks for the default, for partitions and
replicas. Before version 4 that was only allowed beside an assignment; it is taken in all versions. A topic that is not
ready when the client's time is over is answered with REQUEST_TIMED_OUT, and made all the same.
"""

from collections import Counter

from braidmq.core.access import Action, ResourceKind
from braidmq.model import BraidError, Topic
from braidmq.model.errors import InvalidAssignment, InvalidFilter, InvalidSetting
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._changed_partitions import ChangedPartitions
from braidmq.protocols.kafka._configs import topic_config
from braidmq.protocols.kafka._deadline import finished_within
from braidmq.protocols.kafka._errors import InvalidResource, error_code
from braidmq.protocols.kafka._filtered_names import read_filtered_name
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._replicas import DEFAULT, REPLICATION_FACTOR, check_replicas, check_replication
from braidmq.protocols.kafka._services import KafkaServices
from braidmq.protocols.kafka.codec import NO_UUID, ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse

_REFUSED_MIN_VERSION = 6

_Asked = CreateTopicsRequest.CreatableTopic
_Result = CreateTopicsResponse.CreatableTopicResult


@answers(ApiKey.CREATE_TOPICS, versions=(0, 7), action=Action.CREATE, resource=ResourceKind.TOPIC)
async def create_topics(call: Call[CreateTopicsRequest]) -> CreateTopicsResponse:
    asked = call.request.topics
    repeated = {name for name, count in Counter(topic.name for topic in asked).items() if count > 1}
    wanted = [topic for topic in asked if topic.name not in repeated]
    changed = ChangedPartitions(call, strict_since=_REFUSED_MIN_VERSION)
    results = await finished_within(call.request.timeout_ms, [_create(call, topic, changed) for topic in wanted])
    refused = [_failed(name, ErrorCode.INVALID_REQUEST, "Duplicate topic name.") for name in sorted(repeated)]
    made = [
        result or _failed(topic.name, ErrorCode.REQUEST_TIMED_OUT, "the topic is still being made")
        for topic, result in zip(wanted, results, strict=True)
    ]
    return CreateTopicsResponse(throttle_time_ms=changed.wait_ms, topics=[*refused, *made])


async def _create(call: Call[CreateTopicsRequest], asked: _Asked, changed: ChangedPartitions) -> _Result:
    topics = call.services.topics
    try:
        _check_name(asked.name)
        partitions = _partitions(call.services, asked)
        settings = _settings(asked)
        if call.request.validate_only:
            return _made(call.services, topics.plan(asked.name, partitions=partitions, settings=settings))
        if call.services.quotas.on:
            topics.plan(asked.name, partitions=partitions, settings=settings)  # what cannot be made does not count
            changed.take(partitions)
        return _made(call.services, await topics.create(asked.name, partitions=partitions, settings=settings))
    except BraidError as error:
        return _failed(asked.name, error_code(error), error.message)


def _made(services: KafkaServices, topic: Topic) -> _Result:
    return _Result(
        name=topic.name,
        topic_id=topic.id.bytes,
        error_message=None,
        num_partitions=len(topic.partition_numbers),
        replication_factor=REPLICATION_FACTOR,
        configs=[
            CreateTopicsResponse.CreatableTopicConfigs(
                name=config.name, value=config.value, config_source=config.source
            )
            for config in map(topic_config, services.topics.effective(topic))
        ],
    )


def _failed(name: str, error: ErrorCode, message: str) -> _Result:
    return _Result(name=name, topic_id=NO_UUID, error_code=error, error_message=message)


def _check_name(name: str) -> None:
    """Raises InvalidFilter."""
    if (filtered := read_filtered_name(name)) is not None:
        raise InvalidFilter(f"{name!r} is the name of a view of the topic {filtered.topic!r}, which needs not be made")


def _partitions(services: KafkaServices, asked: _Asked) -> int:
    """How many partitions the topic shall have. Raises InvalidReplication, InvalidAssignment, InvalidResource."""
    if asked.assignments:
        return _assigned_partitions(services, asked)
    check_replication(asked.replication_factor)
    return services.topics.partitions if asked.num_partitions == DEFAULT else asked.num_partitions


def _assigned_partitions(services: KafkaServices, asked: _Asked) -> int:
    if asked.replication_factor != DEFAULT or asked.num_partitions != DEFAULT:
        raise InvalidResource(
            "with an assignment of replicas, the number of partitions and the replication factor are -1"
        )
    indexes = [each.partition_index for each in asked.assignments]
    if sorted(indexes) != list(range(len(indexes))):
        raise InvalidAssignment("an assignment of replicas names every partition from 0 on, each of them once")
    for each in asked.assignments:
        check_replicas(services, each.broker_ids)
    return len(indexes)


def _settings(asked: _Asked) -> dict[str, str]:
    settings = {}
    for config in asked.configs:
        if config.value is None:
            raise InvalidSetting(f"Null value not supported for topic configs: {config.name}")
        settings[config.name] = config.value
    return settings
