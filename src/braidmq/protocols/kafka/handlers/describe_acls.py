"""DescribeAcls (29): without accounts there are no permissions to show, which is what SECURITY_DISABLED says."""

from braidmq.core.access import Action, ResourceKind
from braidmq.protocols.kafka._accounts import NO_ACCOUNTS
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse


@answers(ApiKey.DESCRIBE_ACLS, versions=(0, 3), action=Action.DESCRIBE, resource=ResourceKind.ACCOUNT)
def describe_acls(_: Call[DescribeAclsRequest]) -> DescribeAclsResponse:
    return DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_ACCOUNTS)
