"""Create partitions, API key 37.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class CreatePartitionsRequest(ApiMessage):
    """Versions 0 to 3."""

    API_KEY = 37
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    class CreatePartitionsAssignment(Struct):
        broker_ids: Annotated[list[int], Wire("[]int32")] = []

    class CreatePartitionsTopic(Struct):
        name: Annotated[str, Wire("string")] = ""
        count: Annotated[int, Wire("int32")] = 0
        assignments: Annotated[
            list[CreatePartitionsRequest.CreatePartitionsAssignment] | None,
            Wire("[]CreatePartitionsAssignment", nullable="0+"),
        ] = []

    topics: Annotated[list[CreatePartitionsRequest.CreatePartitionsTopic], Wire("[]CreatePartitionsTopic")] = []
    timeout_ms: Annotated[int, Wire("int32")] = 0
    validate_only: Annotated[bool, Wire("bool")] = False


class CreatePartitionsResponse(ApiMessage):
    """Versions 0 to 3."""

    API_KEY = 37
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    class CreatePartitionsTopicResult(Struct):
        name: Annotated[str, Wire("string")] = ""
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", nullable="0+")] = None

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    results: Annotated[
        list[CreatePartitionsResponse.CreatePartitionsTopicResult], Wire("[]CreatePartitionsTopicResult")
    ] = []
