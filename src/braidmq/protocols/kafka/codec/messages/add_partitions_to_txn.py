"""Add partitions to txn, API key 24.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class AddPartitionsToTxnRequest(ApiMessage):
    """Versions 0 to 5."""

    API_KEY = 24
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 3

    class AddPartitionsToTxnTopic(Struct):
        name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[list[int], Wire("[]int32")] = []

    class AddPartitionsToTxnTransaction(Struct):
        transactional_id: Annotated[str, Wire("string", "4+")] = ""
        producer_id: Annotated[int, Wire("int64", "4+")] = 0
        producer_epoch: Annotated[int, Wire("int16", "4+")] = 0
        verify_only: Annotated[bool, Wire("bool", "4+")] = False
        topics: Annotated[
            list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic], Wire("[]AddPartitionsToTxnTopic", "4+")
        ] = []

    transactions: Annotated[
        list[AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction], Wire("[]AddPartitionsToTxnTransaction", "4+")
    ] = []
    v3_and_below_transactional_id: Annotated[str, Wire("string", "0-3")] = ""
    v3_and_below_producer_id: Annotated[int, Wire("int64", "0-3")] = 0
    v3_and_below_producer_epoch: Annotated[int, Wire("int16", "0-3")] = 0
    v3_and_below_topics: Annotated[
        list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic], Wire("[]AddPartitionsToTxnTopic", "0-3")
    ] = []


class AddPartitionsToTxnResponse(ApiMessage):
    """Versions 0 to 5."""

    API_KEY = 24
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 3

    class AddPartitionsToTxnTopicResult(Struct):
        name: Annotated[str, Wire("string")] = ""
        results_by_partition: Annotated[
            list[AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult],
            Wire("[]AddPartitionsToTxnPartitionResult"),
        ] = []

    class AddPartitionsToTxnPartitionResult(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        partition_error_code: Annotated[int, Wire("int16")] = 0

    class AddPartitionsToTxnResult(Struct):
        transactional_id: Annotated[str, Wire("string", "4+")] = ""
        topic_results: Annotated[
            list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult],
            Wire("[]AddPartitionsToTxnTopicResult", "4+"),
        ] = []

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16", "4+", ignorable=True)] = 0
    results_by_transaction: Annotated[
        list[AddPartitionsToTxnResponse.AddPartitionsToTxnResult], Wire("[]AddPartitionsToTxnResult", "4+")
    ] = []
    results_by_topic_v3_and_below: Annotated[
        list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult], Wire("[]AddPartitionsToTxnTopicResult", "0-3")
    ] = []
