"""Fetch snapshot, API key 59.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Buffer, Struct, Uuid, Wire


class FetchSnapshotRequest(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 59
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    class SnapshotId(Struct):
        end_offset: Annotated[int, Wire("int64")] = 0
        epoch: Annotated[int, Wire("int32")] = 0

    class PartitionSnapshot(Struct):
        partition: Annotated[int, Wire("int32")] = 0
        current_leader_epoch: Annotated[int, Wire("int32")] = 0
        snapshot_id: Annotated[FetchSnapshotRequest.SnapshotId, Wire("SnapshotId")] = msgspec.field(
            default_factory=lambda: FetchSnapshotRequest.SnapshotId()
        )
        position: Annotated[int, Wire("int64")] = 0
        replica_directory_id: Annotated[Uuid, Wire("uuid", "1+", tag=0, tagged="1+", ignorable=True)] = NO_UUID

    class TopicSnapshot(Struct):
        name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[list[FetchSnapshotRequest.PartitionSnapshot], Wire("[]PartitionSnapshot")] = []

    cluster_id: Annotated[str | None, Wire("string", nullable="0+", tag=0, tagged="0+")] = None
    replica_id: Annotated[int, Wire("int32")] = -1
    max_bytes: Annotated[int, Wire("int32")] = 2147483647
    topics: Annotated[list[FetchSnapshotRequest.TopicSnapshot], Wire("[]TopicSnapshot")] = []


class FetchSnapshotResponse(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 59
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    class SnapshotId(Struct):
        end_offset: Annotated[int, Wire("int64")] = 0
        epoch: Annotated[int, Wire("int32")] = 0

    class LeaderIdAndEpoch(Struct):
        leader_id: Annotated[int, Wire("int32")] = 0
        leader_epoch: Annotated[int, Wire("int32")] = 0

    class PartitionSnapshot(Struct):
        index: Annotated[int, Wire("int32")] = 0
        error_code: Annotated[int, Wire("int16")] = 0
        snapshot_id: Annotated[FetchSnapshotResponse.SnapshotId, Wire("SnapshotId")] = msgspec.field(
            default_factory=lambda: FetchSnapshotResponse.SnapshotId()
        )
        current_leader: Annotated[
            FetchSnapshotResponse.LeaderIdAndEpoch | None, Wire("LeaderIdAndEpoch", tag=0, tagged="0+")
        ] = None
        size: Annotated[int, Wire("int64")] = 0
        position: Annotated[int, Wire("int64")] = 0
        unaligned_records: Annotated[Buffer, Wire("records")] = b""

    class TopicSnapshot(Struct):
        name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[list[FetchSnapshotResponse.PartitionSnapshot], Wire("[]PartitionSnapshot")] = []

    class NodeEndpoint(Struct):
        node_id: Annotated[int, Wire("int32", "1+")] = 0
        host: Annotated[str, Wire("string", "1+")] = ""
        port: Annotated[int, Wire("uint16", "1+")] = 0

    throttle_time_ms: Annotated[int, Wire("int32", ignorable=True)] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    topics: Annotated[list[FetchSnapshotResponse.TopicSnapshot], Wire("[]TopicSnapshot")] = []
    node_endpoints: Annotated[
        list[FetchSnapshotResponse.NodeEndpoint], Wire("[]NodeEndpoint", "1+", tag=0, tagged="1+")
    ] = []
