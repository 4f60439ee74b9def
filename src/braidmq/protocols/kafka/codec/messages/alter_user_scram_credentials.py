"""Alter user scram credentials, API key 51.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class AlterUserScramCredentialsRequest(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 51
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    class ScramCredentialDeletion(Struct):
        name: Annotated[str, Wire("string")] = ""
        mechanism: Annotated[int, Wire("int8")] = 0

    class ScramCredentialUpsertion(Struct):
        name: Annotated[str, Wire("string")] = ""
        mechanism: Annotated[int, Wire("int8")] = 0
        iterations: Annotated[int, Wire("int32")] = 0
        salt: Annotated[bytes, Wire("bytes")] = b""
        salted_password: Annotated[bytes, Wire("bytes")] = b""

    deletions: Annotated[
        list[AlterUserScramCredentialsRequest.ScramCredentialDeletion], Wire("[]ScramCredentialDeletion")
    ] = []
    upsertions: Annotated[
        list[AlterUserScramCredentialsRequest.ScramCredentialUpsertion], Wire("[]ScramCredentialUpsertion")
    ] = []


class AlterUserScramCredentialsResponse(ApiMessage):
    """Versions 0 to 0."""

    API_KEY = 51
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    class AlterUserScramCredentialsResult(Struct):
        user: Annotated[str, Wire("string")] = ""
        error_code: Annotated[int, Wire("int16")] = 0
        error_message: Annotated[str | None, Wire("string", nullable="0+")] = ""

    throttle_time_ms: Annotated[int, Wire("int32")] = 0
    results: Annotated[
        list[AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult],
        Wire("[]AlterUserScramCredentialsResult"),
    ] = []
