"""Delete acls, API key 31.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class DeleteAclsRequest(ApiMessage):
    """Versions 0 to 3."""

    API_KEY = 31
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    class DeleteAclsFilter(Struct):
        resource_type_filter: Annotated[int, Wire("int8")] = 0
        resource_name_filter: Annotated[str | None, Wire("string", nullable="0+")] = ""
        pattern_type_filter: Annotated[int, Wire("int8", "1+")] = 3
        principal_filter: Annotated[str | None, Wire("string", nullable="0+")] = ""
        host_filter: Annotated[str | None, Wire("string", nullable="0+")] = ""
        operation: Annotated[int, Wire("int8")] = 0
        permission_type: Annotated[int, Wire("int8")] = 0

    filters: Annotated[list[DeleteAclsRequest.DeleteAclsFilter], Wire("[]DeleteAclsFilter")] = []


class DeleteAclsResponse(ApiMessage):
    """Versions 0 to 3."""

    API_KEY = 31
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    class DeleteAclsMatchingAcl(Struct):
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", nullable="0+")] = ""
        resource_type: Annotated[int, Wire("int8")] = 0
        resource_name: Annotated[str, Wire("string")] = ""
        pattern_type: Annotated[int, Wire("int8", "1+")] = 3
        principal: Annotated[str, Wire("string")] = ""
        host: Annotated[str, Wire("string")] = ""
        operation: Annotated[int, Wire("int8")] = 0
        permission_type: Annotated[int, Wire("int8")] = 0

    class DeleteAclsFilterResult(Struct):
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", nullable="0+")] = ""
        matching_acls: Annotated[list[DeleteAclsResponse.DeleteAclsMatchingAcl], Wire("[]DeleteAclsMatchingAcl")] = []

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    filter_results: Annotated[list[DeleteAclsResponse.DeleteAclsFilterResult], Wire("[]DeleteAclsFilterResult")] = []
