"""Alter replica log dirs, API key 34.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class AlterReplicaLogDirsRequest(ApiMessage):
    """Versions 0 to 2."""

    API_KEY = 34
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 2

    class AlterReplicaLogDirTopic(Struct):
        name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[list[int], Wire("[]int32")] = []

    class AlterReplicaLogDir(Struct):
        path: Annotated[str, Wire("string")] = ""
        topics: Annotated[
            list[AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic], Wire("[]AlterReplicaLogDirTopic")
        ] = []

    dirs: Annotated[list[AlterReplicaLogDirsRequest.AlterReplicaLogDir], Wire("[]AlterReplicaLogDir")] = []


class AlterReplicaLogDirsResponse(ApiMessage):
    """Versions 0 to 2."""

    API_KEY = 34
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 2

    class AlterReplicaLogDirPartitionResult(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        error_code: Annotated[int, Wire("int16")] = 0

    class AlterReplicaLogDirTopicResult(Struct):
        topic_name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[
            list[AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult],
            Wire("[]AlterReplicaLogDirPartitionResult"),
        ] = []

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    results: Annotated[
        list[AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult], Wire("[]AlterReplicaLogDirTopicResult")
    ] = []
