"""Describe producers, API key 61.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class DescribeProducersRequest(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 61
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    class TopicRequest(Struct):
        name: Annotated[str, Wire("string")] = ""
        partition_indexes: Annotated[list[int], Wire("[]int32")] = []

    topics: Annotated[list[DescribeProducersRequest.TopicRequest], Wire("[]TopicRequest")] = []


class DescribeProducersResponse(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 61
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    class ProducerState(Struct):
        producer_id: Annotated[int, Wire("int64")] = 0
        producer_epoch: Annotated[int, Wire("int32")] = 0
        last_sequence: Annotated[int, Wire("int32")] = -1
        last_timestamp: Annotated[int, Wire("int64")] = -1
        coordinator_epoch: Annotated[int, Wire("int32")] = 0
        current_txn_start_offset: Annotated[int, Wire("int64")] = -1

    class PartitionResponse(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", nullable="0+")] = None
        active_producers: Annotated[list[DescribeProducersResponse.ProducerState], Wire("[]ProducerState")] = []

    class TopicResponse(Struct):
        name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[list[DescribeProducersResponse.PartitionResponse], Wire("[]PartitionResponse")] = []

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    topics: Annotated[list[DescribeProducersResponse.TopicResponse], Wire("[]TopicResponse")] = []
