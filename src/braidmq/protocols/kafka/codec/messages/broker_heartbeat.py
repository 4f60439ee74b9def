"""Broker heartbeat, API key 63.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Uuid, Wire


class BrokerHeartbeatRequest(ApiMessage):
    """Versions 0 to 2."""

    API_KEY = 63
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 0

    broker_id: Annotated[int, Wire("int32")] = 0
    broker_epoch: Annotated[int, Wire("int64")] = -1
    current_metadata_offset: Annotated[int, Wire("int64")] = 0
    want_fence: Annotated[bool, Wire("bool")] = False
    want_shut_down: Annotated[bool, Wire("bool")] = False
    offline_log_dirs: Annotated[list[Uuid], Wire("[]uuid", "1+", tag=0, tagged="1+")] = []
    cordoned_log_dirs: Annotated[list[Uuid] | None, Wire("[]uuid", "2+", nullable="2+", tag=1, tagged="2+")] = None


class BrokerHeartbeatResponse(ApiMessage):
    """Versions 0 to 2."""

    API_KEY = 63
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    is_caught_up: Annotated[bool, Wire("bool")] = False
    is_fenced: Annotated[bool, Wire("bool")] = True
    should_shut_down: Annotated[bool, Wire("bool")] = False
