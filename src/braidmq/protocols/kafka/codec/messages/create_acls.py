"""Create acls, API key 30.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class CreateAclsRequest(ApiMessage):
    """Versions 0 to 3."""

    API_KEY = 30
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    class AclCreation(Struct):
        resource_type: Annotated[int, Wire("int8")] = 0
        resource_name: Annotated[str, Wire("string")] = ""
        resource_pattern_type: Annotated[int, Wire("int8", "1+")] = 3
        principal: Annotated[str, Wire("string")] = ""
        host: Annotated[str, Wire("string")] = ""
        operation: Annotated[int, Wire("int8")] = 0
        permission_type: Annotated[int, Wire("int8")] = 0

    creations: Annotated[list[CreateAclsRequest.AclCreation], Wire("[]AclCreation")] = []


class CreateAclsResponse(ApiMessage):
    """Versions 0 to 3."""

    API_KEY = 30
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    class AclCreationResult(Struct):
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", nullable="0+")] = ""

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    results: Annotated[list[CreateAclsResponse.AclCreationResult], Wire("[]AclCreationResult")] = []
