"""Read share group state, API key 84.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Struct, Uuid, Wire


class ReadShareGroupStateRequest(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 84
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    class PartitionData(Struct):
        partition: Annotated[int, Wire("int32")] = 0
        leader_epoch: Annotated[int, Wire("int32")] = 0

    class ReadStateData(Struct):
        topic_id: Annotated[Uuid, Wire("uuid")] = NO_UUID
        partitions: Annotated[list[ReadShareGroupStateRequest.PartitionData], Wire("[]PartitionData")] = []

    group_id: Annotated[str, Wire("string")] = ""
    topics: Annotated[list[ReadShareGroupStateRequest.ReadStateData], Wire("[]ReadStateData")] = []


class ReadShareGroupStateResponse(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 84
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    class StateBatch(Struct):
        first_offset: Annotated[int, Wire("int64")] = 0
        last_offset: Annotated[int, Wire("int64")] = 0
        delivery_state: Annotated[int, Wire("int8")] = 0
        delivery_count: Annotated[int, Wire("int16")] = 0

    class PartitionResult(Struct):
        partition: Annotated[int, Wire("int32")] = 0
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", nullable="0+")] = None
        state_epoch: Annotated[int, Wire("int32")] = 0
        start_offset: Annotated[int, Wire("int64")] = 0
        state_batches: Annotated[list[ReadShareGroupStateResponse.StateBatch], Wire("[]StateBatch")] = []

    class ReadStateResult(Struct):
        topic_id: Annotated[Uuid, Wire("uuid")] = NO_UUID
        partitions: Annotated[list[ReadShareGroupStateResponse.PartitionResult], Wire("[]PartitionResult")] = []

    results: Annotated[list[ReadShareGroupStateResponse.ReadStateResult], Wire("[]ReadStateResult")] = []
