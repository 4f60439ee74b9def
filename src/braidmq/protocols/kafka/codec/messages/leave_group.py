"""Leave group, API key 13.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class LeaveGroupRequest(ApiMessage):
    """Versions 0 to 5."""

    API_KEY = 13
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 4

    class MemberIdentity(Struct):
        member_id: Annotated[str, Wire("string", "3+")] = ""
        group_instance_id: Annotated[str | None, Wire("string", "3+", nullable="3+")] = None
        reason: Annotated[str | None, Wire("string", "5+", nullable="5+", ignorable=True)] = None

    group_id: Annotated[str, Wire("string")] = ""
    member_id: Annotated[str, Wire("string", "0-2")] = ""
    members: Annotated[list[LeaveGroupRequest.MemberIdentity], Wire("[]MemberIdentity", "3+")] = []


class LeaveGroupResponse(ApiMessage):
    """Versions 0 to 5."""

    API_KEY = 13
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 4

    class MemberResponse(Struct):
        member_id: Annotated[str, Wire("string", "3+")] = ""
        group_instance_id: Annotated[str | None, Wire("string", "3+", nullable="3+")] = ""
        error_code: Annotated[int, Wire("int16", "3+")] = 0

    throttle_time_ms: Annotated[int, Wire("int32", "1+", ignorable=True)] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    members: Annotated[list[LeaveGroupResponse.MemberResponse], Wire("[]MemberResponse", "3+")] = []
