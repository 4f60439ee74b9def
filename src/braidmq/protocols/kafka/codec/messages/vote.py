"""Vote, API key 52.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Struct, Uuid, Wire


class VoteRequest(ApiMessage):
    """Versions 0 to 2."""

    API_KEY = 52
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 0

    class PartitionData(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        replica_epoch: Annotated[int, Wire("int32")] = 0
        replica_id: Annotated[int, Wire("int32")] = 0
        replica_directory_id: Annotated[Uuid, Wire("uuid", "1+", ignorable=True)] = NO_UUID
        voter_directory_id: Annotated[Uuid, Wire("uuid", "1+", ignorable=True)] = NO_UUID
        last_offset_epoch: Annotated[int, Wire("int32")] = 0
        last_offset: Annotated[int, Wire("int64")] = 0
        pre_vote: Annotated[bool, Wire("bool", "2+")] = False

    class TopicData(Struct):
        topic_name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[list[VoteRequest.PartitionData], Wire("[]PartitionData")] = []

    cluster_id: Annotated[str | None, Wire("string", nullable="0+")] = None
    voter_id: Annotated[int, Wire("int32", "1+", ignorable=True)] = -1
    topics: Annotated[list[VoteRequest.TopicData], Wire("[]TopicData")] = []


class VoteResponse(ApiMessage):
    """Versions 0 to 2."""

    API_KEY = 52
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 0

    class PartitionData(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        error_code: Annotated[int, Wire("int16")] = 0
        leader_id: Annotated[int, Wire("int32")] = 0
        leader_epoch: Annotated[int, Wire("int32")] = 0
        vote_granted: Annotated[bool, Wire("bool")] = False

    class TopicData(Struct):
        topic_name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[list[VoteResponse.PartitionData], Wire("[]PartitionData")] = []

    class NodeEndpoint(Struct):
        node_id: Annotated[int, Wire("int32", "1+")] = 0
        host: Annotated[str, Wire("string", "1+")] = ""
        port: Annotated[int, Wire("uint16", "1+")] = 0

    error_code: Annotated[int, Wire("int16")] = 0
    topics: Annotated[list[VoteResponse.TopicData], Wire("[]TopicData")] = []
    node_endpoints: Annotated[list[VoteResponse.NodeEndpoint], Wire("[]NodeEndpoint", "1+", tag=0, tagged="1+")] = []
