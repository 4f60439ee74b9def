"""SaslAuthenticate (36): without accounts nobody logs in, as `sasl_handshake.py` says."""

from braidmq.core.access import Action, ResourceKind
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse


@answers(ApiKey.SASL_AUTHENTICATE, versions=(0, 2), action=Action.PROBE, resource=ResourceKind.NODE)
def sasl_authenticate(_: Call[SaslAuthenticateRequest]) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE, error_message="nobody logs in here: there are no accounts"
    )
