"""SaslHandshake (17): without accounts nobody logs in, and no mechanism is offered.

Answered as Kafka answers on a listener without SASL, so that a client that wants to log in says what is wrong.
"""

from braidmq.core.access import Action, ResourceKind
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse


@answers(ApiKey.SASL_HANDSHAKE, versions=(0, 1), action=Action.PROBE, resource=ResourceKind.NODE)
def sasl_handshake(_: Call[SaslHandshakeRequest]) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
