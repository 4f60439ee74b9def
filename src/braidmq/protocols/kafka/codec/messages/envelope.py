"""Envelope, API key 58.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Wire


class EnvelopeRequest(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 58
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    request_data: Annotated[bytes, Wire("bytes")] = b""
    request_principal: Annotated[bytes | None, Wire("bytes", nullable="0+")] = b""
    client_host_address: Annotated[bytes, Wire("bytes")] = b""


class EnvelopeResponse(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 58
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    response_data: Annotated[bytes | None, Wire("bytes", nullable="0+")] = None
    error_code: Annotated[int, Wire("int16")] = 0
