"""DescribeProducers (61): which producers a partition knows, and where their open transactions began."""

from braidmq.core.access import Action, ResourceKind
from braidmq.log import ProducerState
from braidmq.model import BraidError
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._partitions import find_partition
from braidmq.protocols.kafka.codec import ApiKey
from braidmq.protocols.kafka.codec.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
)

_COORDINATOR_EPOCH = 0
"""There is one coordinator for ever, so there is only its first epoch."""

_Partition = DescribeProducersResponse.PartitionResponse


@answers(ApiKey.DESCRIBE_PRODUCERS, versions=(0, 0), action=Action.DESCRIBE, resource=ResourceKind.TOPIC)
def describe_producers(call: Call[DescribeProducersRequest]) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            DescribeProducersResponse.TopicResponse(
                name=topic.name, partitions=[_partition(call, topic.name, index) for index in topic.partition_indexes]
            )
            for topic in call.request.topics
        ]
    )


def _partition(call: Call[DescribeProducersRequest], topic: str, index: int) -> _Partition:
    try:
        producers = call.services.log.producers(find_partition(call.services, topic, index).number)
    except BraidError as error:
        return _Partition(partition_index=index, error_code=error_code(error), error_message=error.message)
    return _Partition(partition_index=index, active_producers=[_producer(producer) for producer in producers])


def _producer(producer: ProducerState) -> DescribeProducersResponse.ProducerState:
    return DescribeProducersResponse.ProducerState(
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        last_sequence=producer.last_sequence,
        last_timestamp=producer.seen_ms,
        coordinator_epoch=_COORDINATOR_EPOCH,
        current_txn_start_offset=producer.transaction_offset,
    )
