"""End txn, API key 26.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Wire


class EndTxnRequest(ApiMessage):
    """Versions 0 to 5."""

    API_KEY = 26
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 3

    transactional_id: Annotated[str, Wire("string")] = ""
    producer_id: Annotated[int, Wire("int64")] = 0
    producer_epoch: Annotated[int, Wire("int16")] = 0
    committed: Annotated[bool, Wire("bool")] = False


class EndTxnResponse(ApiMessage):
    """Versions 0 to 5."""

    API_KEY = 26
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 3

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    producer_id: Annotated[int, Wire("int64", "5+", ignorable=True)] = -1
    producer_epoch: Annotated[int, Wire("int16", "5+", ignorable=True)] = -1
