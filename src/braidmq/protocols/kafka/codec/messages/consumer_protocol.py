"""Consumer protocol.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class ConsumerProtocolAssignment(ApiMessage):
    """Versions 0 to 3."""

    VERSIONS = (0, 3)

    class TopicPartition(Struct):
        topic: Annotated[str, Wire("string")] = ""
        partitions: Annotated[list[int], Wire("[]int32")] = []

    assigned_partitions: Annotated[list[ConsumerProtocolAssignment.TopicPartition], Wire("[]TopicPartition")] = []
    user_data: Annotated[bytes | None, Wire("bytes", nullable="0+")] = None


class ConsumerProtocolSubscription(ApiMessage):
    """Versions 0 to 3."""

    VERSIONS = (0, 3)

    class TopicPartition(Struct):
        topic: Annotated[str, Wire("string", "1+")] = ""
        partitions: Annotated[list[int], Wire("[]int32", "1+")] = []

    topics: Annotated[list[str], Wire("[]string")] = []
    user_data: Annotated[bytes | None, Wire("bytes", nullable="0+")] = None
    owned_partitions: Annotated[
        list[ConsumerProtocolSubscription.TopicPartition], Wire("[]TopicPartition", "1+", ignorable=True)
    ] = []
    generation_id: Annotated[int, Wire("int32", "2+", ignorable=True)] = -1
    rack_id: Annotated[str | None, Wire("string", "3+", nullable="3+", ignorable=True)] = None
