"""Txn offset commit, API key 28.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Struct, Uuid, Wire


class TxnOffsetCommitRequest(ApiMessage):
    """Versions 0 to 6."""

    API_KEY = 28
    VERSIONS = (0, 6)
    FLEXIBLE_SINCE = 3

    class TxnOffsetCommitRequestPartition(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        committed_offset: Annotated[int, Wire("int64")] = 0
        committed_leader_epoch: Annotated[int, Wire("int32", "2+", ignorable=True)] = -1
        committed_metadata: Annotated[str | None, Wire("string", nullable="0+")] = ""

    class TxnOffsetCommitRequestTopic(Struct):
        name: Annotated[str, Wire("string", "0-5", ignorable=True)] = ""
        topic_id: Annotated[Uuid, Wire("uuid", "6+", ignorable=True)] = NO_UUID
        partitions: Annotated[
            list[TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition], Wire("[]TxnOffsetCommitRequestPartition")
        ] = []

    transactional_id: Annotated[str, Wire("string")] = ""
    group_id: Annotated[str, Wire("string")] = ""
    producer_id: Annotated[int, Wire("int64")] = 0
    producer_epoch: Annotated[int, Wire("int16")] = 0
    generation_id_or_member_epoch: Annotated[int, Wire("int32", "3+")] = -1
    member_id: Annotated[str, Wire("string", "3+")] = ""
    group_instance_id: Annotated[str | None, Wire("string", "3+", nullable="3+")] = None
    topics: Annotated[
        list[TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic], Wire("[]TxnOffsetCommitRequestTopic")
    ] = []


class TxnOffsetCommitResponse(ApiMessage):
    """Versions 0 to 6."""

    API_KEY = 28
    VERSIONS = (0, 6)
    FLEXIBLE_SINCE = 3

    class TxnOffsetCommitResponsePartition(Struct):
        partition_index: Annotated[int, Wire("int32")] = 0
        error_code: Annotated[int, Wire("int16")] = 0

    class TxnOffsetCommitResponseTopic(Struct):
        name: Annotated[str, Wire("string", "0-5", ignorable=True)] = ""
        topic_id: Annotated[Uuid, Wire("uuid", "6+", ignorable=True)] = NO_UUID
        partitions: Annotated[
            list[TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition], Wire("[]TxnOffsetCommitResponsePartition")
        ] = []

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    topics: Annotated[
        list[TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic], Wire("[]TxnOffsetCommitResponseTopic")
    ] = []
