"""DescribeClientQuotas (48): this node sets no limits for clients, so there is nothing to show."""

from braidmq.core.access import Action, ResourceKind
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka.codec import ApiKey
from braidmq.protocols.kafka.codec.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)


@answers(ApiKey.DESCRIBE_CLIENT_QUOTAS, versions=(0, 1), action=Action.DESCRIBE, resource=ResourceKind.ACCOUNT)
def describe_client_quotas(_: Call[DescribeClientQuotasRequest]) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(error_message=None)
