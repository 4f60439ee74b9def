"""List config resources, API key 74.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class ListConfigResourcesRequest(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 74
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    resource_types: Annotated[list[int], Wire("[]int8", "1+")] = []


class ListConfigResourcesResponse(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 74
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    class ConfigResource(Struct):
        resource_name: Annotated[str, Wire("string")] = ""
        resource_type: Annotated[int, Wire("int8", "1+", ignorable=True)] = 16

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    config_resources: Annotated[list[ListConfigResourcesResponse.ConfigResource], Wire("[]ConfigResource")] = []
