"""Consumer group heartbeat, API key 68.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Struct, Uuid, Wire


class ConsumerGroupHeartbeatRequest(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 68
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    class TopicPartitions(Struct):
        topic_id: Annotated[Uuid, Wire("uuid")] = NO_UUID
        partitions: Annotated[list[int], Wire("[]int32")] = []

    group_id: Annotated[str, Wire("string")] = ""
    member_id: Annotated[str, Wire("string")] = ""
    member_epoch: Annotated[int, Wire("int32")] = 0
    instance_id: Annotated[str | None, Wire("string", nullable="0+")] = None
    rack_id: Annotated[str | None, Wire("string", nullable="0+")] = None
    rebalance_timeout_ms: Annotated[int, Wire("int32")] = -1
    subscribed_topic_names: Annotated[list[str] | None, Wire("[]string", nullable="0+")] = None
    subscribed_topic_regex: Annotated[str | None, Wire("string", "1+", nullable="1+")] = None
    server_assignor: Annotated[str | None, Wire("string", nullable="0+")] = None
    topic_partitions: Annotated[
        list[ConsumerGroupHeartbeatRequest.TopicPartitions] | None, Wire("[]TopicPartitions", nullable="0+")
    ] = None


class ConsumerGroupHeartbeatResponse(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 68
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    class TopicPartitions(Struct):
        topic_id: Annotated[Uuid, Wire("uuid")] = NO_UUID
        partitions: Annotated[list[int], Wire("[]int32")] = []

    class Assignment(Struct):
        topic_partitions: Annotated[
            list[ConsumerGroupHeartbeatResponse.TopicPartitions], Wire("[]TopicPartitions")
        ] = []

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    error_message: Annotated[str | None, Wire("string", nullable="0+")] = None
    member_id: Annotated[str | None, Wire("string", nullable="0+")] = None
    member_epoch: Annotated[int, Wire("int32")] = 0
    heartbeat_interval_ms: Annotated[int, Wire("int32")] = 0
    assignment: Annotated[ConsumerGroupHeartbeatResponse.Assignment | None, Wire("Assignment", nullable="0+")] = None
