"""Streams group topology description update, API key 93.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class StreamsGroupTopologyDescriptionUpdateRequest(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 93
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    class TopologyDescription(Struct):
        subtopologies: Annotated[
            list[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionSubtopology],
            Wire("[]TopologyDescriptionSubtopology"),
        ] = []
        global_stores: Annotated[
            list[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionGlobalStore],
            Wire("[]TopologyDescriptionGlobalStore"),
        ] = []

    class TopologyDescriptionSubtopology(Struct):
        subtopology_id: Annotated[str, Wire("string")] = ""
        nodes: Annotated[
            list[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode],
            Wire("[]TopologyDescriptionNode"),
        ] = []

    class TopologyDescriptionNode(Struct):
        name: Annotated[str, Wire("string")] = ""
        node_type: Annotated[int, Wire("int8")] = 0
        source_topics: Annotated[list[str], Wire("[]string")] = []
        sink_topic: Annotated[str | None, Wire("string", nullable="0+")] = None
        stores: Annotated[list[str], Wire("[]string")] = []
        successors: Annotated[list[str], Wire("[]string")] = []

    class TopologyDescriptionGlobalStore(Struct):
        source: Annotated[
            StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode, Wire("TopologyDescriptionNode")
        ] = msgspec.field(
            default_factory=lambda: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode()
        )
        processor: Annotated[
            StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode, Wire("TopologyDescriptionNode")
        ] = msgspec.field(
            default_factory=lambda: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode()
        )

    group_id: Annotated[str, Wire("string")] = ""
    member_id: Annotated[str, Wire("string")] = ""
    topology_epoch: Annotated[int, Wire("int32")] = 0
    topology_description: Annotated[
        StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescription, Wire("TopologyDescription")
    ] = msgspec.field(default_factory=lambda: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescription())


class StreamsGroupTopologyDescriptionUpdateResponse(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 93
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    error_message: Annotated[str | None, Wire("string", nullable="0+")] = None
