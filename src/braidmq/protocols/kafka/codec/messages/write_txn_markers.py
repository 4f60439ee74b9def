"""Write txn markers, API key 27.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class WriteTxnMarkersRequest(ApiMessage):
    """Versions 0 to 2."""

    API_KEY = 27
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 1

    class WritableTxnMarkerTopic(Struct):
        name: Annotated[str, Wire("string")] = ""
        partition_indexes: Annotated[list[int], Wire("[]int32")] = []

    class WritableTxnMarker(Struct):
        producer_id: Annotated[int, Wire("int64")] = 0
        producer_epoch: Annotated[int, Wire("int16")] = 0
        transaction_result: Annotated[bool, Wire("bool")] = False
        topics: Annotated[list[WriteTxnMarkersRequest.WritableTxnMarkerTopic], Wire("[]WritableTxnMarkerTopic")] = []
        coordinator_epoch: Annotated[int, Wire("int32")] = 0
        transaction_version: Annotated[int, Wire("int8", "2+", ignorable=True)] = 0

    markers: Annotated[list[WriteTxnMarkersRequest.WritableTxnMarker], Wire("[]WritableTxnMarker")] = []


class WriteTxnMarkersResponse(ApiMessage):
    """Versions 0 to 2."""

    API_KEY = 27
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 1

    class WritableTxnMarkerPartitionResult(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        error_code: Annotated[int, Wire("int16")] = 0

    class WritableTxnMarkerTopicResult(Struct):
        name: Annotated[str, Wire("string")] = ""
        partitions: Annotated[
            list[WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult], Wire("[]WritableTxnMarkerPartitionResult")
        ] = []

    class WritableTxnMarkerResult(Struct):
        producer_id: Annotated[int, Wire("int64")] = 0
        topics: Annotated[
            list[WriteTxnMarkersResponse.WritableTxnMarkerTopicResult], Wire("[]WritableTxnMarkerTopicResult")
        ] = []

    markers: Annotated[list[WriteTxnMarkersResponse.WritableTxnMarkerResult], Wire("[]WritableTxnMarkerResult")] = []
