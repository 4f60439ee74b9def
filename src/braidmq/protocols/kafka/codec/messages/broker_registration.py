"""Broker registration, API key 62.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Struct, Uuid, Wire


class BrokerRegistrationRequest(ApiMessage):
    """Versions 0 to 4."""

    API_KEY = 62
    VERSIONS = (0, 4)
    FLEXIBLE_SINCE = 0

    class Listener(Struct):
        name: Annotated[str, Wire("string")] = ""
        host: Annotated[str, Wire("string")] = ""
        port: Annotated[int, Wire("uint16")] = 0
        security_protocol: Annotated[int, Wire("int16")] = 0

    class Feature(Struct):
        name: Annotated[str, Wire("string")] = ""
        min_supported_version: Annotated[int, Wire("int16")] = 0
        max_supported_version: Annotated[int, Wire("int16")] = 0

    broker_id: Annotated[int, Wire("int32")] = 0
    cluster_id: Annotated[str, Wire("string")] = ""
    incarnation_id: Annotated[Uuid, Wire("uuid")] = NO_UUID
    listeners: Annotated[list[BrokerRegistrationRequest.Listener], Wire("[]Listener")] = []
    features: Annotated[list[BrokerRegistrationRequest.Feature], Wire("[]Feature")] = []
    rack: Annotated[str | None, Wire("string", nullable="0+")] = ""
    is_migrating_zk_broker: Annotated[bool, Wire("bool", "1+")] = False
    log_dirs: Annotated[list[Uuid], Wire("[]uuid", "2+", ignorable=True)] = []
    previous_broker_epoch: Annotated[int, Wire("int64", "3+", ignorable=True)] = -1


class BrokerRegistrationResponse(ApiMessage):
    """Versions 0 to 4."""

    API_KEY = 62
    VERSIONS = (0, 4)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    broker_epoch: Annotated[int, Wire("int64")] = -1
