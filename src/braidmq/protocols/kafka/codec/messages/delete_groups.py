"""Delete groups, API key 42.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class DeleteGroupsRequest(ApiMessage):
    """Versions 0 to 3."""

    API_KEY = 42
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    groups_names: Annotated[list[str], Wire("[]string")] = []


class DeleteGroupsResponse(ApiMessage):
    """Versions 0 to 3."""

    API_KEY = 42
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    class DeletableGroupResult(Struct):
        group_id: Annotated[str, Wire("string")] = ""
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", "3+", nullable="3+", ignorable=True)] = None

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    results: Annotated[list[DeleteGroupsResponse.DeletableGroupResult], Wire("[]DeletableGroupResult")] = []
