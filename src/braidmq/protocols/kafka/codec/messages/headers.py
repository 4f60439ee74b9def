"""Headers.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Wire


class RequestHeader(ApiMessage):
    """Versions 0 to 2."""

    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 2

    request_api_key: Annotated[int, Wire("int16")] = 0
    request_api_version: Annotated[int, Wire("int16")] = 0
    correlation_id: Annotated[int, Wire("int32")] = 0
    client_id: Annotated[str | None, Wire("string", "1+", nullable="1+", flexible=False)] = ""


class ResponseHeader(ApiMessage):
    """Versions 0 to 1."""

    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 1

    correlation_id: Annotated[int, Wire("int32")] = 0
