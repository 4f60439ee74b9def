"""Alter partition reassignments, API key 45.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class AlterPartitionReassignmentsRequest(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 45
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    class ReassignablePartition(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        replicas: Annotated[list[int] | None, Wire("[]int32", nullable="0+")] = None

    class ReassignableTopic(Struct):
        name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[
            list[AlterPartitionReassignmentsRequest.ReassignablePartition], Wire("[]ReassignablePartition")
        ] = []

    timeout_ms: Annotated[int, Wire("int32")] = 60000
    allow_replication_factor_change: Annotated[bool, Wire("bool", "1+")] = True
    topics: Annotated[list[AlterPartitionReassignmentsRequest.ReassignableTopic], Wire("[]ReassignableTopic")] = []


class AlterPartitionReassignmentsResponse(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 45
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    class ReassignablePartitionResponse(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", nullable="0+")] = ""

    class ReassignableTopicResponse(Struct):
        name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[
            list[AlterPartitionReassignmentsResponse.ReassignablePartitionResponse],
            Wire("[]ReassignablePartitionResponse"),
        ] = []

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    allow_replication_factor_change: Annotated[bool, Wire("bool", "1+", ignorable=True)] = True
    error_code: Annotated[int, Wire("int16")] = 0
    error_message: Annotated[str | None, Wire("string", nullable="0+")] = ""
    responses: Annotated[
        list[AlterPartitionReassignmentsResponse.ReassignableTopicResponse], Wire("[]ReassignableTopicResponse")
    ] = []
