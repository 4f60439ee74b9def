"""Describe transactions, API key 65.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class DescribeTransactionsRequest(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 65
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    transactional_ids: Annotated[list[str], Wire("[]string")] = []


class DescribeTransactionsResponse(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 65
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    class TopicData(Struct):
        topic: Annotated[str, Wire("string")] = ""
        partitions: Annotated[list[int], Wire("[]int32")] = []

    class TransactionState(Struct):
        error_code: Annotated[int, Wire("int16")] = 0
        transactional_id: Annotated[str, Wire("string")] = ""
        transaction_state: Annotated[str, Wire("string")] = ""
        transaction_timeout_ms: Annotated[int, Wire("int32")] = 0
        transaction_start_time_ms: Annotated[int, Wire("int64")] = 0
        producer_id: Annotated[int, Wire("int64")] = 0
        producer_epoch: Annotated[int, Wire("int16")] = 0
        topics: Annotated[list[DescribeTransactionsResponse.TopicData], Wire("[]TopicData")] = []

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    transaction_states: Annotated[list[DescribeTransactionsResponse.TransactionState], Wire("[]TransactionState")] = []
