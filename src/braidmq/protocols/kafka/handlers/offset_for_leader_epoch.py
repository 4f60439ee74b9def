"""OffsetForLeaderEpoch (23): where an epoch of a partition's leader ended, for clients that check whether what they
have read was lost in a change of leaders.

There is only one epoch here, and it ends where the partition does. Consumers of versions from 3 on are answered with
what readers see.
"""

from braidmq.core.access import Action, ResourceKind
from braidmq.model import BraidError
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._partitions import find_partition, stale_epoch
from braidmq.protocols.kafka._services import LEADER_EPOCH
from braidmq.protocols.kafka.codec import ApiKey
from braidmq.protocols.kafka.codec.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)

_End = OffsetForLeaderEpochResponse.EpochEndOffset


@answers(ApiKey.OFFSET_FOR_LEADER_EPOCH, versions=(2, 4), action=Action.DESCRIBE, resource=ResourceKind.TOPIC)
def offset_for_leader_epoch(call: Call[OffsetForLeaderEpochRequest]) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult(
                topic=topic.topic, partitions=[_end(call, topic.topic, asked) for asked in topic.partitions]
            )
            for topic in call.request.topics
        ]
    )


def _end(
    call: Call[OffsetForLeaderEpochRequest], topic: str, asked: OffsetForLeaderEpochRequest.OffsetForLeaderPartition
) -> _End:
    try:
        number = find_partition(call.services, topic, asked.partition).number
        if (stale := stale_epoch(asked.current_leader_epoch)) is not None:
            return _End(partition=asked.partition, error_code=stale)
        bounds = call.services.log.bounds(number)
    except BraidError as error:
        return _End(partition=asked.partition, error_code=error_code(error))
    if asked.leader_epoch != LEADER_EPOCH:
        return _End(partition=asked.partition)
    return _End(partition=asked.partition, leader_epoch=LEADER_EPOCH, end_offset=bounds.end)
