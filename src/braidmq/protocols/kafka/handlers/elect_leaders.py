"""ElectLeaders (43): this node leads every partition, so there never is anything to elect.

Who asks for all partitions is told of those whose leader changed: none.
"""

from braidmq.core.access import Action, ResourceKind
from braidmq.model import BraidError
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._partitions import find_own_topic, partition_of
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse

_ELECTIONS = (0, 1)
"""Of the preferred leader, or of any."""

_Partition = ElectLeadersResponse.PartitionResult


@answers(ApiKey.ELECT_LEADERS, versions=(0, 2), action=Action.CHANGE, resource=ResourceKind.NODE)
def elect_leaders(call: Call[ElectLeadersRequest]) -> ElectLeadersResponse:
    if call.request.election_type not in _ELECTIONS:
        return ElectLeadersResponse(error_code=ErrorCode.INVALID_REQUEST)
    return ElectLeadersResponse(
        replica_election_results=[
            ElectLeadersResponse.ReplicaElectionResult(
                topic=asked.topic, partition_result=[_elect(call, asked.topic, index) for index in asked.partitions]
            )
            for asked in call.request.topic_partitions or ()
        ]
    )


def _elect(call: Call[ElectLeadersRequest], topic: str, index: int) -> _Partition:
    try:
        partition_of(find_own_topic(call.services, topic), index)
    except BraidError as error:
        return _Partition(partition_id=index, error_code=error_code(error), error_message=error.message)
    message = "this node leads the partition already"
    return _Partition(partition_id=index, error_code=ErrorCode.ELECTION_NOT_NEEDED, error_message=message)
