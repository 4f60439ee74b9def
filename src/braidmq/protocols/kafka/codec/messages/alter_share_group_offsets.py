"""Alter share group offsets, API key 91.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Struct, Uuid, Wire


class AlterShareGroupOffsetsRequest(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 91
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    class AlterShareGroupOffsetsRequestPartition(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        start_offset: Annotated[int, Wire("int64")] = 0

    class AlterShareGroupOffsetsRequestTopic(Struct):
        topic_name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[
            list[AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestPartition],
            Wire("[]AlterShareGroupOffsetsRequestPartition"),
        ] = []

    group_id: Annotated[str, Wire("string")] = ""
    topics: Annotated[
        list[AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic],
        Wire("[]AlterShareGroupOffsetsRequestTopic"),
    ] = []


class AlterShareGroupOffsetsResponse(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 91
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    class AlterShareGroupOffsetsResponsePartition(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", nullable="0+")] = None

    class AlterShareGroupOffsetsResponseTopic(Struct):
        topic_name: Annotated[str, Wire("string")] = ""
        topic_id: Annotated[Uuid, Wire("uuid")] = NO_UUID
        partitions: Annotated[
            list[AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponsePartition],
            Wire("[]AlterShareGroupOffsetsResponsePartition"),
        ] = []

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    error_message: Annotated[str | None, Wire("string", nullable="0+")] = None
    responses: Annotated[
        list[AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponseTopic],
        Wire("[]AlterShareGroupOffsetsResponseTopic"),
    ] = []
