"""Sync group, API key 14.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class SyncGroupRequest(ApiMessage):
    """Versions 0 to 5."""

    API_KEY = 14
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 4

    class SyncGroupRequestAssignment(Struct):
        member_id: Annotated[str, Wire("string")] = ""
        assignment: Annotated[bytes, Wire("bytes")] = b""

    group_id: Annotated[str, Wire("string")] = ""
    generation_id: Annotated[int, Wire("int32")] = 0
    member_id: Annotated[str, Wire("string")] = ""
    group_instance_id: Annotated[str | None, Wire("string", "3+", nullable="3+")] = None
    protocol_type: Annotated[str | None, Wire("string", "5+", nullable="5+", ignorable=True)] = None
    protocol_name: Annotated[str | None, Wire("string", "5+", nullable="5+", ignorable=True)] = None
    assignments: Annotated[list[SyncGroupRequest.SyncGroupRequestAssignment], Wire("[]SyncGroupRequestAssignment")] = []


class SyncGroupResponse(ApiMessage):
    """Versions 0 to 5."""

    API_KEY = 14
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 4

    throttle_time_ms: Annotated[int, Wire("int32", "1+", ignorable=True)] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    protocol_type: Annotated[str | None, Wire("string", "5+", nullable="5+", ignorable=True)] = None
    protocol_name: Annotated[str | None, Wire("string", "5+", nullable="5+", ignorable=True)] = None
    assignment: Annotated[bytes, Wire("bytes")] = b""
