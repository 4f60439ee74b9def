"""Unregister controller, API key 94.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Wire


class UnregisterControllerRequest(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 94
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    controller_id: Annotated[int, Wire("int32")] = 0


class UnregisterControllerResponse(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 94
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    error_message: Annotated[str | None, Wire("string", nullable="0+")] = ""
