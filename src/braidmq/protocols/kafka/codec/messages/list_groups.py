"""List groups, API key 16.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

from __future__ import annotations

from typing import Annotated

from braidmq.protocols.kafka.codec._schema import ApiMessage, Struct, Wire


class ListGroupsRequest(ApiMessage):
    """Versions 0 to 5."""

    API_KEY = 16
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 3

    states_filter: Annotated[list[str], Wire("[]string", "4+")] = []
    types_filter: Annotated[list[str], Wire("[]string", "5+")] = []


class ListGroupsResponse(ApiMessage):
    """Versions 0 to 5."""

    API_KEY = 16
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 3

    class ListedGroup(Struct):
        group_id: Annotated[str, Wire("string")] = ""
        protocol_type: Annotated[str, Wire("string")] = ""
        group_state: Annotated[str, Wire("string", "4+", ignorable=True)] = ""
        group_type: Annotated[str, Wire("string", "5+", ignorable=True)] = ""

    throttle_time_ms: Annotated[int, Wire("int32", "1+", ignorable=True)] = 0
    error_code: Annotated[int, Wire("int16")] = 0
    groups: Annotated[list[ListGroupsResponse.ListedGroup], Wire("[]ListedGroup")] = []
