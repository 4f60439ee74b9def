"""DeleteAcls (31): refused while there are no accounts that a permission could be taken from."""

from braidmq.core.access import Action, ResourceKind
from braidmq.protocols.kafka._accounts import NO_ACCOUNTS
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse


@answers(ApiKey.DELETE_ACLS, versions=(0, 3), action=Action.CHANGE, resource=ResourceKind.ACCOUNT)
def delete_acls(call: Call[DeleteAclsRequest]) -> DeleteAclsResponse:
    refused = DeleteAclsResponse.DeleteAclsFilterResult(
        error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_ACCOUNTS
    )
    return DeleteAclsResponse(filter_results=[refused] * len(call.request.filters))
