"""Streams group describe, API key 89.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class StreamsGroupDescribeRequest(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 89
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    group_ids: Annotated[list[str], Wire("[]string")] = []
    include_authorized_operations: Annotated[bool, Wire("bool")] = False
    include_topology_description: Annotated[bool, Wire("bool", "1+")] = False


class StreamsGroupDescribeResponse(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 89
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    class Endpoint(Struct):
        host: Annotated[str, Wire("string")] = ""
        port: Annotated[int, Wire("uint16")] = 0

    class TaskOffset(Struct):
        subtopology_id: Annotated[str, Wire("string")] = ""
        partition: Annotated[int, Wire("int32")] = 0
        offset: Annotated[int, Wire("int64")] = 0

    class Assignment(Struct):
        active_tasks: Annotated[list[StreamsGroupDescribeResponse.TaskIds], Wire("[]TaskIds")] = []
        standby_tasks: Annotated[list[StreamsGroupDescribeResponse.TaskIds], Wire("[]TaskIds")] = []
        warmup_tasks: Annotated[list[StreamsGroupDescribeResponse.TaskIds], Wire("[]TaskIds")] = []

    class TaskIds(Struct):
        subtopology_id: Annotated[str, Wire("string")] = ""
        partitions: Annotated[list[int], Wire("[]int32")] = []

    class KeyValue(Struct):
        key: Annotated[str, Wire("string")] = ""
        value: Annotated[str, Wire("string")] = ""

    class TopicInfo(Struct):
        name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[int, Wire("int32")] = 0
        replication_factor: Annotated[int, Wire("int16")] = 0
        topic_configs: Annotated[list[StreamsGroupDescribeResponse.KeyValue], Wire("[]KeyValue")] = []

    class TopologyDescription(Struct):
        subtopologies: Annotated[
            list[StreamsGroupDescribeResponse.TopologyDescriptionSubtopology],
            Wire("[]TopologyDescriptionSubtopology", "1+"),
        ] = []
        global_stores: Annotated[
            list[StreamsGroupDescribeResponse.TopologyDescriptionGlobalStore],
            Wire("[]TopologyDescriptionGlobalStore", "1+"),
        ] = []

    class TopologyDescriptionSubtopology(Struct):
        subtopology_id: Annotated[str, Wire("string", "1+")] = ""
        nodes: Annotated[
            list[StreamsGroupDescribeResponse.TopologyDescriptionNode], Wire("[]TopologyDescriptionNode", "1+")
        ] = []

    class TopologyDescriptionNode(Struct):
        name: Annotated[str, Wire("string", "1+")] = ""
        node_type: Annotated[int, Wire("int8", "1+")] = 0
        source_topics: Annotated[list[str], Wire("[]string", "1+")] = []
        sink_topic: Annotated[str | None, Wire("string", "1+", nullable="1+")] = None
        stores: Annotated[list[str], Wire("[]string", "1+")] = []
        successors: Annotated[list[str], Wire("[]string", "1+")] = []

    class TopologyDescriptionGlobalStore(Struct):
        source: Annotated[
            StreamsGroupDescribeResponse.TopologyDescriptionNode, Wire("TopologyDescriptionNode", "1+")
        ] = msgspec.field(default_factory=lambda: StreamsGroupDescribeResponse.TopologyDescriptionNode())
        processor: Annotated[
            StreamsGroupDescribeResponse.TopologyDescriptionNode, Wire("TopologyDescriptionNode", "1+")
        ] = msgspec.field(default_factory=lambda: StreamsGroupDescribeResponse.TopologyDescriptionNode())

    class Subtopology(Struct):
        subtopology_id: Annotated[str, Wire("string")] = ""
        source_topics: Annotated[list[str], Wire("[]string")] = []
        repartition_sink_topics: Annotated[list[str], Wire("[]string")] = []
        state_changelog_topics: Annotated[list[StreamsGroupDescribeResponse.TopicInfo], Wire("[]TopicInfo")] = []
        repartition_source_topics: Annotated[list[StreamsGroupDescribeResponse.TopicInfo], Wire("[]TopicInfo")] = []

    class Topology(Struct):
        epoch: Annotated[int, Wire("int32")] = 0
        subtopologies: Annotated[
            list[StreamsGroupDescribeResponse.Subtopology] | None, Wire("[]Subtopology", nullable="0+")
        ] = None

    class Member(Struct):
        member_id: Annotated[str, Wire("string")] = ""
        member_epoch: Annotated[int, Wire("int32")] = 0
        instance_id: Annotated[str | None, Wire("string", nullable="0+")] = None
        rack_id: Annotated[str | None, Wire("string", nullable="0+")] = None
        client_id: Annotated[str, Wire("string")] = ""
        client_host: Annotated[str, Wire("string")] = ""
        topology_epoch: Annotated[int, Wire("int32")] = 0
        process_id: Annotated[str, Wire("string")] = ""
        user_endpoint: Annotated[StreamsGroupDescribeResponse.Endpoint | None, Wire("Endpoint", nullable="0+")] = None
        client_tags: Annotated[list[StreamsGroupDescribeResponse.KeyValue], Wire("[]KeyValue")] = []
        task_offsets: Annotated[list[StreamsGroupDescribeResponse.TaskOffset], Wire("[]TaskOffset")] = []
        task_end_offsets: Annotated[list[StreamsGroupDescribeResponse.TaskOffset], Wire("[]TaskOffset")] = []
        assignment: Annotated[StreamsGroupDescribeResponse.Assignment, Wire("Assignment")] = msgspec.field(
            default_factory=lambda: StreamsGroupDescribeResponse.Assignment()
        )
        target_assignment: Annotated[StreamsGroupDescribeResponse.Assignment, Wire("Assignment")] = msgspec.field(
            default_factory=lambda: StreamsGroupDescribeResponse.Assignment()
        )
        is_classic: Annotated[bool, Wire("bool")] = False

    class DescribedGroup(Struct):
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", nullable="0+")] = None
        group_id: Annotated[str, Wire("string")] = ""
        group_state: Annotated[str, Wire("string")] = ""
        group_epoch: Annotated[int, Wire("int32")] = 0
        assignment_epoch: Annotated[int, Wire("int32")] = 0
        topology: Annotated[StreamsGroupDescribeResponse.Topology | None, Wire("Topology", nullable="0+")] = None
        members: Annotated[list[StreamsGroupDescribeResponse.Member], Wire("[]Member")] = []
        authorized_operations: Annotated[int, Wire("int32")] = -2147483648
        topology_description: Annotated[
            StreamsGroupDescribeResponse.TopologyDescription | None, Wire("TopologyDescription", "1+", nullable="1+")
        ] = None
        topology_description_status: Annotated[int, Wire("int8", "1+")] = 0
        assignor_name: Annotated[str | None, Wire("string", "1+", nullable="1+", ignorable=True)] = None

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    groups: Annotated[list[StreamsGroupDescribeResponse.DescribedGroup], Wire("[]DescribedGroup")] = []
