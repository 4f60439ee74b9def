"""Describe delegation token, API key 41.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class DescribeDelegationTokenRequest(ApiMessage):
    """Versions 0 to 3."""

    API_KEY = 41
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    class DescribeDelegationTokenOwner(Struct):
        principal_type: Annotated[str, Wire("string")] = ""
        principal_name: Annotated[str, Wire("string")] = ""

    owners: Annotated[
        list[DescribeDelegationTokenRequest.DescribeDelegationTokenOwner] | None,
        Wire("[]DescribeDelegationTokenOwner", nullable="0+"),
    ] = []


class DescribeDelegationTokenResponse(ApiMessage):
    """Versions 0 to 3."""

    API_KEY = 41
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    class DescribedDelegationTokenRenewer(Struct):
        principal_type: Annotated[str, Wire("string")] = ""
        principal_name: Annotated[str, Wire("string")] = ""

    class DescribedDelegationToken(Struct):
        principal_type: Annotated[str, Wire("string")] = ""
        principal_name: Annotated[str, Wire("string")] = ""
        token_requester_principal_type: Annotated[str, Wire("string", "3+")] = ""
        token_requester_principal_name: Annotated[str, Wire("string", "3+")] = ""
        issue_timestamp: Annotated[int, Wire("int64")] = 0
        expiry_timestamp: Annotated[int, Wire("int64")] = 0
        max_timestamp: Annotated[int, Wire("int64")] = 0
        token_id: Annotated[str, Wire("string")] = ""
        hmac: Annotated[bytes, Wire("bytes")] = b""
        renewers: Annotated[
            list[DescribeDelegationTokenResponse.DescribedDelegationTokenRenewer],
            Wire("[]DescribedDelegationTokenRenewer"),
        ] = []

    error_code: Annotated[int, Wire("int16")] = 0
    tokens: Annotated[
        list[DescribeDelegationTokenResponse.DescribedDelegationToken], Wire("[]DescribedDelegationToken")
    ] = []
    throttle_time_ms: Annotated[int, Wire("int32")] = 0
