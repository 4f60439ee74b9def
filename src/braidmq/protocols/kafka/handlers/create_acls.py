"""CreateAcls (30): refused while there are no accounts that a permission could be given to."""

from braidmq.core.access import Action, ResourceKind
from braidmq.protocols.kafka._accounts import NO_ACCOUNTS
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.create_acls import CreateAclsRequest, CreateAclsResponse


@answers(ApiKey.CREATE_ACLS, versions=(0, 3), action=Action.CHANGE, resource=ResourceKind.ACCOUNT)
def create_acls(call: Call[CreateAclsRequest]) -> CreateAclsResponse:
    refused = CreateAclsResponse.AclCreationResult(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_ACCOUNTS)
    return CreateAclsResponse(results=[refused] * len(call.request.creations))
