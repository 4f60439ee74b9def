"""Initialize share group state, API key 83.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Struct, Uuid, Wire


class InitializeShareGroupStateRequest(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 83
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    class PartitionData(Struct):
        partition: Annotated[int, Wire("int32")] = 0
        state_epoch: Annotated[int, Wire("int32")] = 0
        start_offset: Annotated[int, Wire("int64")] = 0

    class InitializeStateData(Struct):
        topic_id: Annotated[Uuid, Wire("uuid")] = NO_UUID
        partitions: Annotated[list[InitializeShareGroupStateRequest.PartitionData], Wire("[]PartitionData")] = []

    group_id: Annotated[str, Wire("string")] = ""
    topics: Annotated[list[InitializeShareGroupStateRequest.InitializeStateData], Wire("[]InitializeStateData")] = []


class InitializeShareGroupStateResponse(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 83
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    class PartitionResult(Struct):
        partition: Annotated[int, Wire("int32")] = 0
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", nullable="0+")] = None

    class InitializeStateResult(Struct):
        topic_id: Annotated[Uuid, Wire("uuid")] = NO_UUID
        partitions: Annotated[list[InitializeShareGroupStateResponse.PartitionResult], Wire("[]PartitionResult")] = []

    results: Annotated[
        list[InitializeShareGroupStateResponse.InitializeStateResult], Wire("[]InitializeStateResult")
    ] = []
