"""Elect leaders, API key 43.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class ElectLeadersRequest(ApiMessage):
    """Versions 0 to 2."""

    API_KEY = 43
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 2

    class TopicPartitions(Struct):
        topic: Annotated[str, Wire("string")] = ""
        partitions: Annotated[list[int], Wire("[]int32")] = []

    election_type: Annotated[int, Wire("int8", "1+")] = 0
    topic_partitions: Annotated[
        list[ElectLeadersRequest.TopicPartitions] | None, Wire("[]TopicPartitions", nullable="0+")
    ] = []
    timeout_ms: Annotated[int, Wire("int32")] = 60000


class ElectLeadersResponse(ApiMessage):
    """Versions 0 to 2."""

    API_KEY = 43
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 2

    class PartitionResult(Struct):
        partition_id: Annotated[int, Wire("int32")] = 0
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", nullable="0+")] = ""

    class ReplicaElectionResult(Struct):
        topic: Annotated[str, Wire("string")] = ""
        partition_result: Annotated[list[ElectLeadersResponse.PartitionResult], Wire("[]PartitionResult")] = []

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16", "1+")] = 0
    replica_election_results: Annotated[
        list[ElectLeadersResponse.ReplicaElectionResult], Wire("[]ReplicaElectionResult")
    ] = []
