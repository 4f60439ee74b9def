"""List partition reassignments, API key 46.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class ListPartitionReassignmentsRequest(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 46
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    class ListPartitionReassignmentsTopics(Struct):
        name: Annotated[str, Wire("string")] = ""
        partition_indexes: Annotated[list[int], Wire("[]int32")] = []

    timeout_ms: Annotated[int, Wire("int32")] = 60000
    topics: Annotated[
        list[ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics] | None,
        Wire("[]ListPartitionReassignmentsTopics", nullable="0+"),
    ] = None


class ListPartitionReassignmentsResponse(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 46
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    class OngoingPartitionReassignment(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        replicas: Annotated[list[int], Wire("[]int32")] = []
        adding_replicas: Annotated[list[int], Wire("[]int32")] = []
        removing_replicas: Annotated[list[int], Wire("[]int32")] = []

    class OngoingTopicReassignment(Struct):
        name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[
            list[ListPartitionReassignmentsResponse.OngoingPartitionReassignment],
            Wire("[]OngoingPartitionReassignment"),
        ] = []

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    error_message: Annotated[str | None, Wire("string", nullable="0+")] = ""
    topics: Annotated[
        list[ListPartitionReassignmentsResponse.OngoingTopicReassignment], Wire("[]OngoingTopicReassignment")
    ] = []
