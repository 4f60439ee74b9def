"""Offset for leader epoch, API key 23.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class OffsetForLeaderEpochRequest(ApiMessage):
    """Versions 0 to 4."""

    API_KEY = 23
    VERSIONS = (0, 4)
    FLEXIBLE_SINCE = 4

    class OffsetForLeaderPartition(Struct):
        partition: Annotated[int, Wire("int32")] = 0
        current_leader_epoch: Annotated[int, Wire("int32", "2+", ignorable=True)] = -1
        leader_epoch: Annotated[int, Wire("int32")] = 0

    class OffsetForLeaderTopic(Struct):
        topic: Annotated[str, Wire("string")] = ""
        partitions: Annotated[
            list[OffsetForLeaderEpochRequest.OffsetForLeaderPartition], Wire("[]OffsetForLeaderPartition")
        ] = []

    replica_id: Annotated[int, Wire("int32", "3+", ignorable=True)] = -2
    topics: Annotated[list[OffsetForLeaderEpochRequest.OffsetForLeaderTopic], Wire("[]OffsetForLeaderTopic")] = []


class OffsetForLeaderEpochResponse(ApiMessage):
    """Versions 0 to 4."""

    API_KEY = 23
    VERSIONS = (0, 4)
    FLEXIBLE_SINCE = 4

    class EpochEndOffset(Struct):
        error_code: Annotated[int, Wire("int16")] = 0
        partition: Annotated[int, Wire("int32")] = 0
        leader_epoch: Annotated[int, Wire("int32", "1+", ignorable=True)] = -1
        end_offset: Annotated[int, Wire("int64")] = -1

    class OffsetForLeaderTopicResult(Struct):
        topic: Annotated[str, Wire("string")] = ""
        partitions: Annotated[list[OffsetForLeaderEpochResponse.EpochEndOffset], Wire("[]EpochEndOffset")] = []

    throttle_time_ms: Annotated[int, Wire("int32", "2+", ignorable=True)] = 0
    topics: Annotated[
        list[OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult], Wire("[]OffsetForLeaderTopicResult")
    ] = []
