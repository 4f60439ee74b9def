"""AlterUserScramCredentials (51): what users are to prove their passwords by. Nobody is asked for it yet.

As on Kafka, a user may be named once in a request, whatever the mechanism, and each is changed for himself.
"""

from collections import Counter

from braidmq.core.access import Action, ResourceKind
from braidmq.core.credentials import scram_credential
from braidmq.model import BraidError
from braidmq.model.errors import InvalidCredential
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._scram import mechanism_of
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)

_Deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion
_Upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion
_Result = AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult
_TWICE = "A user credential cannot be altered twice in the same request"


@answers(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, versions=(0, 0), action=Action.CHANGE, resource=ResourceKind.ACCOUNT)
async def alter_user_scram_credentials(
    call: Call[AlterUserScramCredentialsRequest],
) -> AlterUserScramCredentialsResponse:
    alterations: list[_Deletion | _Upsertion] = [*call.request.deletions, *call.request.upsertions]
    times = Counter(each.name for each in alterations)
    results = {}
    for each in alterations:
        if times[each.name] > 1:
            results[each.name] = _Result(user=each.name, error_code=ErrorCode.DUPLICATE_RESOURCE, error_message=_TWICE)
        else:
            results[each.name] = await _alter(call, each)
    return AlterUserScramCredentialsResponse(results=list(results.values()))


async def _alter(call: Call[AlterUserScramCredentialsRequest], asked: _Deletion | _Upsertion) -> _Result:
    credentials = call.services.credentials
    try:
        if not asked.name:
            raise InvalidCredential("Username must not be empty")
        mechanism = mechanism_of(asked.mechanism)
        if isinstance(asked, _Deletion):
            await credentials.revise(asked.name, delete=[mechanism])
        else:
            salt, salted_password = bytes(asked.salt), bytes(asked.salted_password)
            made = scram_credential(asked.name, mechanism, asked.iterations, salt, salted_password)
            await credentials.revise(asked.name, put=[made])
    except BraidError as error:
        return _Result(user=asked.name, error_code=error_code(error), error_message=error.message)
    return _Result(user=asked.name, error_message=None)
