"""Delete topics, API key 20.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Struct, Uuid, Wire


class DeleteTopicsRequest(ApiMessage):
    """Versions 0 to 6."""

    API_KEY = 20
    VERSIONS = (0, 6)
    FLEXIBLE_SINCE = 4

    class DeleteTopicState(Struct):
        name: Annotated[str | None, Wire("string", "6+", nullable="6+")] = None
        topic_id: Annotated[Uuid, Wire("uuid", "6+")] = NO_UUID

    topics: Annotated[list[DeleteTopicsRequest.DeleteTopicState], Wire("[]DeleteTopicState", "6+")] = []
    topic_names: Annotated[list[str], Wire("[]string", "0-5", ignorable=True)] = []
    timeout_ms: Annotated[int, Wire("int32")] = 0


class DeleteTopicsResponse(ApiMessage):
    """Versions 0 to 6."""

    API_KEY = 20
    VERSIONS = (0, 6)
    FLEXIBLE_SINCE = 4

    class DeletableTopicResult(Struct):
        name: Annotated[str | None, Wire("string", nullable="6+")] = ""
        topic_id: Annotated[Uuid, Wire("uuid", "6+", ignorable=True)] = NO_UUID
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", "5+", nullable="5+", ignorable=True)] = None

    throttle_time_ms: Annotated[int, Wire("int32", "1+", ignorable=True)] = 0
    responses: Annotated[list[DeleteTopicsResponse.DeletableTopicResult], Wire("[]DeletableTopicResult")] = []
