"""ApiVersions (18): what this node can be asked.

Answers any version, because clients ask before they know: a version we do not have gets an answer of version 0 with
error 35 and our ranges. The response's header never has tagged fields. Produce and Fetch are offered from version 0:
some clients turn compression on only where they see old versions. Features tell newer clients which of several ways to
use: `group.version` 1 is that groups can be assigned to by the node (KIP-848), `share.version` 1 that groups can share
partitions (KIP-932), `transaction.version` 2 that a transaction's partitions are added by writing to them, and that its
end gives the producer a new epoch.
"""

import re

from braidmq.core.access import Action, Operations, ResourceKind
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._operations import Handler, answers, operations
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

_FEATURES = {"group.version": 1, "share.version": 1, "transaction.version": 2}
_FEATURES_EPOCH = 0
"""They never change while a node lives."""
_FEATURES_FROM_ZERO_MIN_VERSION = 4
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?\Z")


@answers(ApiKey.API_VERSIONS, versions=(0, 4), action=Action.PROBE, resource=ResourceKind.NODE)
def api_versions(call: Call[ApiVersionsRequest]) -> ApiVersionsResponse:
    if call.version >= 3:
        name, version = call.request.client_software_name, call.request.client_software_version
        if not (_SOFTWARE.match(name) and _SOFTWARE.match(version)):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        call.client.software_name, call.client.software_version = name, version
    return ApiVersionsResponse(
        api_keys=_ranges(operations),
        supported_features=_supported(call.version),
        finalized_features_epoch=_FEATURES_EPOCH,
        finalized_features=[
            ApiVersionsResponse.FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            for name, level in _FEATURES.items()
        ],
    )


def _supported(version: int) -> list[ApiVersionsResponse.SupportedFeatureKey]:
    """Older clients cannot read a feature that begins at 0."""
    lowest = 0 if version >= _FEATURES_FROM_ZERO_MIN_VERSION else 1
    return [
        ApiVersionsResponse.SupportedFeatureKey(name=name, min_version=lowest, max_version=level)
        for name, level in _FEATURES.items()
    ]


def unsupported_version(operations: Operations[int, Handler]) -> ApiVersionsResponse:
    """To a client that asked in a version from the future; always sent as version 0."""
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=_ranges(operations))


def _ranges(operations: Operations[int, Handler]) -> list[ApiVersionsResponse.ApiVersion]:
    return [
        ApiVersionsResponse.ApiVersion(
            api_key=operation.key, min_version=operation.handler.versions[0], max_version=operation.handler.versions[1]
        )
        for operation in sorted(operations, key=lambda operation: operation.key)
    ]
