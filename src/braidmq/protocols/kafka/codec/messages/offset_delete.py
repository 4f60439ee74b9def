"""Offset delete, API key 47.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class OffsetDeleteRequest(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 47
    VERSIONS = (0, 0)

    class OffsetDeleteRequestPartition(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0

    class OffsetDeleteRequestTopic(Struct):
        name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[
            list[OffsetDeleteRequest.OffsetDeleteRequestPartition], Wire("[]OffsetDeleteRequestPartition")
        ] = []

    group_id: Annotated[str, Wire("string")] = ""
    topics: Annotated[list[OffsetDeleteRequest.OffsetDeleteRequestTopic], Wire("[]OffsetDeleteRequestTopic")] = []


class OffsetDeleteResponse(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 47
    VERSIONS = (0, 0)

    class OffsetDeleteResponsePartition(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        error_code: Annotated[int, Wire("int16")] = 0

    class OffsetDeleteResponseTopic(Struct):
        name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[
            list[OffsetDeleteResponse.OffsetDeleteResponsePartition], Wire("[]OffsetDeleteResponsePartition")
        ] = []

    error_code: Annotated[int, Wire("int16")] = 0
    throttle_time_ms: Annotated[int, Wire("int32", ignorable=True)] = 0
    topics: Annotated[list[OffsetDeleteResponse.OffsetDeleteResponseTopic], Wire("[]OffsetDeleteResponseTopic")] = []
