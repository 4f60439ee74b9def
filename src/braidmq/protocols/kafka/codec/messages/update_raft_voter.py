"""Update raft voter, API key 82.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Struct, Uuid, Wire


class UpdateRaftVoterRequest(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 82
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    class Listener(Struct):
        name: Annotated[str, Wire("string")] = ""
        host: Annotated[str, Wire("string")] = ""
        port: Annotated[int, Wire("uint16")] = 0

    class KRaftVersionFeature(Struct):
        min_supported_version: Annotated[int, Wire("int16")] = 0
        max_supported_version: Annotated[int, Wire("int16")] = 0

    cluster_id: Annotated[str | None, Wire("string", nullable="0+")] = ""
    current_leader_epoch: Annotated[int, Wire("int32")] = 0
    voter_id: Annotated[int, Wire("int32")] = 0
    voter_directory_id: Annotated[Uuid, Wire("uuid")] = NO_UUID
    listeners: Annotated[list[UpdateRaftVoterRequest.Listener], Wire("[]Listener")] = []
    kraft_version_feature: Annotated[UpdateRaftVoterRequest.KRaftVersionFeature, Wire("KRaftVersionFeature")] = (
        msgspec.field(default_factory=lambda: UpdateRaftVoterRequest.KRaftVersionFeature())
    )


class UpdateRaftVoterResponse(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 82
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    class CurrentLeader(Struct):
        leader_id: Annotated[int, Wire("int32")] = -1
        leader_epoch: Annotated[int, Wire("int32")] = -1
        host: Annotated[str, Wire("string")] = ""
        port: Annotated[int, Wire("int32")] = 0

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    current_leader: Annotated[
        UpdateRaftVoterResponse.CurrentLeader | None, Wire("CurrentLeader", tag=0, tagged="0+")
    ] = None
