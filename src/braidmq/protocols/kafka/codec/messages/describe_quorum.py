"""Describe quorum, API key 55.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Struct, Uuid, Wire


class DescribeQuorumRequest(ApiMessage):
    """Versions 0 to 2."""

    API_KEY = 55
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 0

    class PartitionData(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0

    class TopicData(Struct):
        topic_name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[list[DescribeQuorumRequest.PartitionData], Wire("[]PartitionData")] = []

    topics: Annotated[list[DescribeQuorumRequest.TopicData], Wire("[]TopicData")] = []


class DescribeQuorumResponse(ApiMessage):
    """Versions 0 to 2."""

    API_KEY = 55
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 0

    class ReplicaState(Struct):
        replica_id: Annotated[int, Wire("int32")] = 0
        replica_directory_id: Annotated[Uuid, Wire("uuid", "2+")] = NO_UUID
        log_end_offset: Annotated[int, Wire("int64")] = 0
        last_fetch_timestamp: Annotated[int, Wire("int64", "1+", ignorable=True)] = -1
        last_caught_up_timestamp: Annotated[int, Wire("int64", "1+", ignorable=True)] = -1

    class PartitionData(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", "2+", nullable="2+", ignorable=True)] = ""
        leader_id: Annotated[int, Wire("int32")] = 0
        leader_epoch: Annotated[int, Wire("int32")] = 0
        high_watermark: Annotated[int, Wire("int64")] = 0
        current_voters: Annotated[list[DescribeQuorumResponse.ReplicaState], Wire("[]ReplicaState")] = []
        observers: Annotated[list[DescribeQuorumResponse.ReplicaState], Wire("[]ReplicaState")] = []

    class TopicData(Struct):
        topic_name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[list[DescribeQuorumResponse.PartitionData], Wire("[]PartitionData")] = []

    class Listener(Struct):
        name: Annotated[str, Wire("string", "2+")] = ""
        host: Annotated[str, Wire("string", "2+")] = ""
        port: Annotated[int, Wire("uint16", "2+")] = 0

    class Node(Struct):
        node_id: Annotated[int, Wire("int32", "2+")] = 0
        listeners: Annotated[list[DescribeQuorumResponse.Listener], Wire("[]Listener", "2+")] = []

    error_code: Annotated[int, Wire("int16")] = 0
    error_message: Annotated[str | None, Wire("string", "2+", nullable="2+", ignorable=True)] = ""
    topics: Annotated[list[DescribeQuorumResponse.TopicData], Wire("[]TopicData")] = []
    nodes: Annotated[list[DescribeQuorumResponse.Node], Wire("[]Node", "2+")] = []
