"""List transactions, API key 66.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class ListTransactionsRequest(ApiMessage):
    """Versions 0 to 2."""

    API_KEY = 66
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 0

    state_filters: Annotated[list[str], Wire("[]string")] = []
    producer_id_filters: Annotated[list[int], Wire("[]int64")] = []
    duration_filter: Annotated[int, Wire("int64", "1+")] = -1
    transactional_id_pattern: Annotated[str | None, Wire("string", "2+", nullable="2+")] = None


class ListTransactionsResponse(ApiMessage):
    """Versions 0 to 2."""

    API_KEY = 66
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 0

    class TransactionState(Struct):
        transactional_id: Annotated[str, Wire("string")] = ""
        producer_id: Annotated[int, Wire("int64")] = 0
        transaction_state: Annotated[str, Wire("string")] = ""

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    unknown_state_filters: Annotated[list[str], Wire("[]string")] = []
    transaction_states: Annotated[list[ListTransactionsResponse.TransactionState], Wire("[]TransactionState")] = []
