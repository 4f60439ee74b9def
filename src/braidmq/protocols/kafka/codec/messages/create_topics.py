"""Create topics, API key 19.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Struct, Uuid, Wire


class CreateTopicsRequest(ApiMessage):
    """Versions 0 to 7."""

    API_KEY = 19
    VERSIONS = (0, 7)
    FLEXIBLE_SINCE = 5

    class CreatableReplicaAssignment(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        broker_ids: Annotated[list[int], Wire("[]int32")] = []

    class CreatableTopicConfig(Struct):
        name: Annotated[str, Wire("string")] = ""
        value: Annotated[str | None, Wire("string", nullable="0+")] = ""

    class CreatableTopic(Struct):
        name: Annotated[str, Wire("string")] = ""
        num_partitions: Annotated[int, Wire("int32")] = 0
        replication_factor: Annotated[int, Wire("int16")] = 0
        assignments: Annotated[
            list[CreateTopicsRequest.CreatableReplicaAssignment], Wire("[]CreatableReplicaAssignment")
        ] = []
        configs: Annotated[list[CreateTopicsRequest.CreatableTopicConfig], Wire("[]CreatableTopicConfig")] = []

    topics: Annotated[list[CreateTopicsRequest.CreatableTopic], Wire("[]CreatableTopic")] = []
    timeout_ms: Annotated[int, Wire("int32")] = 60000
    validate_only: Annotated[bool, Wire("bool", "1+")] = False


class CreateTopicsResponse(ApiMessage):
    """Versions 0 to 7."""

    API_KEY = 19
    VERSIONS = (0, 7)
    FLEXIBLE_SINCE = 5

    class CreatableTopicConfigs(Struct):
        name: Annotated[str, Wire("string", "5+")] = ""
        value: Annotated[str | None, Wire("string", "5+", nullable="5+")] = ""
        read_only: Annotated[bool, Wire("bool", "5+")] = False
        config_source: Annotated[int, Wire("int8", "5+", ignorable=True)] = -1
        is_sensitive: Annotated[bool, Wire("bool", "5+")] = False

    class CreatableTopicResult(Struct):
        name: Annotated[str, Wire("string")] = ""
        topic_id: Annotated[Uuid, Wire("uuid", "7+", ignorable=True)] = NO_UUID
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", "1+", nullable="0+", ignorable=True)] = ""
        topic_config_error_code: Annotated[int, Wire("int16", "5+", tag=0, tagged="5+", ignorable=True)] = 0
        num_partitions: Annotated[int, Wire("int32", "5+", ignorable=True)] = -1
        replication_factor: Annotated[int, Wire("int16", "5+", ignorable=True)] = -1
        configs: Annotated[
            list[CreateTopicsResponse.CreatableTopicConfigs] | None,
            Wire("[]CreatableTopicConfigs", "5+", nullable="5+", ignorable=True),
        ] = []

    throttle_time_ms: Annotated[int, Wire("int32", "2+", ignorable=True)] = 0
    topics: Annotated[list[CreateTopicsResponse.CreatableTopicResult], Wire("[]CreatableTopicResult")] = []
