"""Update features, API key 57.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class UpdateFeaturesRequest(ApiMessage):
    """Versions 0 to 2."""

    API_KEY = 57
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 0

    class FeatureUpdateKey(Struct):
        feature: Annotated[str, Wire("string")] = ""
        max_version_level: Annotated[int, Wire("int16")] = 0
        allow_downgrade: Annotated[bool, Wire("bool", "0")] = False
        upgrade_type: Annotated[int, Wire("int8", "1+")] = 1

    timeout_ms: Annotated[int, Wire("int32")] = 60000
    feature_updates: Annotated[list[UpdateFeaturesRequest.FeatureUpdateKey], Wire("[]FeatureUpdateKey")] = []
    validate_only: Annotated[bool, Wire("bool", "1+")] = False


class UpdateFeaturesResponse(ApiMessage):
    """Versions 0 to 2."""

    API_KEY = 57
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 0

    class UpdatableFeatureResult(Struct):
        feature: Annotated[str, Wire("string")] = ""
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", nullable="0+")] = ""

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    error_message: Annotated[str | None, Wire("string", nullable="0+")] = ""
    results: Annotated[
        list[UpdateFeaturesResponse.UpdatableFeatureResult], Wire("[]UpdatableFeatureResult", "0-1", ignorable=True)
    ] = []
