"""Delete records, API key 21.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class DeleteRecordsRequest(ApiMessage):
    """Versions 0 to 2."""

    API_KEY = 21
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 2

    class DeleteRecordsPartition(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        offset: Annotated[int, Wire("int64")] = 0

    class DeleteRecordsTopic(Struct):
        name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[list[DeleteRecordsRequest.DeleteRecordsPartition], Wire("[]DeleteRecordsPartition")] = []

    topics: Annotated[list[DeleteRecordsRequest.DeleteRecordsTopic], Wire("[]DeleteRecordsTopic")] = []
    timeout_ms: Annotated[int, Wire("int32")] = 0


class DeleteRecordsResponse(ApiMessage):
    """Versions 0 to 2."""

    API_KEY = 21
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 2

    class DeleteRecordsPartitionResult(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        low_watermark: Annotated[int, Wire("int64")] = 0
        error_code: Annotated[int, Wire("int16")] = 0

    class DeleteRecordsTopicResult(Struct):
        name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[
            list[DeleteRecordsResponse.DeleteRecordsPartitionResult], Wire("[]DeleteRecordsPartitionResult")
        ] = []

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    topics: Annotated[list[DeleteRecordsResponse.DeleteRecordsTopicResult], Wire("[]DeleteRecordsTopicResult")] = []
