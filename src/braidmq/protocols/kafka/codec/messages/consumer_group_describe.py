"""Consumer group describe, API key 69.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Struct, Uuid, Wire


class ConsumerGroupDescribeRequest(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 69
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    group_ids: Annotated[list[str], Wire("[]string")] = []
    include_authorized_operations: Annotated[bool, Wire("bool")] = False


class ConsumerGroupDescribeResponse(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 69
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    class TopicPartitions(Struct):
        topic_id: Annotated[Uuid, Wire("uuid")] = NO_UUID
        topic_name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[list[int], Wire("[]int32")] = []

    class Assignment(Struct):
        topic_partitions: Annotated[list[ConsumerGroupDescribeResponse.TopicPartitions], Wire("[]TopicPartitions")] = []

    class Member(Struct):
        member_id: Annotated[str, Wire("string")] = ""
        instance_id: Annotated[str | None, Wire("string", nullable="0+")] = None
        rack_id: Annotated[str | None, Wire("string", nullable="0+")] = None
        member_epoch: Annotated[int, Wire("int32")] = 0
        client_id: Annotated[str, Wire("string")] = ""
        client_host: Annotated[str, Wire("string")] = ""
        subscribed_topic_names: Annotated[list[str], Wire("[]string")] = []
        subscribed_topic_regex: Annotated[str | None, Wire("string", nullable="0+")] = None
        assignment: Annotated[ConsumerGroupDescribeResponse.Assignment, Wire("Assignment")] = msgspec.field(
            default_factory=lambda: ConsumerGroupDescribeResponse.Assignment()
        )
        target_assignment: Annotated[ConsumerGroupDescribeResponse.Assignment, Wire("Assignment")] = msgspec.field(
            default_factory=lambda: ConsumerGroupDescribeResponse.Assignment()
        )
        member_type: Annotated[int, Wire("int8", "1+", ignorable=True)] = -1

    class DescribedGroup(Struct):
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", nullable="0+")] = None
        group_id: Annotated[str, Wire("string")] = ""
        group_state: Annotated[str, Wire("string")] = ""
        group_epoch: Annotated[int, Wire("int32")] = 0
        assignment_epoch: Annotated[int, Wire("int32")] = 0
        assignor_name: Annotated[str, Wire("string")] = ""
        members: Annotated[list[ConsumerGroupDescribeResponse.Member], Wire("[]Member")] = []
        authorized_operations: Annotated[int, Wire("int32")] = -2147483648

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    groups: Annotated[list[ConsumerGroupDescribeResponse.DescribedGroup], Wire("[]DescribedGroup")] = []
