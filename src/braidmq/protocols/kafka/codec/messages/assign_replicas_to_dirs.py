"""Assign replicas to dirs, API key 73.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Struct, Uuid, Wire


class AssignReplicasToDirsRequest(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 73
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    class PartitionData(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0

    class TopicData(Struct):
        topic_id: Annotated[Uuid, Wire("uuid")] = NO_UUID
        partitions: Annotated[list[AssignReplicasToDirsRequest.PartitionData], Wire("[]PartitionData")] = []

    class DirectoryData(Struct):
        id: Annotated[Uuid, Wire("uuid")] = NO_UUID
        topics: Annotated[list[AssignReplicasToDirsRequest.TopicData], Wire("[]TopicData")] = []

    broker_id: Annotated[int, Wire("int32")] = 0
    broker_epoch: Annotated[int, Wire("int64")] = -1
    directories: Annotated[list[AssignReplicasToDirsRequest.DirectoryData], Wire("[]DirectoryData")] = []


class AssignReplicasToDirsResponse(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 73
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    class PartitionData(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        error_code: Annotated[int, Wire("int16")] = 0

    class TopicData(Struct):
        topic_id: Annotated[Uuid, Wire("uuid")] = NO_UUID
        partitions: Annotated[list[AssignReplicasToDirsResponse.PartitionData], Wire("[]PartitionData")] = []

    class DirectoryData(Struct):
        id: Annotated[Uuid, Wire("uuid")] = NO_UUID
        topics: Annotated[list[AssignReplicasToDirsResponse.TopicData], Wire("[]TopicData")] = []

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    directories: Annotated[list[AssignReplicasToDirsResponse.DirectoryData], Wire("[]DirectoryData")] = []
