"""DescribeUserScramCredentials (50): without accounts nobody has credentials."""

from braidmq.core.access import Action, ResourceKind
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)

_Result = DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult


@answers(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, versions=(0, 0), action=Action.DESCRIBE, resource=ResourceKind.ACCOUNT)
def describe_user_scram_credentials(
    call: Call[DescribeUserScramCredentialsRequest],
) -> DescribeUserScramCredentialsResponse:
    return DescribeUserScramCredentialsResponse(
        error_message=None,
        results=[
            _Result(
                user=user.name,
                error_code=ErrorCode.RESOURCE_NOT_FOUND,
                error_message=f"there is no user {user.name!r} with credentials",
            )
            for user in call.request.users or ()
        ],
    )
