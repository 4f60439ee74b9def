"""Share acknowledge, API key 79.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Struct, Uuid, Wire


class ShareAcknowledgeRequest(ApiMessage):
    """Versions 1 to 2."""

    API_KEY = 79
    VERSIONS = (1, 2)
    FLEXIBLE_SINCE = 0

    class AcknowledgementBatch(Struct):
        first_offset: Annotated[int, Wire("int64")] = 0
        last_offset: Annotated[int, Wire("int64")] = 0
        acknowledge_types: Annotated[list[int], Wire("[]int8")] = []

    class AcknowledgePartition(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        acknowledgement_batches: Annotated[
            list[ShareAcknowledgeRequest.AcknowledgementBatch], Wire("[]AcknowledgementBatch")
        ] = []

    class AcknowledgeTopic(Struct):
        topic_id: Annotated[Uuid, Wire("uuid")] = NO_UUID
        partitions: Annotated[list[ShareAcknowledgeRequest.AcknowledgePartition], Wire("[]AcknowledgePartition")] = []

    group_id: Annotated[str | None, Wire("string", nullable="0+")] = None
    member_id: Annotated[str | None, Wire("string", nullable="0+")] = ""
    share_session_epoch: Annotated[int, Wire("int32")] = 0
    is_renew_ack: Annotated[bool, Wire("bool", "2+")] = False
    topics: Annotated[list[ShareAcknowledgeRequest.AcknowledgeTopic], Wire("[]AcknowledgeTopic")] = []


class ShareAcknowledgeResponse(ApiMessage):
    """Versions 1 to 2."""

    API_KEY = 79
    VERSIONS = (1, 2)
    FLEXIBLE_SINCE = 0

    class LeaderIdAndEpoch(Struct):
        leader_id: Annotated[int, Wire("int32")] = 0
        leader_epoch: Annotated[int, Wire("int32")] = 0

    class PartitionData(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", nullable="0+")] = None
        current_leader: Annotated[ShareAcknowledgeResponse.LeaderIdAndEpoch, Wire("LeaderIdAndEpoch")] = msgspec.field(
            default_factory=lambda: ShareAcknowledgeResponse.LeaderIdAndEpoch()
        )

    class ShareAcknowledgeTopicResponse(Struct):
        topic_id: Annotated[Uuid, Wire("uuid")] = NO_UUID
        partitions: Annotated[list[ShareAcknowledgeResponse.PartitionData], Wire("[]PartitionData")] = []

    class NodeEndpoint(Struct):
        node_id: Annotated[int, Wire("int32")] = 0
        host: Annotated[str, Wire("string")] = ""
        port: Annotated[int, Wire("int32")] = 0
        rack: Annotated[str | None, Wire("string", nullable="0+")] = None

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    error_message: Annotated[str | None, Wire("string", nullable="0+")] = None
    acquisition_lock_timeout_ms: Annotated[int, Wire("int32", "2+", ignorable=True)] = 0
    responses: Annotated[
        list[ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse], Wire("[]ShareAcknowledgeTopicResponse")
    ] = []
    node_endpoints: Annotated[list[ShareAcknowledgeResponse.NodeEndpoint], Wire("[]NodeEndpoint")] = []
