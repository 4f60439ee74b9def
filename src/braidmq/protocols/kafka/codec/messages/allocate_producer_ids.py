"""Allocate producer ids, API key 67.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Wire


class AllocateProducerIdsRequest(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 67
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    broker_id: Annotated[int, Wire("int32")] = 0
    broker_epoch: Annotated[int, Wire("int64")] = -1


class AllocateProducerIdsResponse(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 67
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    producer_id_start: Annotated[int, Wire("int64")] = 0
    producer_id_len: Annotated[int, Wire("int32")] = 0
