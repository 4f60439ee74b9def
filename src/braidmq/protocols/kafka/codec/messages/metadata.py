"""Metadata, API key 3.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Struct, Uuid, Wire


class MetadataRequest(ApiMessage):
    """Versions 0 to 13."""

    API_KEY = 3
    VERSIONS = (0, 13)
    FLEXIBLE_SINCE = 9

    class MetadataRequestTopic(Struct):
        topic_id: Annotated[Uuid, Wire("uuid", "10+", ignorable=True)] = NO_UUID
        name: Annotated[str | None, Wire("string", nullable="10+")] = ""

    topics: Annotated[
        list[MetadataRequest.MetadataRequestTopic] | None, Wire("[]MetadataRequestTopic", nullable="1+")
    ] = []
    allow_auto_topic_creation: Annotated[bool, Wire("bool", "4+")] = True
    include_cluster_authorized_operations: Annotated[bool, Wire("bool", "8-10")] = False
    include_topic_authorized_operations: Annotated[bool, Wire("bool", "8+")] = False


class MetadataResponse(ApiMessage):
    """Versions 0 to 13."""

    API_KEY = 3
    VERSIONS = (0, 13)
    FLEXIBLE_SINCE = 9

    class MetadataResponseBroker(Struct):
        node_id: Annotated[int, Wire("int32")] = 0
        host: Annotated[str, Wire("string")] = ""
        port: Annotated[int, Wire("int32")] = 0
        rack: Annotated[str | None, Wire("string", "1+", nullable="1+", ignorable=True)] = None

    class MetadataResponsePartition(Struct):
        error_code: Annotated[int, Wire("int16")] = 0
        partition_index: Annotated[int, Wire("int32")] = 0
        leader_id: Annotated[int, Wire("int32")] = 0
        leader_epoch: Annotated[int, Wire("int32", "7+", ignorable=True)] = -1
        replica_nodes: Annotated[list[int], Wire("[]int32")] = []
        isr_nodes: Annotated[list[int], Wire("[]int32")] = []
        offline_replicas: Annotated[list[int], Wire("[]int32", "5+", ignorable=True)] = []

    class MetadataResponseTopic(Struct):
        error_code: Annotated[int, Wire("int16")] = 0
        name: Annotated[str | None, Wire("string", nullable="12+")] = ""
        topic_id: Annotated[Uuid, Wire("uuid", "10+", ignorable=True)] = NO_UUID
        is_internal: Annotated[bool, Wire("bool", "1+", ignorable=True)] = False
        partitions: Annotated[
            list[MetadataResponse.MetadataResponsePartition], Wire("[]MetadataResponsePartition")
        ] = []
        topic_authorized_operations: Annotated[int, Wire("int32", "8+")] = -2147483648

    throttle_time_ms: Annotated[int, Wire("int32", "3+", ignorable=True)] = 0
    brokers: Annotated[list[MetadataResponse.MetadataResponseBroker], Wire("[]MetadataResponseBroker")] = []
    cluster_id: Annotated[str | None, Wire("string", "2+", nullable="2+", ignorable=True)] = None
    controller_id: Annotated[int, Wire("int32", "1+", ignorable=True)] = -1
    topics: Annotated[list[MetadataResponse.MetadataResponseTopic], Wire("[]MetadataResponseTopic")] = []
    cluster_authorized_operations: Annotated[int, Wire("int32", "8-10")] = -2147483648
    error_code: Annotated[int, Wire("int16", "13+", ignorable=True)] = 0
