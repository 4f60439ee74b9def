"""List offsets, API key 2.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class ListOffsetsRequest(ApiMessage):
    """Versions 0 to 11."""

    API_KEY = 2
    VERSIONS = (0, 11)
    FLEXIBLE_SINCE = 6

    class ListOffsetsPartition(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        current_leader_epoch: Annotated[int, Wire("int32", "4+", ignorable=True)] = -1
        timestamp: Annotated[int, Wire("int64")] = 0
        max_num_offsets: Annotated[int, Wire("int32", "0")] = 1

    class ListOffsetsTopic(Struct):
        name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[list[ListOffsetsRequest.ListOffsetsPartition], Wire("[]ListOffsetsPartition")] = []

    replica_id: Annotated[int, Wire("int32")] = 0
    isolation_level: Annotated[int, Wire("int8", "2+")] = 0
    topics: Annotated[list[ListOffsetsRequest.ListOffsetsTopic], Wire("[]ListOffsetsTopic")] = []
    timeout_ms: Annotated[int, Wire("int32", "10+", ignorable=True)] = 0


class ListOffsetsResponse(ApiMessage):
    """Versions 0 to 11."""

    API_KEY = 2
    VERSIONS = (0, 11)
    FLEXIBLE_SINCE = 6

    class ListOffsetsPartitionResponse(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        error_code: Annotated[int, Wire("int16")] = 0
        old_style_offsets: Annotated[list[int], Wire("[]int64", "0")] = []
        timestamp: Annotated[int, Wire("int64", "1+")] = -1
        offset: Annotated[int, Wire("int64", "1+")] = -1
        leader_epoch: Annotated[int, Wire("int32", "4+")] = -1

    class ListOffsetsTopicResponse(Struct):
        name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[
            list[ListOffsetsResponse.ListOffsetsPartitionResponse], Wire("[]ListOffsetsPartitionResponse")
        ] = []

    throttle_time_ms: Annotated[int, Wire("int32", "2+", ignorable=True)] = 0
    topics: Annotated[list[ListOffsetsResponse.ListOffsetsTopicResponse], Wire("[]ListOffsetsTopicResponse")] = []
