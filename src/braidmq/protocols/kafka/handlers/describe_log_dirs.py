"""DescribeLogDirs (35): the one folder of this node's log, its room, and how much each partition takes of it.

Sizes are of messages as they are kept; the journal, which all partitions share, is not among them.
"""

from collections.abc import Iterator

from braidmq.core.access import Action, ResourceKind
from braidmq.model import DEFAULT_INSTANCE, BraidError, Topic
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._partitions import find_own_topic
from braidmq.protocols.kafka.codec import ApiKey
from braidmq.protocols.kafka.codec.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse

_Partition = DescribeLogDirsResponse.DescribeLogDirsPartition
_Topic = DescribeLogDirsResponse.DescribeLogDirsTopic


@answers(ApiKey.DESCRIBE_LOG_DIRS, versions=(1, 4), action=Action.DESCRIBE, resource=ResourceKind.NODE)
async def describe_log_dirs(call: Call[DescribeLogDirsRequest]) -> DescribeLogDirsResponse:
    room = await call.services.log.room()
    topics = [_sizes(call, topic, indexes) for topic, indexes in _wanted(call)]
    folder = DescribeLogDirsResponse.DescribeLogDirsResult(
        log_dir=call.services.facts.log_folder,
        topics=[topic for topic in topics if topic.partitions],
        total_bytes=room.total_bytes,
        usable_bytes=room.free_bytes,
    )
    return DescribeLogDirsResponse(results=[folder])


def _wanted(call: Call[DescribeLogDirsRequest]) -> Iterator[tuple[Topic, list[int]]]:
    """What is not there is left out, as it is on no folder."""
    asked = call.request.topics
    if asked is None:
        for topic in call.services.catalog.topics():
            if topic.instance == DEFAULT_INSTANCE:
                yield topic, list(range(len(topic.partition_numbers)))
        return
    for each in asked:
        try:
            yield find_own_topic(call.services, each.topic), each.partitions
        except BraidError:
            continue


def _sizes(call: Call[DescribeLogDirsRequest], topic: Topic, indexes: list[int]) -> _Topic:
    partitions = []
    for index in indexes:
        if 0 <= index < len(topic.partition_numbers):
            try:
                size_bytes = call.services.log.size_bytes(topic.partition_numbers[index])
            except BraidError:  # the topic is just being made or deleted: nothing of it is in the folder
                continue
            partitions.append(_Partition(partition_index=index, partition_size=size_bytes))
    return _Topic(name=topic.name, partitions=partitions)
