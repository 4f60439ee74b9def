"""DescribeUserScramCredentials (50): which mechanisms users have credentials for; never what is kept of passwords."""

from collections import Counter

from braidmq.core.access import Action, ResourceKind
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._scram import NUMBERS
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)

_Result = DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult
_Credential = DescribeUserScramCredentialsResponse.CredentialInfo


@answers(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, versions=(0, 0), action=Action.DESCRIBE, resource=ResourceKind.ACCOUNT)
def describe_user_scram_credentials(
    call: Call[DescribeUserScramCredentialsRequest],
) -> DescribeUserScramCredentialsResponse:
    users = [each.name for each in call.request.users or ()] or call.services.credentials.users()
    results = [_described(call, user, times) for user, times in Counter(users).items()]
    return DescribeUserScramCredentialsResponse(error_message=None, results=results)


def _described(call: Call[DescribeUserScramCredentialsRequest], user: str, times: int) -> _Result:
    if times > 1:
        message = f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
        return _Result(user=user, error_code=ErrorCode.DUPLICATE_RESOURCE, error_message=message)
    found = call.services.credentials.of(user)
    if not found:
        message = f"Attempt to describe a user credential that does not exist: {user}"
        return _Result(user=user, error_code=ErrorCode.RESOURCE_NOT_FOUND, error_message=message)
    infos = [_Credential(mechanism=NUMBERS[each.mechanism], iterations=each.iterations) for each in found]
    return _Result(user=user, error_message=None, credential_infos=infos)
