"""ApiVersions (18): what this node can be asked.

Answers any version, because clients ask before they know: a version we do not have gets an answer of version 0 with
error 35 and our ranges. The response's header never has tagged fields. Produce and Fetch are offered from version 0:
some clients turn compression on only where they see old versions.
"""

import re

from braidmq.core.access import Action, Operations, ResourceKind
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._operations import Handler, answers, operations
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?\Z")


@answers(ApiKey.API_VERSIONS, versions=(0, 4), action=Action.PROBE, resource=ResourceKind.NODE)
def api_versions(call: Call[ApiVersionsRequest]) -> ApiVersionsResponse:
    if call.version >= 3:
        name, version = call.request.client_software_name, call.request.client_software_version
        if not (_SOFTWARE.match(name) and _SOFTWARE.match(version)):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        call.client.software_name, call.client.software_version = name, version
    return ApiVersionsResponse(api_keys=_ranges(operations))


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
