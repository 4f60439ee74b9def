"""DescribeCluster (60): the nodes, of which there is one, which also is the controller."""

from braidmq.core.access import Action, ResourceKind
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._permissions import CLUSTER_OPERATIONS, NOT_ASKED
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse

_BROKERS = 1
_CONTROLLERS = 2


@answers(ApiKey.DESCRIBE_CLUSTER, versions=(0, 2), action=Action.DESCRIBE, resource=ResourceKind.NODE)
def describe_cluster(call: Call[DescribeClusterRequest]) -> DescribeClusterResponse:
    if call.request.endpoint_type != _BROKERS:
        is_known = call.request.endpoint_type == _CONTROLLERS
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE if is_known else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message="this address is for clients, not for controllers",
        )
    services, address = call.services, call.client.advertised
    node = DescribeClusterResponse.DescribeClusterBroker(
        broker_id=services.node_id, host=address.host, port=address.port
    )
    return DescribeClusterResponse(
        cluster_id=services.cluster_id,
        controller_id=services.node_id,
        brokers=[node],
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if call.request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )
