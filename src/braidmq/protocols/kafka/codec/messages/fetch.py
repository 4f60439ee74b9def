"""Fetch, API key 1.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Buffer, Struct, Uuid, Wire


class FetchRequest(ApiMessage):
    """Versions 0 to 18."""

    API_KEY = 1
    VERSIONS = (0, 18)
    FLEXIBLE_SINCE = 12

    class ReplicaState(Struct):
        replica_id: Annotated[int, Wire("int32", "15+")] = -1
        replica_epoch: Annotated[int, Wire("int64", "15+")] = -1

    class FetchPartition(Struct):
        partition: Annotated[int, Wire("int32")] = 0
        current_leader_epoch: Annotated[int, Wire("int32", "9+", ignorable=True)] = -1
        fetch_offset: Annotated[int, Wire("int64")] = 0
        last_fetched_epoch: Annotated[int, Wire("int32", "12+")] = -1
        log_start_offset: Annotated[int, Wire("int64", "5+", ignorable=True)] = -1
        partition_max_bytes: Annotated[int, Wire("int32")] = 0
        replica_directory_id: Annotated[Uuid, Wire("uuid", "17+", tag=0, tagged="17+", ignorable=True)] = NO_UUID
        high_watermark: Annotated[int, Wire("int64", "18+", tag=1, tagged="18+", ignorable=True)] = 9223372036854775807

    class FetchTopic(Struct):
        topic: Annotated[str, Wire("string", "0-12", ignorable=True)] = ""
        topic_id: Annotated[Uuid, Wire("uuid", "13+", ignorable=True)] = NO_UUID
        partitions: Annotated[list[FetchRequest.FetchPartition], Wire("[]FetchPartition")] = []

    class ForgottenTopic(Struct):
        topic: Annotated[str, Wire("string", "7-12", ignorable=True)] = ""
        topic_id: Annotated[Uuid, Wire("uuid", "13+", ignorable=True)] = NO_UUID
        partitions: Annotated[list[int], Wire("[]int32", "7+")] = []

    cluster_id: Annotated[str | None, Wire("string", "12+", nullable="12+", tag=0, tagged="12+", ignorable=True)] = None
    replica_id: Annotated[int, Wire("int32", "0-14")] = -1
    replica_state: Annotated[FetchRequest.ReplicaState | None, Wire("ReplicaState", "15+", tag=1, tagged="15+")] = None
    max_wait_ms: Annotated[int, Wire("int32")] = 0
    min_bytes: Annotated[int, Wire("int32")] = 0
    max_bytes: Annotated[int, Wire("int32", "3+", ignorable=True)] = 2147483647
    isolation_level: Annotated[int, Wire("int8", "4+", ignorable=True)] = 0
    session_id: Annotated[int, Wire("int32", "7+", ignorable=True)] = 0
    session_epoch: Annotated[int, Wire("int32", "7+", ignorable=True)] = -1
    topics: Annotated[list[FetchRequest.FetchTopic], Wire("[]FetchTopic")] = []
    forgotten_topics_data: Annotated[list[FetchRequest.ForgottenTopic], Wire("[]ForgottenTopic", "7+")] = []
    rack_id: Annotated[str, Wire("string", "11+", ignorable=True)] = ""


class FetchResponse(ApiMessage):
    """Versions 0 to 18."""

    API_KEY = 1
    VERSIONS = (0, 18)
    FLEXIBLE_SINCE = 12

    class EpochEndOffset(Struct):
        epoch: Annotated[int, Wire("int32", "12+")] = -1
        end_offset: Annotated[int, Wire("int64", "12+")] = -1

    class LeaderIdAndEpoch(Struct):
        leader_id: Annotated[int, Wire("int32", "12+")] = -1
        leader_epoch: Annotated[int, Wire("int32", "12+")] = -1

    class SnapshotId(Struct):
        end_offset: Annotated[int, Wire("int64")] = -1
        epoch: Annotated[int, Wire("int32")] = -1

    class AbortedTransaction(Struct):
        producer_id: Annotated[int, Wire("int64", "4+")] = 0
        first_offset: Annotated[int, Wire("int64", "4+")] = 0

    class PartitionData(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        error_code: Annotated[int, Wire("int16")] = 0
        high_watermark: Annotated[int, Wire("int64")] = 0
        last_stable_offset: Annotated[int, Wire("int64", "4+", ignorable=True)] = -1
        log_start_offset: Annotated[int, Wire("int64", "5+", ignorable=True)] = -1
        diverging_epoch: Annotated[
            FetchResponse.EpochEndOffset | None, Wire("EpochEndOffset", "12+", tag=0, tagged="12+")
        ] = None
        current_leader: Annotated[
            FetchResponse.LeaderIdAndEpoch | None, Wire("LeaderIdAndEpoch", "12+", tag=1, tagged="12+")
        ] = None
        snapshot_id: Annotated[FetchResponse.SnapshotId | None, Wire("SnapshotId", "12+", tag=2, tagged="12+")] = None
        aborted_transactions: Annotated[
            list[FetchResponse.AbortedTransaction] | None,
            Wire("[]AbortedTransaction", "4+", nullable="4+", ignorable=True),
        ] = []
        preferred_read_replica: Annotated[int, Wire("int32", "11+")] = -1
        records: Annotated[Buffer | None, Wire("records", nullable="0+")] = b""

    class FetchableTopicResponse(Struct):
        topic: Annotated[str, Wire("string", "0-12", ignorable=True)] = ""
        topic_id: Annotated[Uuid, Wire("uuid", "13+", ignorable=True)] = NO_UUID
        partitions: Annotated[list[FetchResponse.PartitionData], Wire("[]PartitionData")] = []

    class NodeEndpoint(Struct):
        node_id: Annotated[int, Wire("int32", "16+")] = 0
        host: Annotated[str, Wire("string", "16+")] = ""
        port: Annotated[int, Wire("int32", "16+")] = 0
        rack: Annotated[str | None, Wire("string", "16+", nullable="16+")] = None

    throttle_time_ms: Annotated[int, Wire("int32", "1+", ignorable=True)] = 0
    error_code: Annotated[int, Wire("int16", "7+", ignorable=True)] = 0
    session_id: Annotated[int, Wire("int32", "7+")] = 0
    responses: Annotated[list[FetchResponse.FetchableTopicResponse], Wire("[]FetchableTopicResponse")] = []
    node_endpoints: Annotated[list[FetchResponse.NodeEndpoint], Wire("[]NodeEndpoint", "16+", tag=0, tagged="16+")] = []
