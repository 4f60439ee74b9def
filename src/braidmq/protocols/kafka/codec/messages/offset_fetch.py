"""Offset fetch, API key 9.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Struct, Uuid, Wire


class OffsetFetchRequest(ApiMessage):
    """Versions 0 to 10."""

    API_KEY = 9
    VERSIONS = (0, 10)
    FLEXIBLE_SINCE = 6

    class OffsetFetchRequestTopic(Struct):
        name: Annotated[str, Wire("string", "0-7")] = ""
        partition_indexes: Annotated[list[int], Wire("[]int32", "0-7")] = []

    class OffsetFetchRequestTopics(Struct):
        name: Annotated[str, Wire("string", "8-9", ignorable=True)] = ""
        topic_id: Annotated[Uuid, Wire("uuid", "10+", ignorable=True)] = NO_UUID
        partition_indexes: Annotated[list[int], Wire("[]int32", "8+")] = []

    class OffsetFetchRequestGroup(Struct):
        group_id: Annotated[str, Wire("string", "8+")] = ""
        member_id: Annotated[str | None, Wire("string", "9+", nullable="9+", ignorable=True)] = None
        member_epoch: Annotated[int, Wire("int32", "9+", ignorable=True)] = -1
        topics: Annotated[
            list[OffsetFetchRequest.OffsetFetchRequestTopics] | None,
            Wire("[]OffsetFetchRequestTopics", "8+", nullable="8+"),
        ] = []

    group_id: Annotated[str, Wire("string", "0-7")] = ""
    topics: Annotated[
        list[OffsetFetchRequest.OffsetFetchRequestTopic] | None,
        Wire("[]OffsetFetchRequestTopic", "0-7", nullable="2-7"),
    ] = []
    groups: Annotated[list[OffsetFetchRequest.OffsetFetchRequestGroup], Wire("[]OffsetFetchRequestGroup", "8+")] = []
    require_stable: Annotated[bool, Wire("bool", "7+")] = False


class OffsetFetchResponse(ApiMessage):
    """Versions 0 to 10."""

    API_KEY = 9
    VERSIONS = (0, 10)
    FLEXIBLE_SINCE = 6

    class OffsetFetchResponsePartition(Struct):
        partition_index: Annotated[int, Wire("int32", "0-7")] = 0
        committed_offset: Annotated[int, Wire("int64", "0-7")] = 0
        committed_leader_epoch: Annotated[int, Wire("int32", "5-7", ignorable=True)] = -1
        metadata: Annotated[str | None, Wire("string", "0-7", nullable="0-7")] = ""
        error_code: Annotated[int, Wire("int16", "0-7")] = 0

    class OffsetFetchResponseTopic(Struct):
        name: Annotated[str, Wire("string", "0-7")] = ""
        partitions: Annotated[
            list[OffsetFetchResponse.OffsetFetchResponsePartition], Wire("[]OffsetFetchResponsePartition", "0-7")
        ] = []

    class OffsetFetchResponsePartitions(Struct):
        partition_index: Annotated[int, Wire("int32", "8+")] = 0
        committed_offset: Annotated[int, Wire("int64", "8+")] = 0
        committed_leader_epoch: Annotated[int, Wire("int32", "8+", ignorable=True)] = -1
        metadata: Annotated[str | None, Wire("string", "8+", nullable="8+")] = ""
        error_code: Annotated[int, Wire("int16", "8+")] = 0

    class OffsetFetchResponseTopics(Struct):
        name: Annotated[str, Wire("string", "8-9", ignorable=True)] = ""
        topic_id: Annotated[Uuid, Wire("uuid", "10+", ignorable=True)] = NO_UUID
        partitions: Annotated[
            list[OffsetFetchResponse.OffsetFetchResponsePartitions], Wire("[]OffsetFetchResponsePartitions", "8+")
        ] = []

    class OffsetFetchResponseGroup(Struct):
        group_id: Annotated[str, Wire("string", "8+")] = ""
        topics: Annotated[
            list[OffsetFetchResponse.OffsetFetchResponseTopics], Wire("[]OffsetFetchResponseTopics", "8+")
        ] = []
        error_code: Annotated[int, Wire("int16", "8+")] = 0

    throttle_time_ms: Annotated[int, Wire("int32", "3+", ignorable=True)] = 0
    topics: Annotated[
        list[OffsetFetchResponse.OffsetFetchResponseTopic], Wire("[]OffsetFetchResponseTopic", "0-7")
    ] = []
    error_code: Annotated[int, Wire("int16", "2-7", ignorable=True)] = 0
    groups: Annotated[list[OffsetFetchResponse.OffsetFetchResponseGroup], Wire("[]OffsetFetchResponseGroup", "8+")] = []
