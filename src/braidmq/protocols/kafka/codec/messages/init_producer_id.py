"""Init producer id, API key 22.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Wire


class InitProducerIdRequest(ApiMessage):
    """Versions 0 to 6."""

    API_KEY = 22
    VERSIONS = (0, 6)
    FLEXIBLE_SINCE = 2

    transactional_id: Annotated[str | None, Wire("string", nullable="0+")] = ""
    transaction_timeout_ms: Annotated[int, Wire("int32")] = 0
    producer_id: Annotated[int, Wire("int64", "3+")] = -1
    producer_epoch: Annotated[int, Wire("int16", "3+")] = -1
    enable2_pc: Annotated[bool, Wire("bool", "6+")] = False
    keep_prepared_txn: Annotated[bool, Wire("bool", "6+")] = False


class InitProducerIdResponse(ApiMessage):
    """Versions 0 to 6."""

    API_KEY = 22
    VERSIONS = (0, 6)
    FLEXIBLE_SINCE = 2

    throttle_time_ms: Annotated[int, Wire("int32", ignorable=True)] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    producer_id: Annotated[int, Wire("int64")] = -1
    producer_epoch: Annotated[int, Wire("int16")] = 0
    ongoing_txn_producer_id: Annotated[int, Wire("int64", "6+")] = -1
    ongoing_txn_producer_epoch: Annotated[int, Wire("int16", "6+")] = -1
