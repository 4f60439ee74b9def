"""Remove raft voter, API key 81.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Uuid, Wire


class RemoveRaftVoterRequest(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 81
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    cluster_id: Annotated[str | None, Wire("string", nullable="0+")] = ""
    voter_id: Annotated[int, Wire("int32")] = 0
    voter_directory_id: Annotated[Uuid, Wire("uuid")] = NO_UUID


class RemoveRaftVoterResponse(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 81
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    error_message: Annotated[str | None, Wire("string", nullable="0+", ignorable=True)] = ""
