"""Join group, API key 11.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class JoinGroupRequest(ApiMessage):
    """Versions 0 to 9."""

    API_KEY = 11
    VERSIONS = (0, 9)
    FLEXIBLE_SINCE = 6

    class JoinGroupRequestProtocol(Struct):
        name: Annotated[str, Wire("string")] = ""
        metadata: Annotated[bytes, Wire("bytes")] = b""

    group_id: Annotated[str, Wire("string")] = ""
    session_timeout_ms: Annotated[int, Wire("int32")] = 0
    rebalance_timeout_ms: Annotated[int, Wire("int32", "1+", ignorable=True)] = -1
    member_id: Annotated[str, Wire("string")] = ""
    group_instance_id: Annotated[str | None, Wire("string", "5+", nullable="5+")] = None
    protocol_type: Annotated[str, Wire("string")] = ""
    protocols: Annotated[list[JoinGroupRequest.JoinGroupRequestProtocol], Wire("[]JoinGroupRequestProtocol")] = []
    reason: Annotated[str | None, Wire("string", "8+", nullable="8+", ignorable=True)] = None


class JoinGroupResponse(ApiMessage):
    """Versions 0 to 9."""

    API_KEY = 11
    VERSIONS = (0, 9)
    FLEXIBLE_SINCE = 6

    class JoinGroupResponseMember(Struct):
        member_id: Annotated[str, Wire("string")] = ""
        group_instance_id: Annotated[str | None, Wire("string", "5+", nullable="5+", ignorable=True)] = None
        metadata: Annotated[bytes, Wire("bytes")] = b""

    throttle_time_ms: Annotated[int, Wire("int32", "2+", ignorable=True)] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    generation_id: Annotated[int, Wire("int32")] = -1
    protocol_type: Annotated[str | None, Wire("string", "7+", nullable="7+", ignorable=True)] = None
    protocol_name: Annotated[str | None, Wire("string", nullable="7+")] = ""
    leader: Annotated[str, Wire("string")] = ""
    skip_assignment: Annotated[bool, Wire("bool", "9+")] = False
    member_id: Annotated[str, Wire("string")] = ""
    members: Annotated[list[JoinGroupResponse.JoinGroupResponseMember], Wire("[]JoinGroupResponseMember")] = []
