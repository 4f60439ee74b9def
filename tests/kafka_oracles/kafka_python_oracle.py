"""kafka-python's protocol package: the APIs that clients use, in all versions back to 0."""

import functools
import uuid
import warnings
from typing import Any

from hypothesis import strategies as st

from braidmq.protocols.kafka.codec import ApiMessage
from braidmq.protocols.kafka.codec._schema import Field
from braidmq.protocols.kafka.codec.messages.api_versions import ApiVersionsResponse
from kafka_oracles.values import Plain, comparable, ids_but_zero

with warnings.catch_warnings():
    # It reads its schemas in a way that Python 3.11 warns of.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka.protocol.admin
    import kafka.protocol.consumer
    import kafka.protocol.metadata
    import kafka.protocol.producer
    import kafka.protocol.sasl

NAME = "kafka-python"
ABSENT_IS_DEFAULT = False
UNCOMPARED = frozenset({"authorizedoperations", "clusterauthorizedoperations", "topicauthorizedoperations"})
"""Renamed and turned into sets of operations where a version has them; their bytes are compared all the same."""

_MODULES = (
    kafka.protocol.admin,
    kafka.protocol.consumer,
    kafka.protocol.metadata,
    kafka.protocol.producer,
    kafka.protocol.sasl,
)


def covers(kind: type[ApiMessage], version: int) -> bool:
    """All but ApiVersions answers: one with an error is read as version 0, whatever its version is."""
    if kind is ApiVersionsResponse:
        return version == 0
    theirs = _class(kind.__name__)
    return theirs is not None and kind.API_KEY >= 0 and bool(version <= theirs.max_version)


def narrow(field: Field) -> st.SearchStrategy[Any] | None:
    """Every value, but for the id of nothing but zeros."""
    return ids_but_zero(field)


def read(kind: type[ApiMessage], version: int, data: bytes) -> Plain:
    found: Plain = _plain(_decoded(kind, version, data).to_dict(json=False))
    return found


def rewritten(kind: type[ApiMessage], version: int, data: bytes) -> bytes:
    """The bytes that kafka-python writes for what it read."""
    return bytes(_decoded(kind, version, data).encode())


def _decoded(kind: type[ApiMessage], version: int, data: bytes) -> Any:
    message = _class(kind.__name__).decode(data, version=version)
    message._header = None  # left unset when there was none to decode, and missed by some messages when they encode
    return message


@functools.cache
def _class(name: str) -> Any:
    return next((getattr(module, name) for module in _MODULES if hasattr(module, name)), None)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {comparable(name): _plain(element) for name, element in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(element) for element in value]
    if isinstance(value, uuid.UUID):
        return value.bytes
    return bytes(value) if isinstance(value, memoryview) else value
