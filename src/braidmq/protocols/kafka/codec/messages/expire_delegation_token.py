"""Expire delegation token, API key 40.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Wire


class ExpireDelegationTokenRequest(ApiMessage):
    """Versions 0 to 2."""

    API_KEY = 40
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 2

    hmac: Annotated[bytes, Wire("bytes")] = b""
    expiry_time_period_ms: Annotated[int, Wire("int64")] = 0


class ExpireDelegationTokenResponse(ApiMessage):
    """Versions 0 to 2."""

    API_KEY = 40
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 2

    error_code: Annotated[int, Wire("int16")] = 0
    expiry_timestamp_ms: Annotated[int, Wire("int64")] = 0
    throttle_time_ms: Annotated[int, Wire("int32")] = 0
