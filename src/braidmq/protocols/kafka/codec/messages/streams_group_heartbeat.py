"""Streams group heartbeat, API key 88.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class StreamsGroupHeartbeatRequest(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 88
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    class KeyValue(Struct):
        key: Annotated[str, Wire("string")] = ""
        value: Annotated[str, Wire("string")] = ""

    class TopicInfo(Struct):
        name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[int, Wire("int32")] = 0
        replication_factor: Annotated[int, Wire("int16")] = 0
        topic_configs: Annotated[list[StreamsGroupHeartbeatRequest.KeyValue], Wire("[]KeyValue")] = []

    class Endpoint(Struct):
        host: Annotated[str, Wire("string")] = ""
        port: Annotated[int, Wire("uint16")] = 0

    class TaskOffset(Struct):
        subtopology_id: Annotated[str, Wire("string")] = ""
        partition: Annotated[int, Wire("int32")] = 0
        offset: Annotated[int, Wire("int64")] = 0

    class TaskIds(Struct):
        subtopology_id: Annotated[str, Wire("string")] = ""
        partitions: Annotated[list[int], Wire("[]int32")] = []

    class CopartitionGroup(Struct):
        source_topics: Annotated[list[int], Wire("[]int16")] = []
        source_topic_regex: Annotated[list[int], Wire("[]int16")] = []
        repartition_source_topics: Annotated[list[int], Wire("[]int16")] = []

    class Subtopology(Struct):
        subtopology_id: Annotated[str, Wire("string")] = ""
        source_topics: Annotated[list[str], Wire("[]string")] = []
        source_topic_regex: Annotated[list[str], Wire("[]string")] = []
        state_changelog_topics: Annotated[list[StreamsGroupHeartbeatRequest.TopicInfo], Wire("[]TopicInfo")] = []
        repartition_sink_topics: Annotated[list[str], Wire("[]string")] = []
        repartition_source_topics: Annotated[list[StreamsGroupHeartbeatRequest.TopicInfo], Wire("[]TopicInfo")] = []
        copartition_groups: Annotated[
            list[StreamsGroupHeartbeatRequest.CopartitionGroup], Wire("[]CopartitionGroup")
        ] = []

    class Topology(Struct):
        epoch: Annotated[int, Wire("int32")] = 0
        subtopologies: Annotated[list[StreamsGroupHeartbeatRequest.Subtopology], Wire("[]Subtopology")] = []

    group_id: Annotated[str, Wire("string")] = ""
    member_id: Annotated[str, Wire("string")] = ""
    member_epoch: Annotated[int, Wire("int32")] = 0
    endpoint_information_epoch: Annotated[int, Wire("int32")] = 0
    instance_id: Annotated[str | None, Wire("string", nullable="0+")] = None
    rack_id: Annotated[str | None, Wire("string", nullable="0+")] = None
    rebalance_timeout_ms: Annotated[int, Wire("int32")] = -1
    topology: Annotated[StreamsGroupHeartbeatRequest.Topology | None, Wire("Topology", nullable="0+")] = None
    active_tasks: Annotated[list[StreamsGroupHeartbeatRequest.TaskIds] | None, Wire("[]TaskIds", nullable="0+")] = None
    standby_tasks: Annotated[list[StreamsGroupHeartbeatRequest.TaskIds] | None, Wire("[]TaskIds", nullable="0+")] = None
    warmup_tasks: Annotated[list[StreamsGroupHeartbeatRequest.TaskIds] | None, Wire("[]TaskIds", nullable="0+")] = None
    process_id: Annotated[str | None, Wire("string", nullable="0+")] = None
    user_endpoint: Annotated[StreamsGroupHeartbeatRequest.Endpoint | None, Wire("Endpoint", nullable="0+")] = None
    client_tags: Annotated[list[StreamsGroupHeartbeatRequest.KeyValue] | None, Wire("[]KeyValue", nullable="0+")] = None
    task_offsets: Annotated[
        list[StreamsGroupHeartbeatRequest.TaskOffset] | None, Wire("[]TaskOffset", nullable="0+")
    ] = None
    task_end_offsets: Annotated[
        list[StreamsGroupHeartbeatRequest.TaskOffset] | None, Wire("[]TaskOffset", nullable="0+")
    ] = None
    shutdown_application: Annotated[bool, Wire("bool")] = False


class StreamsGroupHeartbeatResponse(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 88
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    class Status(Struct):
        status_code: Annotated[int, Wire("int8")] = 0
        status_detail: Annotated[str, Wire("string")] = ""

    class TopicPartition(Struct):
        topic: Annotated[str, Wire("string")] = ""
        partitions: Annotated[list[int], Wire("[]int32")] = []

    class TaskIds(Struct):
        subtopology_id: Annotated[str, Wire("string")] = ""
        partitions: Annotated[list[int], Wire("[]int32")] = []

    class Endpoint(Struct):
        host: Annotated[str, Wire("string")] = ""
        port: Annotated[int, Wire("uint16")] = 0

    class EndpointToPartitions(Struct):
        user_endpoint: Annotated[StreamsGroupHeartbeatResponse.Endpoint, Wire("Endpoint")] = msgspec.field(
            default_factory=lambda: StreamsGroupHeartbeatResponse.Endpoint()
        )
        active_partitions: Annotated[list[StreamsGroupHeartbeatResponse.TopicPartition], Wire("[]TopicPartition")] = []
        standby_partitions: Annotated[list[StreamsGroupHeartbeatResponse.TopicPartition], Wire("[]TopicPartition")] = []

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    error_message: Annotated[str | None, Wire("string", nullable="0+")] = None
    member_id: Annotated[str, Wire("string")] = ""
    member_epoch: Annotated[int, Wire("int32")] = 0
    heartbeat_interval_ms: Annotated[int, Wire("int32")] = 0
    acceptable_recovery_lag_legacy: Annotated[int, Wire("int32", "0")] = 0
    task_offset_interval_ms: Annotated[int, Wire("int32")] = 0
    acceptable_recovery_lag: Annotated[int, Wire("int64", "1+", ignorable=True)] = -1
    status: Annotated[list[StreamsGroupHeartbeatResponse.Status] | None, Wire("[]Status", nullable="0+")] = []
    active_tasks: Annotated[list[StreamsGroupHeartbeatResponse.TaskIds] | None, Wire("[]TaskIds", nullable="0+")] = None
    standby_tasks: Annotated[list[StreamsGroupHeartbeatResponse.TaskIds] | None, Wire("[]TaskIds", nullable="0+")] = (
        None
    )
    warmup_tasks: Annotated[list[StreamsGroupHeartbeatResponse.TaskIds] | None, Wire("[]TaskIds", nullable="0+")] = None
    topology_description_required: Annotated[bool, Wire("bool", "1+")] = False
    endpoint_information_epoch: Annotated[int, Wire("int32")] = 0
    partitions_by_user_endpoint: Annotated[
        list[StreamsGroupHeartbeatResponse.EndpointToPartitions] | None, Wire("[]EndpointToPartitions", nullable="0+")
    ] = None
