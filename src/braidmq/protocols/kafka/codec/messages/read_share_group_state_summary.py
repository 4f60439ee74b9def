"""Read share group state summary, API key 87.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Struct, Uuid, Wire


class ReadShareGroupStateSummaryRequest(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 87
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    class PartitionData(Struct):
        partition: Annotated[int, Wire("int32")] = 0
        leader_epoch: Annotated[int, Wire("int32")] = 0

    class ReadStateSummaryData(Struct):
        topic_id: Annotated[Uuid, Wire("uuid")] = NO_UUID
        partitions: Annotated[list[ReadShareGroupStateSummaryRequest.PartitionData], Wire("[]PartitionData")] = []

    group_id: Annotated[str, Wire("string")] = ""
    topics: Annotated[list[ReadShareGroupStateSummaryRequest.ReadStateSummaryData], Wire("[]ReadStateSummaryData")] = []


class ReadShareGroupStateSummaryResponse(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 87
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    class PartitionResult(Struct):
        partition: Annotated[int, Wire("int32")] = 0
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", nullable="0+")] = None
        state_epoch: Annotated[int, Wire("int32")] = 0
        leader_epoch: Annotated[int, Wire("int32")] = 0
        start_offset: Annotated[int, Wire("int64")] = 0
        delivery_complete_count: Annotated[int, Wire("int32", "1+", ignorable=True)] = -1

    class ReadStateSummaryResult(Struct):
        topic_id: Annotated[Uuid, Wire("uuid")] = NO_UUID
        partitions: Annotated[list[ReadShareGroupStateSummaryResponse.PartitionResult], Wire("[]PartitionResult")] = []

    results: Annotated[
        list[ReadShareGroupStateSummaryResponse.ReadStateSummaryResult], Wire("[]ReadStateSummaryResult")
    ] = []
