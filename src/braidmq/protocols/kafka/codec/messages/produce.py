"""Produce, API key 0.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Buffer, Struct, Uuid, Wire


class ProduceRequest(ApiMessage):
    """Versions 0 to 13."""

    API_KEY = 0
    VERSIONS = (0, 13)
    FLEXIBLE_SINCE = 9

    class PartitionProduceData(Struct):
        index: Annotated[int, Wire("int32")] = 0
        records: Annotated[Buffer | None, Wire("records", nullable="0+")] = b""

    class TopicProduceData(Struct):
        name: Annotated[str, Wire("string", "0-12", ignorable=True)] = ""
        topic_id: Annotated[Uuid, Wire("uuid", "13+", ignorable=True)] = NO_UUID
        partition_data: Annotated[list[ProduceRequest.PartitionProduceData], Wire("[]PartitionProduceData")] = []

    transactional_id: Annotated[str | None, Wire("string", "3+", nullable="3+")] = None
    acks: Annotated[int, Wire("int16")] = 0
    timeout_ms: Annotated[int, Wire("int32")] = 0
    topic_data: Annotated[list[ProduceRequest.TopicProduceData], Wire("[]TopicProduceData")] = []


class ProduceResponse(ApiMessage):
    """Versions 0 to 13."""

    API_KEY = 0
    VERSIONS = (0, 13)
    FLEXIBLE_SINCE = 9

    class BatchIndexAndErrorMessage(Struct):
        batch_index: Annotated[int, Wire("int32", "8+")] = 0
        batch_index_error_message: Annotated[str | None, Wire("string", "8+", nullable="8+")] = None

    class LeaderIdAndEpoch(Struct):
        leader_id: Annotated[int, Wire("int32", "10+")] = -1
        leader_epoch: Annotated[int, Wire("int32", "10+")] = -1

    class PartitionProduceResponse(Struct):
        index: Annotated[int, Wire("int32")] = 0
        error_code: Annotated[int, Wire("int16")] = 0
        base_offset: Annotated[int, Wire("int64")] = 0
        log_append_time_ms: Annotated[int, Wire("int64", "2+", ignorable=True)] = -1
        log_start_offset: Annotated[int, Wire("int64", "5+", ignorable=True)] = -1
        record_errors: Annotated[
            list[ProduceResponse.BatchIndexAndErrorMessage], Wire("[]BatchIndexAndErrorMessage", "8+", ignorable=True)
        ] = []
        error_message: Annotated[str | None, Wire("string", "8+", nullable="8+", ignorable=True)] = None
        current_leader: Annotated[
            ProduceResponse.LeaderIdAndEpoch | None, Wire("LeaderIdAndEpoch", "10+", tag=0, tagged="10+")
        ] = None

    class TopicProduceResponse(Struct):
        name: Annotated[str, Wire("string", "0-12", ignorable=True)] = ""
        topic_id: Annotated[Uuid, Wire("uuid", "13+", ignorable=True)] = NO_UUID
        partition_responses: Annotated[
            list[ProduceResponse.PartitionProduceResponse], Wire("[]PartitionProduceResponse")
        ] = []

    class NodeEndpoint(Struct):
        node_id: Annotated[int, Wire("int32", "10+")] = 0
        host: Annotated[str, Wire("string", "10+")] = ""
        port: Annotated[int, Wire("int32", "10+")] = 0
        rack: Annotated[str | None, Wire("string", "10+", nullable="10+")] = None

    responses: Annotated[list[ProduceResponse.TopicProduceResponse], Wire("[]TopicProduceResponse")] = []
    throttle_time_ms: Annotated[int, Wire("int32", "1+", ignorable=True)] = 0
    node_endpoints: Annotated[
        list[ProduceResponse.NodeEndpoint], Wire("[]NodeEndpoint", "10+", tag=0, tagged="10+")
    ] = []
