"""Create delegation token, API key 38.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class CreateDelegationTokenRequest(ApiMessage):
    """Versions 0 to 3."""

    API_KEY = 38
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    class CreatableRenewers(Struct):
        principal_type: Annotated[str, Wire("string")] = ""
        principal_name: Annotated[str, Wire("string")] = ""

    owner_principal_type: Annotated[str | None, Wire("string", "3+", nullable="3+")] = ""
    owner_principal_name: Annotated[str | None, Wire("string", "3+", nullable="3+")] = ""
    renewers: Annotated[list[CreateDelegationTokenRequest.CreatableRenewers], Wire("[]CreatableRenewers")] = []
    max_lifetime_ms: Annotated[int, Wire("int64")] = 0


class CreateDelegationTokenResponse(ApiMessage):
    """Versions 0 to 3."""

    API_KEY = 38
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    error_code: Annotated[int, Wire("int16")] = 0
    principal_type: Annotated[str, Wire("string")] = ""
    principal_name: Annotated[str, Wire("string")] = ""
    token_requester_principal_type: Annotated[str, Wire("string", "3+")] = ""
    token_requester_principal_name: Annotated[str, Wire("string", "3+")] = ""
    issue_timestamp_ms: Annotated[int, Wire("int64")] = 0
    expiry_timestamp_ms: Annotated[int, Wire("int64")] = 0
    max_timestamp_ms: Annotated[int, Wire("int64")] = 0
    token_id: Annotated[str, Wire("string")] = ""
    hmac: Annotated[bytes, Wire("bytes")] = b""
    throttle_time_ms: Annotated[int, Wire("int32")] = 0
