"""Describe configs, API key 32.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class DescribeConfigsRequest(ApiMessage):
    """Versions 0 to 4."""

    API_KEY = 32
    VERSIONS = (0, 4)
    FLEXIBLE_SINCE = 4

    class DescribeConfigsResource(Struct):
        resource_type: Annotated[int, Wire("int8")] = 0
        resource_name: Annotated[str, Wire("string")] = ""
        configuration_keys: Annotated[list[str] | None, Wire("[]string", nullable="0+")] = []

    resources: Annotated[list[DescribeConfigsRequest.DescribeConfigsResource], Wire("[]DescribeConfigsResource")] = []
    include_synonyms: Annotated[bool, Wire("bool", "1+")] = False
    include_documentation: Annotated[bool, Wire("bool", "3+")] = False


class DescribeConfigsResponse(ApiMessage):
    """Versions 0 to 4."""

    API_KEY = 32
    VERSIONS = (0, 4)
    FLEXIBLE_SINCE = 4

    class DescribeConfigsSynonym(Struct):
        name: Annotated[str, Wire("string", "1+")] = ""
        value: Annotated[str | None, Wire("string", "1+", nullable="0+")] = ""
        source: Annotated[int, Wire("int8", "1+")] = 0

    class DescribeConfigsResourceResult(Struct):
        name: Annotated[str, Wire("string")] = ""
        value: Annotated[str | None, Wire("string", nullable="0+")] = ""
        read_only: Annotated[bool, Wire("bool")] = False
        is_default: Annotated[bool, Wire("bool", "0")] = False
        config_source: Annotated[int, Wire("int8", "1+", ignorable=True)] = -1
        is_sensitive: Annotated[bool, Wire("bool")] = False
        synonyms: Annotated[
            list[DescribeConfigsResponse.DescribeConfigsSynonym], Wire("[]DescribeConfigsSynonym", "1+", ignorable=True)
        ] = []
        config_type: Annotated[int, Wire("int8", "3+", ignorable=True)] = 0
        documentation: Annotated[str | None, Wire("string", "3+", nullable="0+", ignorable=True)] = ""

    class DescribeConfigsResult(Struct):
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", nullable="0+")] = ""
        resource_type: Annotated[int, Wire("int8")] = 0
        resource_name: Annotated[str, Wire("string")] = ""
        configs: Annotated[
            list[DescribeConfigsResponse.DescribeConfigsResourceResult], Wire("[]DescribeConfigsResourceResult")
        ] = []

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    results: Annotated[list[DescribeConfigsResponse.DescribeConfigsResult], Wire("[]DescribeConfigsResult")] = []
