"""Alter configs, API key 33.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class AlterConfigsRequest(ApiMessage):
    """Versions 0 to 2."""

    API_KEY = 33
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 2

    class AlterableConfig(Struct):
        name: Annotated[str, Wire("string")] = ""
        value: Annotated[str | None, Wire("string", nullable="0+")] = ""

    class AlterConfigsResource(Struct):
        resource_type: Annotated[int, Wire("int8")] = 0
        resource_name: Annotated[str, Wire("string")] = ""
        configs: Annotated[list[AlterConfigsRequest.AlterableConfig], Wire("[]AlterableConfig")] = []

    resources: Annotated[list[AlterConfigsRequest.AlterConfigsResource], Wire("[]AlterConfigsResource")] = []
    validate_only: Annotated[bool, Wire("bool")] = False


class AlterConfigsResponse(ApiMessage):
    """Versions 0 to 2."""

    API_KEY = 33
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 2

    class AlterConfigsResourceResponse(Struct):
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", nullable="0+")] = ""
        resource_type: Annotated[int, Wire("int8")] = 0
        resource_name: Annotated[str, Wire("string")] = ""

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    responses: Annotated[
        list[AlterConfigsResponse.AlterConfigsResourceResponse], Wire("[]AlterConfigsResourceResponse")
    ] = []
