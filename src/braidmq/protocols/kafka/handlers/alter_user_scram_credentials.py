"""AlterUserScramCredentials (51): refused while there are no accounts that could have credentials."""

from braidmq.core.access import Action, ResourceKind
from braidmq.protocols.kafka._accounts import NO_ACCOUNTS
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)

_Result = AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult


@answers(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, versions=(0, 0), action=Action.CHANGE, resource=ResourceKind.ACCOUNT)
def alter_user_scram_credentials(
    call: Call[AlterUserScramCredentialsRequest],
) -> AlterUserScramCredentialsResponse:
    names = [each.name for each in call.request.deletions] + [each.name for each in call.request.upsertions]
    return AlterUserScramCredentialsResponse(
        results=[
            _Result(user=user, error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_ACCOUNTS)
            for user in dict.fromkeys(names)
        ]
    )
