"""Api versions, API key 18.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class ApiVersionsRequest(ApiMessage):
    """Versions 0 to 5."""

    API_KEY = 18
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 3

    client_software_name: Annotated[str, Wire("string", "3+", ignorable=True)] = ""
    client_software_version: Annotated[str, Wire("string", "3+", ignorable=True)] = ""
    cluster_id: Annotated[str | None, Wire("string", "5+", nullable="5+", ignorable=True)] = None
    node_id: Annotated[int, Wire("int32", "5+", ignorable=True)] = -1


class ApiVersionsResponse(ApiMessage):
    """Versions 0 to 5."""

    API_KEY = 18
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 3

    class ApiVersion(Struct):
        api_key: Annotated[int, Wire("int16")] = 0
        min_version: Annotated[int, Wire("int16")] = 0
        max_version: Annotated[int, Wire("int16")] = 0

    class SupportedFeatureKey(Struct):
        name: Annotated[str, Wire("string", "3+")] = ""
        min_version: Annotated[int, Wire("int16", "3+")] = 0
        max_version: Annotated[int, Wire("int16", "3+")] = 0

    class FinalizedFeatureKey(Struct):
        name: Annotated[str, Wire("string", "3+")] = ""
        max_version_level: Annotated[int, Wire("int16", "3+")] = 0
        min_version_level: Annotated[int, Wire("int16", "3+")] = 0

    error_code: Annotated[int, Wire("int16")] = 0
    api_keys: Annotated[list[ApiVersionsResponse.ApiVersion], Wire("[]ApiVersion")] = []
    throttle_time_ms: Annotated[int, Wire("int32", "1+", ignorable=True)] = 0
    supported_features: Annotated[
        list[ApiVersionsResponse.SupportedFeatureKey],
        Wire("[]SupportedFeatureKey", "3+", tag=0, tagged="3+", ignorable=True),
    ] = []
    finalized_features_epoch: Annotated[int, Wire("int64", "3+", tag=1, tagged="3+", ignorable=True)] = -1
    finalized_features: Annotated[
        list[ApiVersionsResponse.FinalizedFeatureKey],
        Wire("[]FinalizedFeatureKey", "3+", tag=2, tagged="3+", ignorable=True),
    ] = []
    zk_migration_ready: Annotated[bool, Wire("bool", "3+", tag=3, tagged="3+", ignorable=True)] = False
