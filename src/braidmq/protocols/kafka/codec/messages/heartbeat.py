"""Heartbeat, API key 12.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Wire


class HeartbeatRequest(ApiMessage):
    """Versions 0 to 4."""

    API_KEY = 12
    VERSIONS = (0, 4)
    FLEXIBLE_SINCE = 4

    group_id: Annotated[str, Wire("string")] = ""
    generation_id: Annotated[int, Wire("int32")] = 0
    member_id: Annotated[str, Wire("string")] = ""
    group_instance_id: Annotated[str | None, Wire("string", "3+", nullable="3+")] = None


class HeartbeatResponse(ApiMessage):
    """Versions 0 to 4."""

    API_KEY = 12
    VERSIONS = (0, 4)
    FLEXIBLE_SINCE = 4

    throttle_time_ms: Annotated[int, Wire("int32", "1+", ignorable=True)] = 0
    error_code: Annotated[int, Wire("int16")] = 0
