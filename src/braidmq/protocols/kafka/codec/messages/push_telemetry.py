"""Push telemetry, API key 72.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Uuid, Wire


class PushTelemetryRequest(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 72
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    client_instance_id: Annotated[Uuid, Wire("uuid")] = NO_UUID
    subscription_id: Annotated[int, Wire("int32")] = 0
    terminating: Annotated[bool, Wire("bool")] = False
    compression_type: Annotated[int, Wire("int8")] = 0
    metrics: Annotated[bytes, Wire("bytes")] = b""


class PushTelemetryResponse(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 72
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
