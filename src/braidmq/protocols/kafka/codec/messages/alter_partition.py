"""Alter partition, API key 56.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Struct, Uuid, Wire


class AlterPartitionRequest(ApiMessage):
    """Versions 0 to 3."""

    API_KEY = 56
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 0

    class BrokerState(Struct):
        broker_id: Annotated[int, Wire("int32", "3+")] = 0
        broker_epoch: Annotated[int, Wire("int64", "3+")] = -1

    class PartitionData(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        leader_epoch: Annotated[int, Wire("int32")] = 0
        new_isr: Annotated[list[int], Wire("[]int32", "0-2")] = []
        new_isr_with_epochs: Annotated[list[AlterPartitionRequest.BrokerState], Wire("[]BrokerState", "3+")] = []
        leader_recovery_state: Annotated[int, Wire("int8", "1+")] = 0
        partition_epoch: Annotated[int, Wire("int32")] = 0

    class TopicData(Struct):
        topic_name: Annotated[str, Wire("string", "0-1", ignorable=True)] = ""
        topic_id: Annotated[Uuid, Wire("uuid", "2+", ignorable=True)] = NO_UUID
        partitions: Annotated[list[AlterPartitionRequest.PartitionData], Wire("[]PartitionData")] = []

    broker_id: Annotated[int, Wire("int32")] = 0
    broker_epoch: Annotated[int, Wire("int64")] = -1
    topics: Annotated[list[AlterPartitionRequest.TopicData], Wire("[]TopicData")] = []


class AlterPartitionResponse(ApiMessage):
    """Versions 0 to 3."""

    API_KEY = 56
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 0

    class PartitionData(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        error_code: Annotated[int, Wire("int16")] = 0
        leader_id: Annotated[int, Wire("int32")] = 0
        leader_epoch: Annotated[int, Wire("int32")] = 0
        isr: Annotated[list[int], Wire("[]int32")] = []
        leader_recovery_state: Annotated[int, Wire("int8", "1+", ignorable=True)] = 0
        partition_epoch: Annotated[int, Wire("int32")] = 0

    class TopicData(Struct):
        topic_name: Annotated[str, Wire("string", "0-1", ignorable=True)] = ""
        topic_id: Annotated[Uuid, Wire("uuid", "2+", ignorable=True)] = NO_UUID
        partitions: Annotated[list[AlterPartitionResponse.PartitionData], Wire("[]PartitionData")] = []

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    topics: Annotated[list[AlterPartitionResponse.TopicData], Wire("[]TopicData")] = []
