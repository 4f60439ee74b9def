"""Describe topic partitions, API key 75.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Struct, Uuid, Wire


class DescribeTopicPartitionsRequest(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 75
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    class TopicRequest(Struct):
        name: Annotated[str, Wire("string")] = ""

    class Cursor(Struct):
        topic_name: Annotated[str, Wire("string")] = ""
        partition_index: Annotated[int, Wire("int32")] = 0

    topics: Annotated[list[DescribeTopicPartitionsRequest.TopicRequest], Wire("[]TopicRequest")] = []
    response_partition_limit: Annotated[int, Wire("int32")] = 2000
    cursor: Annotated[DescribeTopicPartitionsRequest.Cursor | None, Wire("Cursor", nullable="0+")] = None


class DescribeTopicPartitionsResponse(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 75
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    class DescribeTopicPartitionsResponsePartition(Struct):
        error_code: Annotated[int, Wire("int16")] = 0
        partition_index: Annotated[int, Wire("int32")] = 0
        leader_id: Annotated[int, Wire("int32")] = 0
        leader_epoch: Annotated[int, Wire("int32", ignorable=True)] = -1
        replica_nodes: Annotated[list[int], Wire("[]int32")] = []
        isr_nodes: Annotated[list[int], Wire("[]int32")] = []
        eligible_leader_replicas: Annotated[list[int] | None, Wire("[]int32", nullable="0+")] = None
        last_known_elr: Annotated[list[int] | None, Wire("[]int32", nullable="0+")] = None
        offline_replicas: Annotated[list[int], Wire("[]int32", ignorable=True)] = []

    class DescribeTopicPartitionsResponseTopic(Struct):
        error_code: Annotated[int, Wire("int16")] = 0
        name: Annotated[str | None, Wire("string", nullable="0+")] = ""
        topic_id: Annotated[Uuid, Wire("uuid", ignorable=True)] = NO_UUID
        is_internal: Annotated[bool, Wire("bool", ignorable=True)] = False
        partitions: Annotated[
            list[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition],
            Wire("[]DescribeTopicPartitionsResponsePartition"),
        ] = []
        topic_authorized_operations: Annotated[int, Wire("int32")] = -2147483648

    class Cursor(Struct):
        topic_name: Annotated[str, Wire("string")] = ""
        partition_index: Annotated[int, Wire("int32")] = 0

    throttle_time_ms: Annotated[int, Wire("int32", ignorable=True)] = 0
    topics: Annotated[
        list[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic],
        Wire("[]DescribeTopicPartitionsResponseTopic"),
    ] = []
    next_cursor: Annotated[DescribeTopicPartitionsResponse.Cursor | None, Wire("Cursor", nullable="0+")] = None
