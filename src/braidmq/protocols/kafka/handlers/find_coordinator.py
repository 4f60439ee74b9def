"""FindCoordinator (10): who is in charge of a group or a transaction. This node, of all of them.

Share groups are asked for like all groups. What brokers of Kafka ask each other for to keep their state (type 2) is not
there; who asks is told INVALID_REQUEST.
Until version 3 a request asks for one key, and the answer is in the response itself.
"""

from braidmq.core.access import Action, ResourceKind
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

_KEY_TYPES = (0, 1)
"""Groups and transactions."""
_MANY_MIN_VERSION = 4

_Coordinator = FindCoordinatorResponse.Coordinator


@answers(ApiKey.FIND_COORDINATOR, versions=(0, 6), action=Action.DESCRIBE, resource=ResourceKind.GROUP)
def find_coordinator(call: Call[FindCoordinatorRequest]) -> FindCoordinatorResponse:
    request = call.request
    if call.version >= _MANY_MIN_VERSION:
        return FindCoordinatorResponse(coordinators=[_coordinator(call, key) for key in request.coordinator_keys])
    found = _coordinator(call, request.key)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message,
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _coordinator(call: Call[FindCoordinatorRequest], key: str) -> _Coordinator:
    if call.request.key_type not in _KEY_TYPES:
        return _Coordinator(
            key=key,
            node_id=-1,
            port=-1,
            error_code=ErrorCode.INVALID_REQUEST,
            error_message=f"there are no coordinators of type {call.request.key_type} here",
        )
    host, port = call.client.advertised
    return _Coordinator(key=key, node_id=call.services.node_id, host=host, port=port, error_message=None)
