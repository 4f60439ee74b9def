"""Describe user scram credentials, API key 50.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class DescribeUserScramCredentialsRequest(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 50
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    class UserName(Struct):
        name: Annotated[str, Wire("string")] = ""

    users: Annotated[list[DescribeUserScramCredentialsRequest.UserName] | None, Wire("[]UserName", nullable="0+")] = []


class DescribeUserScramCredentialsResponse(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 50
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    class CredentialInfo(Struct):
        mechanism: Annotated[int, Wire("int8")] = 0
        iterations: Annotated[int, Wire("int32")] = 0

    class DescribeUserScramCredentialsResult(Struct):
        user: Annotated[str, Wire("string")] = ""
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", nullable="0+")] = ""
        credential_infos: Annotated[
            list[DescribeUserScramCredentialsResponse.CredentialInfo], Wire("[]CredentialInfo")
        ] = []

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    error_message: Annotated[str | None, Wire("string", nullable="0+")] = ""
    results: Annotated[
        list[DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult],
        Wire("[]DescribeUserScramCredentialsResult"),
    ] = []
