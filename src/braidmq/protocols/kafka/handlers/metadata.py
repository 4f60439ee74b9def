"""Metadata (3): which topics there are, and where. This node leads every partition.

A topic that is not there is made when the client allows it (always, before version 4) and the settings do; it is ready
for messages when the answer leaves. Names that cannot be are answered with INVALID_TOPIC_EXCEPTION. An empty list means
all topics in version 0, none later; null means all. The name of a filter (see `_filtered_names`) has the partitions of
its topic and no id, so that clients go on to ask by that name.
"""

from collections.abc import Awaitable
from uuid import UUID

from braidmq.core.access import Action, ResourceKind
from braidmq.model import DEFAULT_INSTANCE, BraidError, Topic
from braidmq.model.errors import UnknownTopic
from braidmq.model.names import LITE_TOPIC_PREFIX, is_internal
from braidmq.model.topic_settings import ARCHIVE, NOT_ARCHIVED
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import error_code
from braidmq.protocols.kafka._filtered_names import read_filtered_name
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._partitions import find_described
from braidmq.protocols.kafka._permissions import CLUSTER_OPERATIONS, NOT_ASKED, TOPIC_OPERATIONS
from braidmq.protocols.kafka._services import LEADER_EPOCH, KafkaServices
from braidmq.protocols.kafka.codec import NO_UUID, ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.metadata import MetadataRequest, MetadataResponse

_IDS_MIN_VERSION = 12

_Topic = MetadataResponse.MetadataResponseTopic


@answers(ApiKey.METADATA, versions=(0, 13), action=Action.DESCRIBE, resource=ResourceKind.TOPIC)
def metadata(call: Call[MetadataRequest]) -> MetadataResponse | Awaitable[MetadataResponse]:
    asked = call.request.topics
    if asked is None or (not asked and call.version == 0):
        topics = [_describe(call, topic) for topic in call.services.catalog.topics() if is_shown(call.services, topic)]
        return _response(call, topics)
    answered = [_look_up(call, topic) for topic in asked]
    if any(each is None for each in answered):
        return _with_new_topics(call, answered)
    return _response(call, [each for each in answered if each is not None])


def is_shown(services: KafkaServices, topic: Topic) -> bool:
    """To clients that ask for all. Those behind lite topics may be thousands, and are found by their names; only the
    archive has to find out about them, and about those that are archived."""
    if not topic.name.startswith(LITE_TOPIC_PREFIX):
        return topic.instance == DEFAULT_INSTANCE
    return ARCHIVE.read({**services.topics.defaults, **topic.settings}) != NOT_ARCHIVED


def _look_up(call: Call[MetadataRequest], asked: MetadataRequest.MetadataRequestTopic) -> _Topic | None:
    """The answer, or None for a topic that has to be made first."""
    catalog = call.services.catalog
    if asked.topic_id != NO_UUID and asked.name is None:
        topic = catalog.topic_by_id(UUID(bytes=asked.topic_id)) if call.version >= _IDS_MIN_VERSION else None
        if topic is None or topic.deleting:
            return _Topic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=asked.topic_id)
        return _describe(call, topic)
    name = asked.name or ""
    try:
        source = find_described(call.services, name)
    except UnknownTopic as error:
        may_create = call.services.topics.auto_create and call.request.allow_auto_topic_creation
        if may_create and read_filtered_name(name) is None:
            return None
        return _Topic(error_code=error_code(error), name=name)
    except BraidError as error:
        return _Topic(error_code=error_code(error), name=name)
    described = _describe(call, source.topic)
    if source.chosen is not None:
        described.name, described.topic_id = name, NO_UUID
    return described


async def _with_new_topics(call: Call[MetadataRequest], answered: list[_Topic | None]) -> MetadataResponse:
    topics = []
    for asked, answer in zip(call.request.topics or (), answered, strict=True):
        topics.append(answer if answer is not None else await _create(call, asked.name or ""))
    return _response(call, topics)


async def _create(call: Call[MetadataRequest], name: str) -> _Topic:
    try:
        return _describe(call, await call.services.topics.ensure(name))
    except UnknownTopic:
        return _Topic(error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name=name)
    except BraidError as error:
        return _Topic(error_code=error_code(error), name=name)


def _response(call: Call[MetadataRequest], topics: list[_Topic]) -> MetadataResponse:
    services, client = call.services, call.client
    broker = MetadataResponse.MetadataResponseBroker(
        node_id=services.node_id, host=client.advertised.host, port=client.advertised.port
    )
    return MetadataResponse(
        brokers=[broker],
        cluster_id=services.cluster_id,
        controller_id=services.node_id,
        topics=topics,
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if call.request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )


def _describe(call: Call[MetadataRequest], topic: Topic) -> _Topic:
    return _Topic(
        name=topic.name,
        topic_id=topic.id.bytes,
        is_internal=is_internal(topic.name),
        partitions=[_partition(call.services, index) for index in range(len(topic.partition_numbers))],
        topic_authorized_operations=(
            TOPIC_OPERATIONS if call.request.include_topic_authorized_operations else NOT_ASKED
        ),
    )


def _partition(services: KafkaServices, index: int) -> MetadataResponse.MetadataResponsePartition:
    return MetadataResponse.MetadataResponsePartition(
        partition_index=index,
        leader_id=services.node_id,
        leader_epoch=LEADER_EPOCH,
        replica_nodes=[services.node_id],
        isr_nodes=[services.node_id],
    )
