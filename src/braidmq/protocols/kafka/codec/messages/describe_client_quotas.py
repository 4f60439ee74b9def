"""Describe client quotas, API key 48.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class DescribeClientQuotasRequest(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 48
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 1

    class ComponentData(Struct):
        entity_type: Annotated[str, Wire("string")] = ""
        match_type: Annotated[int, Wire("int8")] = 0
        match: Annotated[str | None, Wire("string", nullable="0+")] = ""

    components: Annotated[list[DescribeClientQuotasRequest.ComponentData], Wire("[]ComponentData")] = []
    strict: Annotated[bool, Wire("bool")] = False


class DescribeClientQuotasResponse(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 48
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 1

    class EntityData(Struct):
        entity_type: Annotated[str, Wire("string")] = ""
        entity_name: Annotated[str | None, Wire("string", nullable="0+")] = ""

    class ValueData(Struct):
        key: Annotated[str, Wire("string")] = ""
        value: Annotated[float, Wire("float64")] = 0.0

    class EntryData(Struct):
        entity: Annotated[list[DescribeClientQuotasResponse.EntityData], Wire("[]EntityData")] = []
        values: Annotated[list[DescribeClientQuotasResponse.ValueData], Wire("[]ValueData")] = []

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    error_message: Annotated[str | None, Wire("string", nullable="0+")] = ""
    entries: Annotated[list[DescribeClientQuotasResponse.EntryData] | None, Wire("[]EntryData", nullable="0+")] = []
