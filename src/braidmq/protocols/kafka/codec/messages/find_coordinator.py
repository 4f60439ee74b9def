"""Find coordinator, API key 10.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class FindCoordinatorRequest(ApiMessage):
    """Versions 0 to 6."""

    API_KEY = 10
    VERSIONS = (0, 6)
    FLEXIBLE_SINCE = 3

    key: Annotated[str, Wire("string", "0-3")] = ""
    key_type: Annotated[int, Wire("int8", "1+")] = 0
    coordinator_keys: Annotated[list[str], Wire("[]string", "4+")] = []


class FindCoordinatorResponse(ApiMessage):
    """Versions 0 to 6."""

    API_KEY = 10
    VERSIONS = (0, 6)
    FLEXIBLE_SINCE = 3

    class Coordinator(Struct):
        key: Annotated[str, Wire("string", "4+")] = ""
        node_id: Annotated[int, Wire("int32", "4+")] = 0
        host: Annotated[str, Wire("string", "4+")] = ""
        port: Annotated[int, Wire("int32", "4+")] = 0
        error_code: Annotated[int, Wire("int16", "4+")] = 0
        error_message: Annotated[str | None, Wire("string", "4+", nullable="4+", ignorable=True)] = ""

    throttle_time_ms: Annotated[int, Wire("int32", "1+", ignorable=True)] = 0
    error_code: Annotated[int, Wire("int16", "0-3")] = 0
    error_message: Annotated[str | None, Wire("string", "1-3", nullable="1-3", ignorable=True)] = ""
    node_id: Annotated[int, Wire("int32", "0-3")] = 0
    host: Annotated[str, Wire("string", "0-3")] = ""
    port: Annotated[int, Wire("int32", "0-3")] = 0
    coordinators: Annotated[list[FindCoordinatorResponse.Coordinator], Wire("[]Coordinator", "4+")] = []
