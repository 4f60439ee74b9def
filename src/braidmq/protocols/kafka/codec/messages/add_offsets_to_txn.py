"""Add offsets to txn, API key 25.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Wire


class AddOffsetsToTxnRequest(ApiMessage):
    """Versions 0 to 4."""

    API_KEY = 25
    VERSIONS = (0, 4)
    FLEXIBLE_SINCE = 3

    transactional_id: Annotated[str, Wire("string")] = ""
    producer_id: Annotated[int, Wire("int64")] = 0
    producer_epoch: Annotated[int, Wire("int16")] = 0
    group_id: Annotated[str, Wire("string")] = ""


class AddOffsetsToTxnResponse(ApiMessage):
    """Versions 0 to 4."""

    API_KEY = 25
    VERSIONS = (0, 4)
    FLEXIBLE_SINCE = 3

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
