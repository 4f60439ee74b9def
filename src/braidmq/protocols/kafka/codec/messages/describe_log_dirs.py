"""Describe log dirs, API key 35.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class DescribeLogDirsRequest(ApiMessage):
    """Versions 0 to 5."""

    API_KEY = 35
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 2

    class DescribableLogDirTopic(Struct):
        topic: Annotated[str, Wire("string")] = ""
        partitions: Annotated[list[int], Wire("[]int32")] = []

    topics: Annotated[
        list[DescribeLogDirsRequest.DescribableLogDirTopic] | None, Wire("[]DescribableLogDirTopic", nullable="0+")
    ] = []


class DescribeLogDirsResponse(ApiMessage):
    """Versions 0 to 5."""

    API_KEY = 35
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 2

    class DescribeLogDirsPartition(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        partition_size: Annotated[int, Wire("int64")] = 0
        offset_lag: Annotated[int, Wire("int64")] = 0
        is_future_key: Annotated[bool, Wire("bool")] = False

    class DescribeLogDirsTopic(Struct):
        name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[
            list[DescribeLogDirsResponse.DescribeLogDirsPartition], Wire("[]DescribeLogDirsPartition")
        ] = []

    class DescribeLogDirsResult(Struct):
        error_code: Annotated[int, Wire("int16")] = 0
        log_dir: Annotated[str, Wire("string")] = ""
        topics: Annotated[list[DescribeLogDirsResponse.DescribeLogDirsTopic], Wire("[]DescribeLogDirsTopic")] = []
        total_bytes: Annotated[int, Wire("int64", "4+", ignorable=True)] = -1
        usable_bytes: Annotated[int, Wire("int64", "4+", ignorable=True)] = -1
        is_cordoned: Annotated[bool, Wire("bool", "5+", ignorable=True)] = False

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16", "3+", ignorable=True)] = 0
    results: Annotated[list[DescribeLogDirsResponse.DescribeLogDirsResult], Wire("[]DescribeLogDirsResult")] = []
