"""Controller registration, API key 70.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Struct, Uuid, Wire


class ControllerRegistrationRequest(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 70
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    class Listener(Struct):
        name: Annotated[str, Wire("string")] = ""
        host: Annotated[str, Wire("string")] = ""
        port: Annotated[int, Wire("uint16")] = 0
        security_protocol: Annotated[int, Wire("int16")] = 0

    class Feature(Struct):
        name: Annotated[str, Wire("string")] = ""
        min_supported_version: Annotated[int, Wire("int16")] = 0
        max_supported_version: Annotated[int, Wire("int16")] = 0

    controller_id: Annotated[int, Wire("int32")] = 0
    incarnation_id: Annotated[Uuid, Wire("uuid")] = NO_UUID
    zk_migration_ready: Annotated[bool, Wire("bool")] = False
    listeners: Annotated[list[ControllerRegistrationRequest.Listener], Wire("[]Listener")] = []
    features: Annotated[list[ControllerRegistrationRequest.Feature], Wire("[]Feature")] = []


class ControllerRegistrationResponse(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 70
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    error_message: Annotated[str | None, Wire("string", nullable="0+")] = ""
