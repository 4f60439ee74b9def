"""Delete share group offsets, API key 92.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Struct, Uuid, Wire


class DeleteShareGroupOffsetsRequest(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 92
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    class DeleteShareGroupOffsetsRequestTopic(Struct):
        topic_name: Annotated[str, Wire("string")] = ""

    group_id: Annotated[str, Wire("string")] = ""
    topics: Annotated[
        list[DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic],
        Wire("[]DeleteShareGroupOffsetsRequestTopic"),
    ] = []


class DeleteShareGroupOffsetsResponse(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 92
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    class DeleteShareGroupOffsetsResponseTopic(Struct):
        topic_name: Annotated[str, Wire("string")] = ""
        topic_id: Annotated[Uuid, Wire("uuid")] = NO_UUID
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", nullable="0+")] = None

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    error_message: Annotated[str | None, Wire("string", nullable="0+")] = None
    responses: Annotated[
        list[DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic],
        Wire("[]DeleteShareGroupOffsetsResponseTopic"),
    ] = []
