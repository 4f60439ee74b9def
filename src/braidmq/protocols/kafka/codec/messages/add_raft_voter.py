"""Add raft voter, API key 80.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Struct, Uuid, Wire


class AddRaftVoterRequest(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 80
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    class Listener(Struct):
        name: Annotated[str, Wire("string")] = ""
        host: Annotated[str, Wire("string")] = ""
        port: Annotated[int, Wire("uint16")] = 0

    cluster_id: Annotated[str | None, Wire("string", nullable="0+")] = ""
    timeout_ms: Annotated[int, Wire("int32")] = 0
    voter_id: Annotated[int, Wire("int32")] = 0
    voter_directory_id: Annotated[Uuid, Wire("uuid")] = NO_UUID
    listeners: Annotated[list[AddRaftVoterRequest.Listener], Wire("[]Listener")] = []
    ack_when_committed: Annotated[bool, Wire("bool", "1+")] = True


class AddRaftVoterResponse(ApiMessage):
    """Versions 0 to 1."""

    API_KEY = 80
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    error_message: Annotated[str | None, Wire("string", nullable="0+", ignorable=True)] = ""
