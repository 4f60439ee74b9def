"""Sasl handshake, API key 17.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Wire


class SaslHandshakeRequest(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 17
    VERSIONS = (0, 1)

    mechanism: Annotated[str, Wire("string")] = ""


class SaslHandshakeResponse(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 17
    VERSIONS = (0, 1)

    error_code: Annotated[int, Wire("int16")] = 0
    mechanisms: Annotated[list[str], Wire("[]string")] = []
