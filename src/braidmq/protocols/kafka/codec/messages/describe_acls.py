"""Describe acls, API key 29.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class DescribeAclsRequest(ApiMessage):
    """Versions 0 to 3."""

    API_KEY = 29
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    resource_type_filter: Annotated[int, Wire("int8")] = 0
    resource_name_filter: Annotated[str | None, Wire("string", nullable="0+")] = ""
    pattern_type_filter: Annotated[int, Wire("int8", "1+")] = 3
    principal_filter: Annotated[str | None, Wire("string", nullable="0+")] = ""
    host_filter: Annotated[str | None, Wire("string", nullable="0+")] = ""
    operation: Annotated[int, Wire("int8")] = 0
    permission_type: Annotated[int, Wire("int8")] = 0


class DescribeAclsResponse(ApiMessage):
    """Versions 0 to 3."""

    API_KEY = 29
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    class AclDescription(Struct):
        principal: Annotated[str, Wire("string")] = ""
        host: Annotated[str, Wire("string")] = ""
        operation: Annotated[int, Wire("int8")] = 0
        permission_type: Annotated[int, Wire("int8")] = 0

    class DescribeAclsResource(Struct):
        resource_type: Annotated[int, Wire("int8")] = 0
        resource_name: Annotated[str, Wire("string")] = ""
        pattern_type: Annotated[int, Wire("int8", "1+")] = 3
        acls: Annotated[list[DescribeAclsResponse.AclDescription], Wire("[]AclDescription")] = []

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    error_message: Annotated[str | None, Wire("string", nullable="0+")] = ""
    resources: Annotated[list[DescribeAclsResponse.DescribeAclsResource], Wire("[]DescribeAclsResource")] = []
