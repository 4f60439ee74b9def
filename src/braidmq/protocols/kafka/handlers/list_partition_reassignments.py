"""ListPartitionReassignments (46): partitions stay where they are, so none is on its way."""

from braidmq.core.access import Action, ResourceKind
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka.codec import ApiKey
from braidmq.protocols.kafka.codec.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)


@answers(ApiKey.LIST_PARTITION_REASSIGNMENTS, versions=(0, 0), action=Action.DESCRIBE, resource=ResourceKind.NODE)
def list_partition_reassignments(
    _: Call[ListPartitionReassignmentsRequest],
) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(error_message=None)
