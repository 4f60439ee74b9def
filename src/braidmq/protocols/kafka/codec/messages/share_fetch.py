"""Share fetch, API key 78.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Buffer, Struct, Uuid, Wire


class ShareFetchRequest(ApiMessage):
    """Versions 1 to 2."""

    API_KEY = 78
    VERSIONS = (1, 2)
    FLEXIBLE_SINCE = 0

    class AcknowledgementBatch(Struct):
        first_offset: Annotated[int, Wire("int64")] = 0
        last_offset: Annotated[int, Wire("int64")] = 0
        acknowledge_types: Annotated[list[int], Wire("[]int8")] = []

    class FetchPartition(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        partition_max_bytes: Annotated[int, Wire("int32", "0")] = 0
        acknowledgement_batches: Annotated[
            list[ShareFetchRequest.AcknowledgementBatch], Wire("[]AcknowledgementBatch")
        ] = []

    class FetchTopic(Struct):
        topic_id: Annotated[Uuid, Wire("uuid")] = NO_UUID
        partitions: Annotated[list[ShareFetchRequest.FetchPartition], Wire("[]FetchPartition")] = []

    class ForgottenTopic(Struct):
        topic_id: Annotated[Uuid, Wire("uuid")] = NO_UUID
        partitions: Annotated[list[int], Wire("[]int32")] = []

    group_id: Annotated[str | None, Wire("string", nullable="0+")] = None
    member_id: Annotated[str | None, Wire("string", nullable="0+")] = ""
    share_session_epoch: Annotated[int, Wire("int32")] = 0
    max_wait_ms: Annotated[int, Wire("int32")] = 0
    min_bytes: Annotated[int, Wire("int32")] = 0
    max_bytes: Annotated[int, Wire("int32")] = 2147483647
    max_records: Annotated[int, Wire("int32", "1+")] = 0
    batch_size: Annotated[int, Wire("int32", "1+")] = 0
    share_acquire_mode: Annotated[int, Wire("int8", "2+", ignorable=True)] = 0
    is_renew_ack: Annotated[bool, Wire("bool", "2+")] = False
    topics: Annotated[list[ShareFetchRequest.FetchTopic], Wire("[]FetchTopic")] = []
    forgotten_topics_data: Annotated[list[ShareFetchRequest.ForgottenTopic], Wire("[]ForgottenTopic")] = []


class ShareFetchResponse(ApiMessage):
    """Versions 1 to 2."""

    API_KEY = 78
    VERSIONS = (1, 2)
    FLEXIBLE_SINCE = 0

    class LeaderIdAndEpoch(Struct):
        leader_id: Annotated[int, Wire("int32")] = 0
        leader_epoch: Annotated[int, Wire("int32")] = 0

    class AcquiredRecords(Struct):
        first_offset: Annotated[int, Wire("int64")] = 0
        last_offset: Annotated[int, Wire("int64")] = 0
        delivery_count: Annotated[int, Wire("int16")] = 0

    class PartitionData(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", nullable="0+")] = None
        acknowledge_error_code: Annotated[int, Wire("int16")] = 0
        acknowledge_error_message: Annotated[str | None, Wire("string", nullable="0+")] = None
        current_leader: Annotated[ShareFetchResponse.LeaderIdAndEpoch, Wire("LeaderIdAndEpoch")] = msgspec.field(
            default_factory=lambda: ShareFetchResponse.LeaderIdAndEpoch()
        )
        records: Annotated[Buffer | None, Wire("records", nullable="0")] = b""
        acquired_records: Annotated[list[ShareFetchResponse.AcquiredRecords], Wire("[]AcquiredRecords")] = []

    class ShareFetchableTopicResponse(Struct):
        topic_id: Annotated[Uuid, Wire("uuid")] = NO_UUID
        partitions: Annotated[list[ShareFetchResponse.PartitionData], Wire("[]PartitionData")] = []

    class NodeEndpoint(Struct):
        node_id: Annotated[int, Wire("int32")] = 0
        host: Annotated[str, Wire("string")] = ""
        port: Annotated[int, Wire("int32")] = 0
        rack: Annotated[str | None, Wire("string", nullable="0+")] = None

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    error_message: Annotated[str | None, Wire("string", nullable="0+")] = None
    acquisition_lock_timeout_ms: Annotated[int, Wire("int32", "1+")] = 0
    responses: Annotated[
        list[ShareFetchResponse.ShareFetchableTopicResponse], Wire("[]ShareFetchableTopicResponse")
    ] = []
    node_endpoints: Annotated[list[ShareFetchResponse.NodeEndpoint], Wire("[]NodeEndpoint")] = []
