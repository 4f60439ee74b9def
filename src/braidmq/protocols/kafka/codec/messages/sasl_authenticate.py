"""Sasl authenticate, API key 36.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Wire


class SaslAuthenticateRequest(ApiMessage):
    """Versions 0 to 2."""

    API_KEY = 36
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 2

    auth_bytes: Annotated[bytes, Wire("bytes")] = b""


class SaslAuthenticateResponse(ApiMessage):
    """Versions 0 to 2."""

    API_KEY = 36
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 2

    error_code: Annotated[int, Wire("int16")] = 0
    error_message: Annotated[str | None, Wire("string", nullable="0+")] = ""
    auth_bytes: Annotated[bytes, Wire("bytes")] = b""
    session_lifetime_ms: Annotated[int, Wire("int64", "1+", ignorable=True)] = 0
