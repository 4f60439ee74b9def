"""Describe groups, API key 15.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class DescribeGroupsRequest(ApiMessage):
    """Versions 0 to 6."""

    API_KEY = 15
    VERSIONS = (0, 6)
    FLEXIBLE_SINCE = 5

    groups: Annotated[list[str], Wire("[]string")] = []
    include_authorized_operations: Annotated[bool, Wire("bool", "3+")] = False


class DescribeGroupsResponse(ApiMessage):
    """Versions 0 to 6."""

    API_KEY = 15
    VERSIONS = (0, 6)
    FLEXIBLE_SINCE = 5

    class DescribedGroupMember(Struct):
        member_id: Annotated[str, Wire("string")] = ""
        group_instance_id: Annotated[str | None, Wire("string", "4+", nullable="4+", ignorable=True)] = None
        client_id: Annotated[str, Wire("string")] = ""
        client_host: Annotated[str, Wire("string")] = ""
        member_metadata: Annotated[bytes, Wire("bytes")] = b""
        member_assignment: Annotated[bytes, Wire("bytes")] = b""

    class DescribedGroup(Struct):
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", "6+", nullable="6+")] = None
        group_id: Annotated[str, Wire("string")] = ""
        group_state: Annotated[str, Wire("string")] = ""
        protocol_type: Annotated[str, Wire("string")] = ""
        protocol_data: Annotated[str, Wire("string")] = ""
        members: Annotated[list[DescribeGroupsResponse.DescribedGroupMember], Wire("[]DescribedGroupMember")] = []
        authorized_operations: Annotated[int, Wire("int32", "3+")] = -2147483648

    throttle_time_ms: Annotated[int, Wire("int32", "1+", ignorable=True)] = 0
    groups: Annotated[list[DescribeGroupsResponse.DescribedGroup], Wire("[]DescribedGroup")] = []
