"""Alter client quotas, API key 49.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class AlterClientQuotasRequest(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 49
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 1

    class EntityData(Struct):
        entity_type: Annotated[str, Wire("string")] = ""
        entity_name: Annotated[str | None, Wire("string", nullable="0+")] = ""

    class OpData(Struct):
        key: Annotated[str, Wire("string")] = ""
        value: Annotated[float, Wire("float64")] = 0.0
        remove: Annotated[bool, Wire("bool")] = False

    class EntryData(Struct):
        entity: Annotated[list[AlterClientQuotasRequest.EntityData], Wire("[]EntityData")] = []
        ops: Annotated[list[AlterClientQuotasRequest.OpData], Wire("[]OpData")] = []

    entries: Annotated[list[AlterClientQuotasRequest.EntryData], Wire("[]EntryData")] = []
    validate_only: Annotated[bool, Wire("bool")] = False


class AlterClientQuotasResponse(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 49
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 1

    class EntityData(Struct):
        entity_type: Annotated[str, Wire("string")] = ""
        entity_name: Annotated[str | None, Wire("string", nullable="0+")] = ""

    class EntryData(Struct):
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", nullable="0+")] = ""
        entity: Annotated[list[AlterClientQuotasResponse.EntityData], Wire("[]EntityData")] = []

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    entries: Annotated[list[AlterClientQuotasResponse.EntryData], Wire("[]EntryData")] = []
