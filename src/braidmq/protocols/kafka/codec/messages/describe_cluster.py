"""Describe cluster, API key 60.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class DescribeClusterRequest(ApiMessage):
    """Versions 0 to 2."""

    API_KEY = 60
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 0

    include_cluster_authorized_operations: Annotated[bool, Wire("bool")] = False
    endpoint_type: Annotated[int, Wire("int8", "1+")] = 1
    include_fenced_brokers: Annotated[bool, Wire("bool", "2+")] = False


class DescribeClusterResponse(ApiMessage):
    """Versions 0 to 2."""

    API_KEY = 60
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 0

    class DescribeClusterBroker(Struct):
        broker_id: Annotated[int, Wire("int32")] = 0
        host: Annotated[str, Wire("string")] = ""
        port: Annotated[int, Wire("int32")] = 0
        rack: Annotated[str | None, Wire("string", nullable="0+")] = None
        is_fenced: Annotated[bool, Wire("bool", "2+")] = False

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    error_message: Annotated[str | None, Wire("string", nullable="0+")] = None
    endpoint_type: Annotated[int, Wire("int8", "1+")] = 1
    cluster_id: Annotated[str, Wire("string")] = ""
    controller_id: Annotated[int, Wire("int32")] = -1
    brokers: Annotated[list[DescribeClusterResponse.DescribeClusterBroker], Wire("[]DescribeClusterBroker")] = []
    cluster_authorized_operations: Annotated[int, Wire("int32")] = -2147483648
