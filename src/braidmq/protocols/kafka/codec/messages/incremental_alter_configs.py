"""Incremental alter configs, API key 44.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class IncrementalAlterConfigsRequest(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 44
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 1

    class AlterableConfig(Struct):
        name: Annotated[str, Wire("string")] = ""
        config_operation: Annotated[int, Wire("int8")] = 0
        value: Annotated[str | None, Wire("string", nullable="0+")] = ""

    class AlterConfigsResource(Struct):
        resource_type: Annotated[int, Wire("int8")] = 0
        resource_name: Annotated[str, Wire("string")] = ""
        configs: Annotated[list[IncrementalAlterConfigsRequest.AlterableConfig], Wire("[]AlterableConfig")] = []

    resources: Annotated[list[IncrementalAlterConfigsRequest.AlterConfigsResource], Wire("[]AlterConfigsResource")] = []
    validate_only: Annotated[bool, Wire("bool")] = False


class IncrementalAlterConfigsResponse(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 44
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 1

    class AlterConfigsResourceResponse(Struct):
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", nullable="0+")] = ""
        resource_type: Annotated[int, Wire("int8")] = 0
        resource_name: Annotated[str, Wire("string")] = ""

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    responses: Annotated[
        list[IncrementalAlterConfigsResponse.AlterConfigsResourceResponse], Wire("[]AlterConfigsResourceResponse")
    ] = []
