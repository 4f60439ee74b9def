"""Offset commit, API key 8.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Struct, Uuid, Wire


class OffsetCommitRequest(ApiMessage):
    """Versions 0 to 10."""

    API_KEY = 8
    VERSIONS = (0, 10)
    FLEXIBLE_SINCE = 8

    class OffsetCommitRequestPartition(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        committed_offset: Annotated[int, Wire("int64")] = 0
        committed_leader_epoch: Annotated[int, Wire("int32", "6+", ignorable=True)] = -1
        commit_timestamp: Annotated[int, Wire("int64", "1")] = -1
        committed_metadata: Annotated[str | None, Wire("string", nullable="0+")] = ""

    class OffsetCommitRequestTopic(Struct):
        name: Annotated[str, Wire("string", "0-9", ignorable=True)] = ""
        topic_id: Annotated[Uuid, Wire("uuid", "10+", ignorable=True)] = NO_UUID
        partitions: Annotated[
            list[OffsetCommitRequest.OffsetCommitRequestPartition], Wire("[]OffsetCommitRequestPartition")
        ] = []

    group_id: Annotated[str, Wire("string")] = ""
    generation_id_or_member_epoch: Annotated[int, Wire("int32", "1+", ignorable=True)] = -1
    member_id: Annotated[str, Wire("string", "1+", ignorable=True)] = ""
    group_instance_id: Annotated[str | None, Wire("string", "7+", nullable="7+")] = None
    retention_time_ms: Annotated[int, Wire("int64", "2-4", ignorable=True)] = -1
    topics: Annotated[list[OffsetCommitRequest.OffsetCommitRequestTopic], Wire("[]OffsetCommitRequestTopic")] = []


class OffsetCommitResponse(ApiMessage):
    """Versions 0 to 10."""

    API_KEY = 8
    VERSIONS = (0, 10)
    FLEXIBLE_SINCE = 8

    class OffsetCommitResponsePartition(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        error_code: Annotated[int, Wire("int16")] = 0

    class OffsetCommitResponseTopic(Struct):
        name: Annotated[str, Wire("string", "0-9", ignorable=True)] = ""
        topic_id: Annotated[Uuid, Wire("uuid", "10+", ignorable=True)] = NO_UUID
        partitions: Annotated[
            list[OffsetCommitResponse.OffsetCommitResponsePartition], Wire("[]OffsetCommitResponsePartition")
        ] = []

    throttle_time_ms: Annotated[int, Wire("int32", "3+", ignorable=True)] = 0
    topics: Annotated[list[OffsetCommitResponse.OffsetCommitResponseTopic], Wire("[]OffsetCommitResponseTopic")] = []
