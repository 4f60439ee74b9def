"""Describe share group offsets, API key 90.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Struct, Uuid, Wire


class DescribeShareGroupOffsetsRequest(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 90
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    class DescribeShareGroupOffsetsRequestTopic(Struct):
        topic_name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[list[int], Wire("[]int32")] = []

    class DescribeShareGroupOffsetsRequestGroup(Struct):
        group_id: Annotated[str, Wire("string")] = ""
        topics: Annotated[
            list[DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestTopic] | None,
            Wire("[]DescribeShareGroupOffsetsRequestTopic", nullable="0+"),
        ] = []

    groups: Annotated[
        list[DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup],
        Wire("[]DescribeShareGroupOffsetsRequestGroup"),
    ] = []


class DescribeShareGroupOffsetsResponse(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 90
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    class DescribeShareGroupOffsetsResponsePartition(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        start_offset: Annotated[int, Wire("int64")] = 0
        leader_epoch: Annotated[int, Wire("int32")] = 0
        lag: Annotated[int, Wire("int64", "1+", ignorable=True)] = -1
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", nullable="0+")] = None

    class DescribeShareGroupOffsetsResponseTopic(Struct):
        topic_name: Annotated[str, Wire("string")] = ""
        topic_id: Annotated[Uuid, Wire("uuid")] = NO_UUID
        partitions: Annotated[
            list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition],
            Wire("[]DescribeShareGroupOffsetsResponsePartition"),
        ] = []

    class DescribeShareGroupOffsetsResponseGroup(Struct):
        group_id: Annotated[str, Wire("string")] = ""
        topics: Annotated[
            list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseTopic],
            Wire("[]DescribeShareGroupOffsetsResponseTopic"),
        ] = []
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", nullable="0+")] = None

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    groups: Annotated[
        list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup],
        Wire("[]DescribeShareGroupOffsetsResponseGroup"),
    ] = []
