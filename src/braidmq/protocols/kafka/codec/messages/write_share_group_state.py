"""Write share group state, API key 85.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Struct, Uuid, Wire


class WriteShareGroupStateRequest(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 85
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    class StateBatch(Struct):
        first_offset: Annotated[int, Wire("int64")] = 0
        last_offset: Annotated[int, Wire("int64")] = 0
        delivery_state: Annotated[int, Wire("int8")] = 0
        delivery_count: Annotated[int, Wire("int16")] = 0

    class PartitionData(Struct):
        partition: Annotated[int, Wire("int32")] = 0
        state_epoch: Annotated[int, Wire("int32")] = 0
        leader_epoch: Annotated[int, Wire("int32")] = 0
        start_offset: Annotated[int, Wire("int64")] = 0
        delivery_complete_count: Annotated[int, Wire("int32", "1+", ignorable=True)] = -1
        state_batches: Annotated[list[WriteShareGroupStateRequest.StateBatch], Wire("[]StateBatch")] = []

    class WriteStateData(Struct):
        topic_id: Annotated[Uuid, Wire("uuid")] = NO_UUID
        partitions: Annotated[list[WriteShareGroupStateRequest.PartitionData], Wire("[]PartitionData")] = []

    group_id: Annotated[str, Wire("string")] = ""
    topics: Annotated[list[WriteShareGroupStateRequest.WriteStateData], Wire("[]WriteStateData")] = []


class WriteShareGroupStateResponse(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 85
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    class PartitionResult(Struct):
        partition: Annotated[int, Wire("int32")] = 0
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", nullable="0+")] = None

    class WriteStateResult(Struct):
        topic_id: Annotated[Uuid, Wire("uuid")] = NO_UUID
        partitions: Annotated[list[WriteShareGroupStateResponse.PartitionResult], Wire("[]PartitionResult")] = []

    results: Annotated[list[WriteShareGroupStateResponse.WriteStateResult], Wire("[]WriteStateResult")] = []
