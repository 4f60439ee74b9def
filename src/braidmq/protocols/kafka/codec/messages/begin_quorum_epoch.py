"""Begin quorum epoch, API key 53.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Struct, Uuid, Wire


class BeginQuorumEpochRequest(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 53
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 1

    class PartitionData(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        voter_directory_id: Annotated[Uuid, Wire("uuid", "1+", ignorable=True)] = NO_UUID
        leader_id: Annotated[int, Wire("int32")] = 0
        leader_epoch: Annotated[int, Wire("int32")] = 0

    class TopicData(Struct):
        topic_name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[list[BeginQuorumEpochRequest.PartitionData], Wire("[]PartitionData")] = []

    class LeaderEndpoint(Struct):
        name: Annotated[str, Wire("string", "1+")] = ""
        host: Annotated[str, Wire("string", "1+")] = ""
        port: Annotated[int, Wire("uint16", "1+")] = 0

    cluster_id: Annotated[str | None, Wire("string", nullable="0+")] = None
    voter_id: Annotated[int, Wire("int32", "1+", ignorable=True)] = -1
    topics: Annotated[list[BeginQuorumEpochRequest.TopicData], Wire("[]TopicData")] = []
    leader_endpoints: Annotated[
        list[BeginQuorumEpochRequest.LeaderEndpoint], Wire("[]LeaderEndpoint", "1+", ignorable=True)
    ] = []


class BeginQuorumEpochResponse(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 53
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 1

    class PartitionData(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        error_code: Annotated[int, Wire("int16")] = 0
        leader_id: Annotated[int, Wire("int32")] = 0
        leader_epoch: Annotated[int, Wire("int32")] = 0

    class TopicData(Struct):
        topic_name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[list[BeginQuorumEpochResponse.PartitionData], Wire("[]PartitionData")] = []

    class NodeEndpoint(Struct):
        node_id: Annotated[int, Wire("int32", "1+")] = 0
        host: Annotated[str, Wire("string", "1+")] = ""
        port: Annotated[int, Wire("uint16", "1+")] = 0

    error_code: Annotated[int, Wire("int16")] = 0
    topics: Annotated[list[BeginQuorumEpochResponse.TopicData], Wire("[]TopicData")] = []
    node_endpoints: Annotated[
        list[BeginQuorumEpochResponse.NodeEndpoint], Wire("[]NodeEndpoint", "1+", tag=0, tagged="1+")
    ] = []
