"""DescribeTopicPartitions (75): topics with their partitions, in pieces.

Topics come in the order of their names, at most as many partitions at a time as the client wants, and a cursor says
where the next piece begins. No names mean all topics.
"""

from collections.abc import Iterator

from braidmq.core.access import Action, ResourceKind
from braidmq.model import BraidError
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._partitions import Source, find_described
from braidmq.protocols.kafka._permissions import TOPIC_OPERATIONS
from braidmq.protocols.kafka._services import LEADER_EPOCH
from braidmq.protocols.kafka.codec import NO_UUID, ApiKey
from braidmq.protocols.kafka.codec.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)
from braidmq.protocols.kafka.handlers.metadata import is_shown

_PARTITIONS_MAX = 2000
"""No answer has more partitions, whatever a client asks for."""

_Topic = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
_Partition = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition


@answers(ApiKey.DESCRIBE_TOPIC_PARTITIONS, versions=(0, 0), action=Action.DESCRIBE, resource=ResourceKind.TOPIC)
def describe_topic_partitions(call: Call[DescribeTopicPartitionsRequest]) -> DescribeTopicPartitionsResponse:
    left = max(1, min(call.request.response_partition_limit, _PARTITIONS_MAX))
    topics: list[_Topic] = []
    for name, first in _wanted(call):
        if left == 0:
            return _piece(topics, name, first)
        try:
            source = find_described(call.services, name)
        except BraidError as error:
            topics.append(_Topic(error_code=error_code(error), name=name))
            continue
        count = len(source.topic.partition_numbers)
        end = min(count, first + left)
        topics.append(_describe(call, name, source, range(first, end)))
        left -= max(0, end - first)
        if end < count:
            return _piece(topics, name, end)
    return DescribeTopicPartitionsResponse(topics=topics)


def _wanted(call: Call[DescribeTopicPartitionsRequest]) -> Iterator[tuple[str, int]]:
    """The names to describe, and each one's first partition that is wanted."""
    names = {topic.name for topic in call.request.topics}
    if not names:
        names = {topic.name for topic in call.services.catalog.topics() if is_shown(call.services, topic)}
    cursor = call.request.cursor
    for name in sorted(names):
        if cursor is None or name > cursor.topic_name:
            yield name, 0
        elif name == cursor.topic_name:
            yield name, max(cursor.partition_index, 0)


def _piece(topics: list[_Topic], next_name: str, next_index: int) -> DescribeTopicPartitionsResponse:
    cursor = DescribeTopicPartitionsResponse.Cursor(topic_name=next_name, partition_index=next_index)
    return DescribeTopicPartitionsResponse(topics=topics, next_cursor=cursor)


def _describe(call: Call[DescribeTopicPartitionsRequest], name: str, source: Source, indexes: range) -> _Topic:
    return _Topic(
        name=name,
        topic_id=source.topic.id.bytes if source.chosen is None else NO_UUID,
        partitions=[_partition(call.services.node_id, index) for index in indexes],
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def _partition(node_id: int, index: int) -> _Partition:
    return _Partition(
        partition_index=index,
        leader_id=node_id,
        leader_epoch=LEADER_EPOCH,
        replica_nodes=[node_id],
        isr_nodes=[node_id],
        eligible_leader_replicas=[],
        last_known_elr=[],
    )
