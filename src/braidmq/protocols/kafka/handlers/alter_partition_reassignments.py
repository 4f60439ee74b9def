"""AlterPartitionReassignments (45): a partition can be told to be where it is, and nowhere else."""

from braidmq.core.access import Action, ResourceKind
from braidmq.model import BraidError
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._partitions import find_own_topic, partition_of
from braidmq.protocols.kafka._replicas import check_replicas
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)

_Asked = AlterPartitionReassignmentsRequest.ReassignablePartition
_Result = AlterPartitionReassignmentsResponse.ReassignablePartitionResponse


@answers(ApiKey.ALTER_PARTITION_REASSIGNMENTS, versions=(0, 1), action=Action.CHANGE, resource=ResourceKind.NODE)
def alter_partition_reassignments(
    call: Call[AlterPartitionReassignmentsRequest],
) -> AlterPartitionReassignmentsResponse:
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=call.request.allow_replication_factor_change,
        error_message=None,
        responses=[
            AlterPartitionReassignmentsResponse.ReassignableTopicResponse(
                name=topic.name, partitions=[_reassign(call, topic.name, asked) for asked in topic.partitions]
            )
            for topic in call.request.topics
        ],
    )


def _reassign(call: Call[AlterPartitionReassignmentsRequest], name: str, asked: _Asked) -> _Result:
    index = asked.partition_index
    try:
        partition_of(find_own_topic(call.services, name), index)
        if asked.replicas is None:
            message = "the partition is not on its way anywhere"
            return _Result(
                partition_index=index, error_code=ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, error_message=message
            )
        check_replicas(call.services, asked.replicas)
    except BraidError as error:
        return _Result(partition_index=index, error_code=error_code(error), error_message=error.message)
    return _Result(partition_index=index, error_message=None)
